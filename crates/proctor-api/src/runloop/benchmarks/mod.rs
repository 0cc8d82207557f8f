//! `/v1/benchmarks`: ordered sets of scenarios.

mod body;
mod view;

use axum::extract::State;
use proctor_core::id::kinds::{BenchmarkId, BenchmarkKind, TaskId, TaskKind};
use proctor_store::{
    benchmarks::{BenchmarkDraft, BenchmarkRecord},
    page::Page,
    placed::{Placed, Whose},
    retry::retry_stale,
};

use self::body::{
    BenchmarkCreateParameters, BenchmarkScenarioUpdateParameters, BenchmarkUpdateParameters,
};
pub(crate) use self::view::{BenchmarkDefinitionListView, BenchmarkDefinitionView};
use super::{
    ids::{self, found, wire},
    labels::LabelQuery,
    lists::{Labelled, MetadataKey, MetadataKeysView, MetadataValuesView, SoughtQuery},
    page::{RunloopPage, RunloopPageQuery},
    scenarios::{ScenarioListView, check_made_by_all},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path},
    state::ApiState,
};

type Found = Placed<BenchmarkRecord>;

/// A benchmark that the caller may read.
pub(super) async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: BenchmarkId,
) -> Result<Found, ApiError> {
    found(id, state.store().suite(caller.id(), id).await?)
}

/// A benchmark that the caller may change, put away or not.
async fn find_own(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: BenchmarkId,
) -> Result<Found, ApiError> {
    let benchmark = find(state, caller, id).await?;
    if benchmark.public {
        return Err(ids::public(id));
    }
    Ok(benchmark)
}

async fn view(
    state: &ApiState,
    benchmark: Found,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    let mut tasks = state.store().scenarios_in(&[benchmark.id()]).await?;
    let tasks = tasks.remove(&benchmark.id()).unwrap_or_default();
    Ok(Json(BenchmarkDefinitionView::of(benchmark, &tasks)))
}

async fn list_view(
    state: &ApiState,
    page: Page<Found>,
) -> Result<Json<BenchmarkDefinitionListView>, ApiError> {
    let ids: Vec<BenchmarkId> = page.items.iter().map(Placed::id).collect();
    let tasks = state.store().scenarios_in(&ids).await?;
    Ok(Json(BenchmarkDefinitionListView::of(page, &tasks)))
}

/// Refuses scenarios that the caller could not run.
async fn check_scenarios(
    state: &ApiState,
    caller: &OrganizationCaller,
    field: &str,
    scenarios: &[TaskId],
) -> Result<(), ApiError> {
    let unknown = state.store().not_scenarios(caller.id(), scenarios).await?;
    let mut checks = Checks::default();
    for id in unknown {
        checks.refuse(field, format!("no active scenario '{}'", wire(id)));
    }
    checks.finish_for_now()
}

/// Makes a benchmark.
#[utoipa::path(
    post,
    path = "/v1/benchmarks",
    tag = "Runloop: benchmarks",
    request_body = BenchmarkCreateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark", body = BenchmarkDefinitionView)),
)]
pub(crate) async fn create_runloop_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<BenchmarkCreateParameters>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    let (draft, scenarios) = body.into_parts()?;
    check_scenarios(&state, &caller, "scenario_ids", &scenarios).await?;
    let draft = state
        .store()
        .create_suite(caller.id(), draft, &scenarios)
        .await?;
    let benchmark = Placed {
        draft,
        owner: caller.id(),
        archived: false,
        public: false,
    };
    Ok(Json(BenchmarkDefinitionView::of(benchmark, &scenarios)))
}

/// Lists the organization's benchmarks.
#[utoipa::path(
    get,
    path = "/v1/benchmarks",
    tag = "Runloop: benchmarks",
    params(SoughtQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The benchmarks that are not archived, newest first",
            body = BenchmarkDefinitionListView,
        ),
    ),
)]
pub(crate) async fn list_runloop_benchmarks(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<BenchmarkKind>,
) -> Result<Json<BenchmarkDefinitionListView>, ApiError> {
    let whose = Whose::Own(caller.id());
    let sought = sought.into_sought();
    let page = state.store().suites(whose, &sought, page).await?;
    list_view(&state, page).await
}

