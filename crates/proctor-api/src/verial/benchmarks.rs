//! `/benchmarks`: sets of tasks, as their authors have them.

use std::{collections::BTreeMap, num::NonZeroU32, ops::RangeInclusive};

use proctor_core::{
    definition::{Benchmark, BenchmarkVersion, Requirements, Seconds, Slug, Visibility},
    id::kinds::{BenchmarkId, BenchmarkKind, EnvironmentId, OrganizationId},
};
use proctor_store::{
    benchmarks::{BenchmarkDraft, BenchmarkRecord},
    page::Page,
};

use super::{environments, prelude::*};
use crate::error::ApiErrorKind;

/// Whose something is.
#[derive(Serialize, ToSchema)]
pub(crate) struct OwnerView {
    #[schema(value_type = String, example = "org_01K0000000000000000000000A")]
    id: OrganizationId,
    /// What people call it.
    name: String,
}

/// A benchmark. That of another organization is shown as its newest public version has it.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkView {
    #[schema(value_type = String, example = "bench_01K0000000000000000000000A")]
    id: BenchmarkId,
    /// Whose it is. Others can take what is public, and change nothing.
    owner: OwnerView,
    /// Whether that is the caller.
    own: bool,
    /// What people call it.
    name: String,
    /// Where its tasks are done; null for a benchmark of another organization.
    #[schema(value_type = Option<String>, example = "env_01K0000000000000000000000A")]
    environment_id: Option<EnvironmentId>,
    /// What it is about.
    description: Option<String>,
    /// How many seconds a task may take that has no limit of its own.
    timeout: Option<u32>,
    /// How many of a run's tasks may be active at once.
    concurrency: u32,
    /// Whether lists show its newest version.
    published: bool,
    /// Whether no new run of its newest version may begin.
    new_runs_stopped: bool,
    /// Who may take its newest version: `Public` is everybody, `Private` its own organization.
    #[schema(value_type = String, example = "Private")]
    visibility: Visibility,
    /// The name under which takers ask for it; null until it was published.
    #[schema(value_type = Option<String>, example = "fax-referral")]
    slug: Option<Slug>,
    /// The number of its newest version; null until it was published.
    version: Option<u32>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl BenchmarkView {
    fn of(owner: OwnerView, benchmark: BenchmarkRecord, latest: Option<BenchmarkVersion>) -> Self {
        let draft = benchmark.content;
        let published = latest
            .as_ref()
            .is_some_and(|version| version.unpublished_at.is_none());
        Self {
            id: benchmark.id,
            owner,
            own: true,
            name: draft.name,
            environment_id: draft.environment,
            description: draft.description,
            timeout: draft.timeout.map(Seconds::get),
            concurrency: draft.concurrency.get(),
            published,
            new_runs_stopped: latest
                .as_ref()
                .is_some_and(|version| version.stopped_at.is_some()),
            visibility: latest
                .as_ref()
                .map_or(Visibility::default(), |version| version.visibility),
            version: latest.as_ref().map(|version| version.version),
            slug: latest.map(|version| version.slug),
            created_at: benchmark.created_at,
            updated_at: benchmark.updated_at,
        }
    }

    /// A benchmark of another organization: nothing of its draft, only what was frozen for everybody.
    fn foreign(
        owner: OwnerView,
        benchmark: &BenchmarkRecord,
        version: BenchmarkVersion,
        definition: &Benchmark,
    ) -> Self {
        Self {
            id: benchmark.id,
            owner,
            own: false,
            name: definition.name.clone(),
            environment_id: None,
            description: definition.description.clone(),
            timeout: definition.timeout.map(Seconds::get),
            concurrency: definition.concurrency.get(),
            published: true,
            new_runs_stopped: version.stopped_at.is_some(),
            visibility: version.visibility,
            version: Some(version.version),
            slug: Some(version.slug),
            created_at: benchmark.created_at,
            updated_at: version.published_at,
        }
    }
}

// Lengths in characters.
const NAME: usize = 200;
const DESCRIPTION: usize = 10_000;
/// Seconds; at most a day.
pub(super) const TIMEOUT: RangeInclusive<u32> = 1..=86_400;
const CONCURRENCY: RangeInclusive<u32> = 1..=100;

/// What a new benchmark is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewBenchmarkBody {
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    name: Option<String>,
    /// Where its tasks are done.
    #[schema(value_type = String, required, example = "env_01K0000000000000000000000A")]
    environment_id: Option<EnvironmentId>,
    #[schema(max_length = 10000)]
    description: Option<String>,
    /// How many seconds a task may take that has no limit of its own.
    #[schema(value_type = u32, required, minimum = 1, maximum = 86400)]
    timeout: Option<u32>,
    /// How many of a run's tasks may be active at once; 1 when absent.
    #[schema(minimum = 1, maximum = 100, default = 1)]
    concurrency: Option<u32>,
}

