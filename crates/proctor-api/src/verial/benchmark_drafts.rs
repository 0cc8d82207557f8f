//! `/benchmarks/{id}/check` and `…/definition`: a benchmark as a whole, for its authors.

use axum::extract::State;
use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, BenchmarkVersion, World},
    environment::Environment,
    id::kinds::{BenchmarkId, CriterionId, TaskId},
};
use proctor_engine::authoring::{self, Given, Obstacle, Prevents, Review, Untouched};
use serde::Serialize;
use utoipa::ToSchema;

use super::benchmarks;
use crate::{
    auth::OrganizationCaller,
    dialect::Dialect,
    error::ApiError,
    extract::{Json, Path, PathParameter, shortened},
    state::ApiState,
};

/// What there is to say about a benchmark before it is published.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReviewView {
    /// Whether it can be published and gives nothing away.
    ok: bool,
    /// What stands in the way of running or publishing it.
    problems: Vec<ReviewProblemView>,
    /// What is worth a look.
    warnings: Vec<ReviewWarningView>,
    /// What an agent that does nothing would get, task by task.
    null_agent: Vec<UntouchedView>,
}

/// Something that is wrong with a draft.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReviewProblemView {
    /// The id of the draft at fault, and the path inside it.
    place: String,
    message: String,
    /// `publishing`, or `running` where not even a trial run can begin.
    #[schema(value_type = String, example = "publishing")]
    prevents: &'static str,
}

/// Something worth a look.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReviewWarningView {
    /// The id of the draft, and the path inside it.
    place: String,
    message: String,
}

/// A task that nobody worked on.
#[derive(Serialize, ToSchema)]
pub(crate) struct UntouchedView {
    #[schema(value_type = String, example = "task_01K0000000000000000000000A")]
    task_id: TaskId,
    name: String,
    score: f64,
    /// The criteria that are met, at least in part, before anybody acted.
    met: Vec<GivenView>,
}

/// A criterion that is met before anybody acted.
#[derive(Serialize, ToSchema)]
pub(crate) struct GivenView {
    #[schema(value_type = String, example = "crit_01K0000000000000000000000A")]
    criterion_id: CriterionId,
    label: String,
    score: f64,
    details: String,
}

impl ReviewView {
    fn of(review: Review) -> Self {
        let gives_nothing = review.untouched.iter().all(|task| task.met.is_empty());
        let problems = review
            .obstacles
            .into_iter()
            .map(|Obstacle { problem, prevents }| ReviewProblemView {
                place: problem.path,
                message: problem.message,
                prevents: match prevents {
                    Prevents::Publishing => "publishing",
                    Prevents::Running => "running",
                },
            });
        let problems: Vec<_> = problems.collect();
        let warnings = review.warnings.into_iter();
        Self {
            ok: problems.is_empty() && gives_nothing,
            problems,
            warnings: warnings
                .map(|(place, message)| ReviewWarningView { place, message })
                .collect(),
            null_agent: review
                .untouched
                .into_iter()
                .map(UntouchedView::of)
                .collect(),
        }
    }
}

impl UntouchedView {
    fn of(untouched: Untouched) -> Self {
        Self {
            task_id: untouched.task,
            name: untouched.name,
            score: untouched.score.value(),
            met: untouched.met.into_iter().map(GivenView::of).collect(),
        }
    }
}

impl GivenView {
    fn of(given: Given) -> Self {
        Self {
            criterion_id: given.criterion,
            label: given.label,
            score: given.score.value(),
            details: given.details,
        }
    }
}

/// Checks a benchmark's draft as if an agent took it that does nothing.
///
/// Names everything that stands in the way of publishing it, and every criterion that is met before
/// anybody acted. Nothing is changed or kept.
#[utoipa::path(
    post,
    path = "/benchmarks/{id}/check",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What there is to say", body = ReviewView)),
)]
pub(crate) async fn check_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<ReviewView>, ApiError> {
    let benchmark = benchmarks::find(&state, &caller, id).await?;
    let now = state.store().now();
    let review = authoring::review(
        state.store(),
        state.engine().extensions(),
        caller.id(),
        benchmark.id,
        now,
    )
    .await?;
    Ok(Json(ReviewView::of(review)))
}

/// All of a benchmark in one document.
#[derive(Serialize, ToSchema)]
pub(crate) struct DefinitionView {
    /// The digest of the definition: the same for the same content.
    #[schema(value_type = String)]
    digest: Digest,
    /// The benchmark with its tasks, criteria and solutions.
    #[schema(value_type = Object)]
    definition: Benchmark,
    /// Where its tasks are done, with all data.
    #[schema(value_type = Option<Object>)]
    environment: Option<Environment>,
}

/// Shows a benchmark's draft with everything that it is made of.
///
/// The digest is the one that a version would get if it were published now.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/definition",
    tag = "Verial: benchmarks",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The draft", body = DefinitionView)),
)]
pub(crate) async fn get_draft_definition(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<DefinitionView>, ApiError> {
    let benchmark = benchmarks::find(&state, &caller, id).await?;
    let drafted = authoring::drafted(state.store(), caller.id(), benchmark.id).await?;
    let drafted = drafted
        .ok_or_else(|| ApiError::field("environment_id", "the benchmark has no environment yet"))?;
    Ok(Json(DefinitionView {
        digest: drafted.digest,
        definition: drafted.definition,
        environment: drafted.environment,
    }))
}

/// The number of a version in a path.
pub(crate) struct VersionNumber(u32);

impl PathParameter for VersionNumber {
    fn parse(text: &str, _: Dialect) -> Result<Self, ApiError> {
        let number = text.parse().map(Self);
        number.map_err(|_| {
            let text = shortened(text);
            ApiError::not_found(format!("no version '{text}': versions are 1, 2, 3, …"))
        })
    }
}

/// A version of a benchmark.
pub(crate) async fn find_version(
    state: &ApiState,
    benchmark: BenchmarkId,
    VersionNumber(number): VersionNumber,
) -> Result<BenchmarkVersion, ApiError> {
    let version = state.store().benchmark_version(benchmark, number).await?;
    version.ok_or_else(|| no_version(benchmark, number))
}

fn no_version(benchmark: BenchmarkId, number: u32) -> ApiError {
    ApiError::not_found(format!("benchmark '{benchmark}' has no version {number}"))
}

/// Shows a version of a benchmark with everything that was frozen.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/versions/{version}/definition",
    tag = "Verial: benchmarks",
    params(
        ("id" = String, Path, description = "The benchmark's id"),
        ("version" = u32, Path, description = "The version's number"),
    ),
    security(("organization_key" = [])),
    responses((status = 200, description = "The version", body = DefinitionView)),
)]
pub(crate) async fn get_version_definition(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((id, number)): Path<(BenchmarkId, VersionNumber)>,
) -> Result<Json<DefinitionView>, ApiError> {
    let store = state.store();
    let benchmark = benchmarks::find(&state, &caller, id).await?;
    let version = find_version(&state, benchmark.id, number).await?;
    let definition = store.definition(&version.digest).await?;
    let definition = definition.ok_or_else(|| no_version(id, version.version))?;
    let frozen = definition.tasks.iter().find_map(|task| match &task.world {
        World::Playground { frozen, .. } => *frozen,
        World::Devbox { .. } => None,
    });
    let environment = match frozen {
        Some(digest) => store.environment_definition(&digest).await?,
        None => None,
    };
    Ok(Json(DefinitionView {
        digest: version.digest,
        definition,
        environment,
    }))
}