/// Lists the benchmarks that are open to everybody.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/list_public",
    tag = "Runloop: benchmarks",
    params(SoughtQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The public benchmarks, newest first",
            body = BenchmarkDefinitionListView,
        ),
    ),
)]
pub(crate) async fn list_public_benchmarks(
    State(state): State<ApiState>,
    _: OrganizationCaller,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<BenchmarkKind>,
) -> Result<Json<BenchmarkDefinitionListView>, ApiError> {
    let sought = sought.into_sought();
    let page = state.store().suites(Whose::Public, &sought, page).await?;
    list_view(&state, page).await
}

/// Shows a benchmark.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/{id}",
    tag = "Runloop: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark", body = BenchmarkDefinitionView)),
)]
pub(crate) async fn get_runloop_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    let benchmark = find(&state, &caller, id).await?;
    view(&state, benchmark).await
}

/// Changes a benchmark.
///
/// Fields that are absent or null stay as they are. Runs that have begun keep what they began with.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/{id}",
    tag = "Runloop: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    request_body = BenchmarkUpdateParameters,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The benchmark as it is now", body = BenchmarkDefinitionView),
    ),
)]
pub(crate) async fn update_runloop_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Json(body): Json<BenchmarkUpdateParameters>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    let scenarios = body.scenarios()?;
    if let Some(scenarios) = &scenarios {
        check_scenarios(&state, &caller, "scenario_ids", scenarios).await?;
    }
    change(&state, &caller, id, |standing| {
        let draft = body.apply(&standing.benchmark.content)?;
        let tasks = scenarios
            .as_ref()
            .map(|scenarios| [standing.other_tasks(), scenarios.clone()].concat());
        Ok((draft, tasks))
    })
    .await
}

/// Takes scenarios out of a benchmark and puts others in.
///
/// First those to remove are taken out, then those to add are put behind the rest.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/{id}/scenarios",
    tag = "Runloop: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    request_body = BenchmarkScenarioUpdateParameters,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The benchmark as it is now", body = BenchmarkDefinitionView),
    ),
)]
pub(crate) async fn update_benchmark_scenarios(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Json(body): Json<BenchmarkScenarioUpdateParameters>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    let (add, remove) = body.into_parts()?;
    check_scenarios(&state, &caller, "scenarios_to_add", &add).await?;
    change(&state, &caller, id, |standing| {
        let mut after: Vec<TaskId> = standing
            .tasks
            .iter()
            .filter(|task| !remove.contains(task))
            .copied()
            .collect();
        for task in &add {
            if !after.contains(task) {
                after.push(*task);
            }
        }
        Ok((standing.benchmark.content.clone(), Some(after)))
    })
    .await
}

/// A benchmark with all its tasks, and those of them that are scenarios.
struct Standing<'a> {
    benchmark: &'a BenchmarkRecord,
    tasks: Vec<TaskId>,
    scenarios: Vec<TaskId>,
}

impl Standing<'_> {
    /// The tasks that this dialect does not show and does not touch.
    fn other_tasks(&self) -> Vec<TaskId> {
        let is_other = |task: &&TaskId| !self.scenarios.contains(task);
        self.tasks.iter().filter(is_other).copied().collect()
    }
}

/// Changes a benchmark as it stands; again, if somebody else was first.
async fn change(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: BenchmarkId,
    decide: impl Fn(&Standing<'_>) -> Result<(BenchmarkDraft, Option<Vec<TaskId>>), ApiError>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    let changed = retry_stale(|| async {
        let benchmark = find_own(state, caller, id).await?;
        if benchmark.archived {
            return Err(ids::archived(id));
        }
        let mut tasks = state.store().tasks_in(&[id]).await?;
        let mut scenarios = state.store().scenarios_in(&[id]).await?;
        let standing = Standing {
            benchmark: &benchmark.draft,
            tasks: tasks.remove(&id).unwrap_or_default(),
            scenarios: scenarios.remove(&id).unwrap_or_default(),
        };
        let (draft, tasks) = decide(&standing)?;
        let written = state
            .store()
            .update_suite(&benchmark.draft, draft, tasks.as_deref())
            .await;
        Ok(written.map(|draft| Placed { draft, ..benchmark }))
    });
    view(state, changed.await?).await
}