impl NewBenchmarkBody {
    fn into_draft(self) -> Result<BenchmarkDraft, ApiError> {
        let mut checks = Checks::default();
        let name = checks.text("name", self.name, 1..=NAME);
        let description = checks.optional_text("description", self.description, 0..=DESCRIPTION);
        let environment = checks.required("environment_id", self.environment_id);
        let timeout = checks.required("timeout", self.timeout);
        checks.within("timeout", timeout, TIMEOUT);
        checks.within("concurrency", self.concurrency, CONCURRENCY);
        checks.finish()?;
        Ok(BenchmarkDraft {
            name,
            description,
            attribution: None,
            environment,
            timeout: timeout.and_then(Seconds::new),
            concurrency: self
                .concurrency
                .and_then(NonZeroU32::new)
                .unwrap_or(NonZeroU32::MIN),
            metadata: BTreeMap::new(),
            requires: Requirements::default(),
        })
    }
}

/// What is to change; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BenchmarkChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    name: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, example = "env_01K0000000000000000000000A")]
    environment_id: Option<Option<EnvironmentId>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 10000)]
    description: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = u32, minimum = 1, maximum = 86400)]
    timeout: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = u32, minimum = 1, maximum = 100)]
    concurrency: Option<Option<u32>>,
}

impl BenchmarkChanges {
    fn apply(self, old: &BenchmarkDraft) -> Result<BenchmarkDraft, ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(name) = checks.replaced_text("name", self.name, 1..=NAME) {
            draft.name = name;
        }
        if let Some(description) = self.description {
            draft.description = checks.optional_text("description", description, 0..=DESCRIPTION);
        }
        let environment = self.environment_id.map(|id| id.map(Some));
        draft.environment = checks.replaced("environment_id", environment, draft.environment);
        let timeout = self.timeout.map(|timeout| timeout.map(Some));
        let timeout = checks.replaced("timeout", timeout, draft.timeout.map(Seconds::get));
        checks.within("timeout", timeout, TIMEOUT);
        let concurrency = draft.concurrency.get();
        let concurrency = checks.replaced("concurrency", self.concurrency, concurrency);
        checks.within("concurrency", Some(concurrency), CONCURRENCY);
        checks.finish()?;
        draft.timeout = timeout.and_then(Seconds::new);
        draft.concurrency = NonZeroU32::new(concurrency).unwrap_or(draft.concurrency);
        Ok(draft)
    }
}

/// The caller's own benchmark of this id; one that it sees in lists and that is another's is not its to change.
pub(super) async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: BenchmarkId,
) -> Result<BenchmarkRecord, ApiError> {
    let store = state.store();
    if let Some(own) = store.benchmark(caller.id(), id).await? {
        return Ok(own);
    }
    found(id, store.visible_benchmark(caller.id(), id).await?)?;
    Err(ApiError::new(
        ApiErrorKind::Forbidden,
        format!(
            "benchmark '{id}' belongs to another organization: it can be taken, but not changed or looked into"
        ),
    ))
}

/// The caller's benchmark with what is published of it.
pub(super) async fn view(
    state: &ApiState,
    caller: &OrganizationCaller,
    benchmark: BenchmarkRecord,
) -> Result<Json<BenchmarkView>, ApiError> {
    let mut latest = state.store().latest_versions(&[benchmark.id]).await?;
    let latest = latest.remove(&benchmark.id);
    Ok(Json(BenchmarkView::of(own(caller), benchmark, latest)))
}

fn own(caller: &OrganizationCaller) -> OwnerView {
    OwnerView {
        id: caller.id(),
        name: caller.organization().name.clone(),
    }
}

