//! `/v1/scenarios`: tasks that are done in a box and judged by scorers.

mod body;
mod contract;
pub(crate) mod scorers;
pub(crate) mod validate;
mod view;

use axum::extract::State;
use proctor_core::{
    definition::Validation,
    devbox::BaseRequest,
    document::Document,
    id::kinds::{BenchmarkKind, OrganizationId, TaskId, TaskKind},
};
use proctor_fleet::references;
use proctor_store::{
    placed::Whose,
    retry::retry_stale,
    scenarios::{Scenario, ScenarioFilter, ScoringFunction},
    tasks::TaskDraft,
};
use serde::Deserialize;
use utoipa::IntoParams;

use self::body::{ScenarioCreateParameters, ScenarioUpdateParameters};
pub(crate) use self::view::{ScenarioListView, ScenarioView};
use super::{
    ids::{self, found, wire},
    labels::LabelQuery,
    lists::{Labelled, MetadataKey, MetadataKeysView, MetadataValuesView, SoughtQuery, several},
    page::{RunloopPage, RunloopPageQuery},
};
use crate::{
    auth::OrganizationCaller,
    error::{ApiError, fleet::devbox_problems},
    extract::{Checks, Json, Path, Query},
    state::ApiState,
};

/// Which scenarios are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScenarioQuery {
    /// Only those of this benchmark.
    benchmark_id: Option<String>,
    /// Only those of these validation types, separated by commas.
    validation_type: Option<String>,
}

impl ScenarioQuery {
    fn into_filter(self, sought: SoughtQuery) -> Result<ScenarioFilter, ApiError> {
        let all = Validation::ALL.map(|one| (one.as_str(), one));
        let benchmark = self.benchmark_id.as_deref();
        Ok(ScenarioFilter {
            benchmark: ids::read_optional::<BenchmarkKind>("benchmark_id", benchmark)?,
            validation: several("validation_type", self.validation_type.as_deref(), &all)?,
            sought: sought.into_sought(),
        })
    }
}

/// A scenario that the caller may read.
pub(super) async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: TaskId,
) -> Result<Scenario, ApiError> {
    found(id, state.store().scenario(caller.id(), id).await?)
}

/// A scenario that the caller may change, put away or not.
async fn find_own(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: TaskId,
) -> Result<Scenario, ApiError> {
    let scenario = find(state, caller, id).await?;
    if scenario.placed.public {
        return Err(ids::public(id));
    }
    Ok(scenario)
}

fn view(scenario: &Scenario, caller: &OrganizationCaller) -> Json<ScenarioView> {
    let is_own = scenario.placed.owner == caller.id();
    Json(ScenarioView::of(scenario, is_own))
}

/// Refuses what only its owner could run, because its box is made of things that are the owner's alone.
pub(super) fn check_made_by_all(checks: &mut Checks, scenario: &Scenario) {
    let Some(devbox) = &scenario.placed.draft.content.devbox else {
        return;
    };
    let place = wire(scenario.placed.id());
    let definition = match devbox.get() {
        Ok(definition) => definition,
        Err(problem) => {
            checks.refuse(&place, format!("has a box that cannot be made: {problem}"));
            return;
        }
    };
    let base = match &definition.base {
        BaseRequest::Host => None,
        BaseRequest::Snapshot(id) => Some(("snapshot", wire(*id))),
        BaseRequest::Blueprint(id) => Some(("blueprint", wire(*id))),
        BaseRequest::NotASnapshot(text) => Some(("snapshot", text.clone())),
        BaseRequest::NewestBlueprint(name) | BaseRequest::NotABlueprint(name) => {
            Some(("blueprint", name.clone()))
        }
    };
    let launch = definition.launch.as_ref();
    let policy = launch
        .and_then(|launch| launch.network_policy)
        .map(|id| ("network policy", wire(id)));
    for (what, name) in base.into_iter().chain(policy) {
        let message = format!(
            "needs the {what} '{name}', which is its owner's alone; nobody else could run it"
        );
        checks.refuse(&place, message);
    }
}