/// Lists the scenarios of a benchmark.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/{id}/definitions",
    tag = "Runloop: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id"), RunloopPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenarios, newest first", body = ScenarioListView)),
)]
pub(crate) async fn list_benchmark_definitions(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    RunloopPage(page): RunloopPage<TaskKind>,
) -> Result<Json<ScenarioListView>, ApiError> {
    find(&state, &caller, id).await?;
    let page = state.store().scenarios_of(id, page).await?;
    let is_own =
        |scenario: &proctor_store::scenarios::Scenario| scenario.placed.owner == caller.id();
    Ok(Json(ScenarioListView::of(&page, is_own)))
}

/// Puts a benchmark away.
///
/// No list shows it, and it can be neither changed nor run, until it is taken out again.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/{id}/archive",
    tag = "Runloop: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark", body = BenchmarkDefinitionView)),
)]
pub(crate) async fn archive_runloop_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    put_away(&state, &caller, id, true).await
}

/// Takes a benchmark out again.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/{id}/unarchive",
    tag = "Runloop: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark", body = BenchmarkDefinitionView)),
)]
pub(crate) async fn unarchive_runloop_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    put_away(&state, &caller, id, false).await
}

async fn put_away(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: BenchmarkId,
    archived: bool,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    find_own(state, caller, id).await?;
    state
        .store()
        .archive_benchmark(caller.id(), id, archived)
        .await?;
    let benchmark = find(state, caller, id).await?;
    view(state, benchmark).await
}

/// Opens a benchmark and its scenarios to everybody, for good.
///
/// Everybody may read and run it from now on, and nobody may change it any more.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/{id}/publish",
    tag = "Runloop: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark", body = BenchmarkDefinitionView)),
)]
pub(crate) async fn publish_runloop_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<BenchmarkDefinitionView>, ApiError> {
    let benchmark = find(&state, &caller, id).await?;
    if benchmark.owner != caller.id() {
        return Err(ids::public(id));
    }
    if benchmark.archived {
        return Err(ids::archived(id));
    }
    let mut checks = Checks::default();
    let scenarios = state.store().scenarios_in(&[id]).await?;
    for scenario in scenarios.into_values().flatten() {
        let scenario = state.store().scenario(caller.id(), scenario).await?;
        if let Some(scenario) = &scenario {
            check_made_by_all(&mut checks, scenario);
        }
    }
    checks.finish_for_now()?;
    state.store().publish_suite(id).await?;
    let benchmark = find(&state, &caller, id).await?;
    view(&state, benchmark).await
}

/// Lists the keys that the metadata of the organization's benchmarks has.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/metadata/keys",
    tag = "Runloop: benchmarks",
    security(("organization_key" = [])),
    responses((status = 200, description = "The keys", body = MetadataKeysView)),
)]
pub(crate) async fn list_benchmark_metadata_keys(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
) -> Result<Json<MetadataKeysView>, ApiError> {
    let labels = state.store().benchmark_labels(caller.id()).await?;
    Ok(Json(MetadataKeysView::of(labels)))
}

/// Lists the values that a key has in the metadata of the organization's benchmarks.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/metadata/keys/{key}/values",
    tag = "Runloop: benchmarks",
    params(("key" = String, Path, description = "The key")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The values", body = MetadataValuesView)),
)]
pub(crate) async fn list_benchmark_metadata_values(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(MetadataKey(key)): Path<MetadataKey>,
) -> Result<Json<MetadataValuesView>, ApiError> {
    let labels = state.store().benchmark_labels(caller.id()).await?;
    MetadataValuesView::of(labels, key).map(Json)
}