/// Benchmarks as a list shows them: the caller's own as they are drafted, those of others as they were published.
async fn views(
    state: &ApiState,
    caller: &OrganizationCaller,
    benchmarks: Vec<(OrganizationId, BenchmarkRecord)>,
) -> Result<Vec<BenchmarkView>, ApiError> {
    let store = state.store();
    let ids = |of_others: bool| -> Vec<BenchmarkId> {
        let wanted = benchmarks.iter();
        let wanted = wanted.filter(|(owner, _)| (*owner != caller.id()) == of_others);
        wanted.map(|(_, one)| one.id).collect()
    };
    let mut latest = store.latest_versions(&ids(false)).await?;
    let mut public = store.listed_public_versions(&ids(true)).await?;
    let mut owners: Vec<_> = benchmarks.iter().map(|(owner, _)| *owner).collect();
    owners.retain(|owner| *owner != caller.id());
    owners.dedup();
    let names = store.organization_names(&owners).await?;
    let mut views = Vec::with_capacity(benchmarks.len());
    for (owner, benchmark) in benchmarks {
        if owner == caller.id() {
            let latest = latest.remove(&benchmark.id);
            views.push(BenchmarkView::of(own(caller), benchmark, latest));
        } else if let Some(version) = public.remove(&benchmark.id) {
            let name = names.get(&owner).cloned().unwrap_or_default();
            let owner = OwnerView { id: owner, name };
            let prepared = state.engine().definition(&version.digest).await?;
            let definition = &prepared.benchmark;
            views.push(BenchmarkView::foreign(
                owner, &benchmark, version, definition,
            ));
        }
    }
    Ok(views)
}

/// Lists the organization's benchmarks, and those of others that everybody may take.
#[utoipa::path(
    get,
    path = "/benchmarks",
    tag = "Verial: benchmarks",
    params(VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The benchmarks, newest first",
            body = VerialList<BenchmarkView>,
        ),
    ),
)]
pub(crate) async fn list_benchmarks(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<BenchmarkKind>,
) -> Result<Json<VerialList<BenchmarkView>>, ApiError> {
    let listed = state
        .store()
        .visible_benchmarks(caller.id(), page.0)
        .await?;
    let views = views(&state, &caller, listed.items).await?;
    let listed = Page {
        items: views,
        has_more: listed.has_more,
        has_previous: listed.has_previous,
        total: listed.total,
    };
    Ok(page.answer(listed, |one| one.id, |one| one))
}

/// Makes a benchmark without tasks.
#[utoipa::path(
    post,
    path = "/benchmarks",
    tag = "Verial: benchmarks",
    request_body = NewBenchmarkBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The benchmark", body = BenchmarkView)),
)]
pub(crate) async fn create_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewBenchmarkBody>,
) -> Result<(StatusCode, Json<BenchmarkView>), ApiError> {
    let draft = body.into_draft()?;
    know_environment(&state, &caller, &draft).await?;
    let benchmark = state.store().create_benchmark(caller.id(), draft).await?;
    Ok((
        StatusCode::CREATED,
        Json(BenchmarkView::of(own(&caller), benchmark, None)),
    ))
}

/// Refuses a benchmark whose environment is not the caller's.
async fn know_environment(
    state: &ApiState,
    caller: &OrganizationCaller,
    draft: &BenchmarkDraft,
) -> Result<(), ApiError> {
    if let Some(environment) = draft.environment {
        environments::find(state, caller, environment).await?;
    }
    Ok(())
}

/// Shows a benchmark of the organization, or one that everybody may take.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark", body = BenchmarkView)),
)]
pub(crate) async fn get_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<BenchmarkView>, ApiError> {
    let visible = found(id, state.store().visible_benchmark(caller.id(), id).await?)?;
    let mut views = views(&state, &caller, vec![visible]).await?;
    found(id, views.pop()).map(Json)
}

/// Changes a benchmark's draft.
///
/// Fields that are absent stay as they are. Published versions keep what they froze.
#[utoipa::path(
    patch,
    path = "/benchmarks/{id}",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    request_body = BenchmarkChanges,
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark as it is now", body = BenchmarkView)),
)]
pub(crate) async fn update_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Json(changes): Json<BenchmarkChanges>,
) -> Result<Json<BenchmarkView>, ApiError> {
    let benchmark = find(&state, &caller, id).await?;
    let draft = changes.apply(&benchmark.content)?;
    know_environment(&state, &caller, &draft).await?;
    let benchmark = state.store().update_benchmark(&benchmark, draft).await?;
    view(&state, &caller, benchmark).await
}

/// Removes a benchmark with its tasks.
///
/// What was ever published stays: its versions are for ever. Unpublish it to hide it from lists.
#[utoipa::path(
    delete,
    path = "/benchmarks/{id}",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses(
        (status = 204, description = "The benchmark is gone"),
        (status = 409, description = "It was published"),
    ),
)]
pub(crate) async fn delete_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<StatusCode, ApiError> {
    let benchmark = find(&state, &caller, id).await?;
    let is_gone = state
        .store()
        .delete_benchmark(caller.id(), benchmark.id)
        .await?;
    removed(id, is_gone)
}
