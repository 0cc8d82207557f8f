//! `/benchmarks`: sets of tasks, as their authors have them.

use std::{collections::BTreeMap, num::NonZeroU32, ops::RangeInclusive};

use proctor_core::{
    definition::{BenchmarkVersion, Requirements, Seconds, Slug, Visibility},
    id::kinds::{BenchmarkId, BenchmarkKind, EnvironmentId},
};
use proctor_store::benchmarks::{BenchmarkDraft, BenchmarkRecord};

use super::{environments, prelude::*};

/// A benchmark.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkView {
    #[schema(value_type = String, example = "bench_01K0000000000000000000000A")]
    id: BenchmarkId,
    /// What people call it.
    name: String,
    /// Where its tasks are done.
    #[schema(value_type = Option<String>, example = "env_01K0000000000000000000000A")]
    environment_id: Option<EnvironmentId>,
    /// What it is about.
    description: Option<String>,
    /// How many seconds a task may take that has no limit of its own.
    timeout: Option<u32>,
    /// How many of a run's tasks may be active at once.
    concurrency: u32,
    /// Whether its newest version can be taken.
    published: bool,
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
    fn of(benchmark: BenchmarkRecord, latest: Option<BenchmarkVersion>) -> Self {
        let draft = benchmark.content;
        let published = latest
            .as_ref()
            .is_some_and(|version| version.unpublished_at.is_none());
        Self {
            id: benchmark.id,
            name: draft.name,
            environment_id: draft.environment,
            description: draft.description,
            timeout: draft.timeout.map(Seconds::get),
            concurrency: draft.concurrency.get(),
            published,
            visibility: latest
                .as_ref()
                .map_or(Visibility::default(), |version| version.visibility),
            version: latest.as_ref().map(|version| version.version),
            slug: latest.map(|version| version.slug),
            created_at: benchmark.created_at,
            updated_at: benchmark.updated_at,
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

/// The benchmark with what is published of it.
pub(super) async fn view(
    state: &ApiState,
    benchmark: BenchmarkRecord,
) -> Result<Json<BenchmarkView>, ApiError> {
    let mut latest = state.store().latest_versions(&[benchmark.id]).await?;
    let latest = latest.remove(&benchmark.id);
    Ok(Json(BenchmarkView::of(benchmark, latest)))
}

authored! {
    BenchmarkId at "/benchmarks/{id}", "Verial: benchmarks", "The benchmark's id";
    store(benchmark -> BenchmarkRecord, delete_benchmark);
    /// Shows a benchmark.
    get get_benchmark -> BenchmarkView "The benchmark", shown by view;
    /// Removes a benchmark with its tasks, and takes its versions back.
    ///
    /// Runs that have begun go on, and their results stay.
    delete delete_benchmark "The benchmark is gone";
}

authored_list! {
    /// Lists the organization's benchmarks.
    list_benchmarks at "/benchmarks", "Verial: benchmarks" -> BenchmarkView "The benchmarks, newest first";
    store(benchmarks by BenchmarkKind, with latest_versions), each as of;
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
        Json(BenchmarkView::of(benchmark, None)),
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
    view(&state, benchmark).await
}