/// Refuses a box that is to be made from what the organization does not have.
async fn check_box(
    state: &ApiState,
    organization: OrganizationId,
    draft: &TaskDraft,
) -> Result<(), ApiError> {
    let Some(Ok(definition)) = draft.devbox.as_ref().map(Document::get) else {
        return Ok(());
    };
    let problems = references::check_definition(state.store(), organization, definition).await?;
    let mut checks = Checks::default();
    for problem in devbox_problems(problems) {
        checks.refuse_below("environment_parameters", problem.into());
    }
    checks.finish_for_now()
}

/// Refuses custom scorers that nobody registered.
async fn check_custom_types(
    state: &ApiState,
    organization: OrganizationId,
    functions: &[ScoringFunction],
) -> Result<(), ApiError> {
    let named = contract::custom_types(functions);
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let known = state.store().scorer_scripts(organization, &named).await?;
    let mut checks = Checks::default();
    for (number, function) in functions.iter().enumerate() {
        if let Some(custom) = function.scorer.custom()
            && let kind = custom.custom_scorer_type.as_str()
            && !known.contains_key(kind)
        {
            let place = format!(
                "scoring_contract.scoring_function_parameters.{number}.scorer.custom_scorer_type"
            );
            checks.refuse(
                &place,
                format!("no scorer of the type '{kind}' is registered"),
            );
        }
    }
    checks.finish_for_now()
}

/// Makes a scenario.
#[utoipa::path(
    post,
    path = "/v1/scenarios",
    tag = "Runloop: scenarios",
    request_body = ScenarioCreateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario", body = ScenarioView)),
)]
pub(crate) async fn create_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<ScenarioCreateParameters>,
) -> Result<Json<ScenarioView>, ApiError> {
    let (draft, functions) = body.into_parts(&state.engine().extensions().scorer_kinds)?;
    check_box(&state, caller.id(), &draft).await?;
    check_custom_types(&state, caller.id(), &functions).await?;
    let scenario = state
        .store()
        .create_scenario(caller.id(), draft, functions)
        .await?;
    Ok(view(&scenario, &caller))
}

/// Lists the organization's scenarios.
#[utoipa::path(
    get,
    path = "/v1/scenarios",
    tag = "Runloop: scenarios",
    params(ScenarioQuery, SoughtQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The scenarios that are not archived, newest first",
            body = ScenarioListView,
        ),
    ),
)]
pub(crate) async fn list_scenarios(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<ScenarioQuery>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<TaskKind>,
) -> Result<Json<ScenarioListView>, ApiError> {
    let filter = query.into_filter(sought)?;
    let whose = Whose::Own(caller.id());
    let page = state.store().scenarios(whose, &filter, page).await?;
    Ok(Json(ScenarioListView::of(&page, |_| true)))
}

/// Lists the scenarios that are open to everybody.
#[utoipa::path(
    get,
    path = "/v1/scenarios/list_public",
    tag = "Runloop: scenarios",
    params(SoughtQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The public scenarios, newest first", body = ScenarioListView),
    ),
)]
pub(crate) async fn list_public_scenarios(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<TaskKind>,
) -> Result<Json<ScenarioListView>, ApiError> {
    let filter = ScenarioFilter {
        sought: sought.into_sought(),
        ..ScenarioFilter::default()
    };
    let page = state
        .store()
        .scenarios(Whose::Public, &filter, page)
        .await?;
    let is_own = |scenario: &Scenario| scenario.placed.owner == caller.id();
    Ok(Json(ScenarioListView::of(&page, is_own)))
}

/// Shows a scenario.
#[utoipa::path(
    get,
    path = "/v1/scenarios/{id}",
    tag = "Runloop: scenarios",
    params(("id" = String, Path, description = "The scenario's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario", body = ScenarioView)),
)]
pub(crate) async fn get_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
) -> Result<Json<ScenarioView>, ApiError> {
    Ok(view(&find(&state, &caller, id).await?, &caller))
}

/// Changes a scenario.
///
/// Fields that are absent or null stay as they are. Runs that have begun keep what they began with.
#[utoipa::path(
    post,
    path = "/v1/scenarios/{id}",
    tag = "Runloop: scenarios",
    params(("id" = String, Path, description = "The scenario's id")),
    request_body = ScenarioUpdateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario as it is now", body = ScenarioView)),
)]
pub(crate) async fn update_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
    Json(body): Json<ScenarioUpdateParameters>,
) -> Result<Json<ScenarioView>, ApiError> {
    let kinds = &state.engine().extensions().scorer_kinds;
    let scenario = retry_stale(|| async {
        let scenario = find_own(&state, &caller, id).await?;
        if scenario.placed.archived {
            return Err(ids::archived(id));
        }
        let (draft, functions) = body.clone().apply(kinds, &scenario)?;
        if draft.devbox != scenario.placed.draft.content.devbox {
            check_box(&state, caller.id(), &draft).await?;
        }
        if let Some(functions) = &functions {
            check_custom_types(&state, caller.id(), functions).await?;
        }
        let written = state.store().update_scenario(&scenario, draft, functions);
        Ok(written.await)
    });
    Ok(view(&scenario.await?, &caller))
}

/// Puts a scenario away.
///
/// No list shows it, and it can be neither changed nor run, until it is taken out again.
#[utoipa::path(
    post,
    path = "/v1/scenarios/{id}/archive",
    tag = "Runloop: scenarios",
    params(("id" = String, Path, description = "The scenario's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario", body = ScenarioView)),
)]
pub(crate) async fn archive_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
) -> Result<Json<ScenarioView>, ApiError> {
    put_away(&state, &caller, id, true).await
}

/// Takes a scenario out again.
#[utoipa::path(
    post,
    path = "/v1/scenarios/{id}/unarchive",
    tag = "Runloop: scenarios",
    params(("id" = String, Path, description = "The scenario's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario", body = ScenarioView)),
)]
pub(crate) async fn unarchive_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
) -> Result<Json<ScenarioView>, ApiError> {
    put_away(&state, &caller, id, false).await
}

async fn put_away(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: TaskId,
    archived: bool,
) -> Result<Json<ScenarioView>, ApiError> {
    find_own(state, caller, id).await?;
    state.store().archive_scenario(id, archived).await?;
    Ok(view(&find(state, caller, id).await?, caller))
}

/// Opens a scenario to everybody, for good.
///
/// Everybody may read and run it from now on, and nobody may change it any more.
#[utoipa::path(
    post,
    path = "/v1/scenarios/{id}/publish",
    tag = "Runloop: scenarios",
    params(("id" = String, Path, description = "The scenario's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario", body = ScenarioView)),
)]
pub(crate) async fn publish_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
) -> Result<Json<ScenarioView>, ApiError> {
    let scenario = find(&state, &caller, id).await?;
    if scenario.placed.owner != caller.id() {
        return Err(ids::public(id));
    }
    if scenario.placed.archived {
        return Err(ids::archived(id));
    }
    let mut checks = Checks::default();
    check_made_by_all(&mut checks, &scenario);
    checks.finish_for_now()?;
    state.store().publish_scenario(id).await?;
    Ok(view(&find(&state, &caller, id).await?, &caller))
}

/// Lists the keys that the metadata of the organization's scenarios has.
#[utoipa::path(
    get,
    path = "/v1/scenarios/metadata/keys",
    tag = "Runloop: scenarios",
    security(("organization_key" = [])),
    responses((status = 200, description = "The keys", body = MetadataKeysView)),
)]
pub(crate) async fn list_scenario_metadata_keys(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
) -> Result<Json<MetadataKeysView>, ApiError> {
    let labels = state.store().scenario_labels(caller.id()).await?;
    Ok(Json(MetadataKeysView::of(labels)))
}

/// Lists the values that a key has in the metadata of the organization's scenarios.
#[utoipa::path(
    get,
    path = "/v1/scenarios/metadata/keys/{key}/values",
    tag = "Runloop: scenarios",
    params(("key" = String, Path, description = "The key")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The values", body = MetadataValuesView)),
)]
pub(crate) async fn list_scenario_metadata_values(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(MetadataKey(key)): Path<MetadataKey>,
) -> Result<Json<MetadataValuesView>, ApiError> {
    let labels = state.store().scenario_labels(caller.id()).await?;
    MetadataValuesView::of(labels, key).map(Json)
}
