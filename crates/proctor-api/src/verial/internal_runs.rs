//! `/benchmark-runs`: runs as their organization sees them, and the leaderboard.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    criterion_run::CriterionRun,
    id::{
        Dialect,
        kinds::{BenchmarkId, OrganizationId, RunId, RunKind, TaskRunId},
    },
    run::Run,
};
use proctor_engine::runs::{NewRun, Taken};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    page::{VerialList, VerialPage, VerialPageQuery},
    public_runs::{NewRunView, begin, benchmark_ref},
    run_views::{RunView, Sight, TaskRunView},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path, Query},
    state::ApiState,
};

/// Which benchmark's.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfBenchmark {
    /// Only those of this benchmark.
    benchmark_id: Option<String>,
}

impl OfBenchmark {
    fn read(&self) -> Result<Option<BenchmarkId>, ApiError> {
        let read = |text: &String| {
            BenchmarkId::from_wire(text, Dialect::Verial)
                .map_err(|bad| ApiError::field("benchmark_id", bad.to_string()))
        };
        self.benchmark_id.as_ref().map(read).transpose()
    }
}

/// Lists the organization's runs.
#[utoipa::path(
    get,
    path = "/benchmark-runs",
    tag = "Verial: runs",
    params(OfBenchmark, VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The runs, newest first", body = VerialList<RunView>)),
)]
pub(crate) async fn list_benchmark_runs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(of): Query<OfBenchmark>,
    page: VerialPage<RunKind>,
) -> Result<Json<VerialList<RunView>>, ApiError> {
    let runs = state.store().runs(caller.id(), of.read()?, page.0).await?;
    answer(&state, &page, runs).await
}

/// A page of runs with the names of their benchmarks.
async fn answer(
    state: &ApiState,
    page: &VerialPage<RunKind>,
    runs: proctor_store::page::Page<Run>,
) -> Result<Json<VerialList<RunView>>, ApiError> {
    let mut views = Vec::with_capacity(runs.items.len());
    for run in &runs.items {
        views.push(view(state, run).await?);
    }
    let mut views = views.into_iter();
    Ok(page.answer(
        runs,
        |run| run.id,
        |_| views.next().expect("there is one view for each run"),
    ))
}

async fn view(state: &ApiState, run: &Run) -> Result<RunView, ApiError> {
    let prepared = state.engine().definition_of(run).await?;
    let benchmark = benchmark_ref(state, run, &prepared.benchmark.name).await?;
    Ok(RunView::of(run, benchmark))
}

/// Which benchmark is to be taken.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewInternalRunBody {
    /// The benchmark: its newest published version, or its draft if none is published.
    #[schema(value_type = String, required)]
    benchmark_id: Option<BenchmarkId>,
    /// `true` takes the draft even if a version is published.
    #[serde(default)]
    #[schema(value_type = bool, default = false)]
    draft: Option<bool>,
}

/// Makes a run of a draft or of the newest published version.
#[utoipa::path(
    post,
    path = "/benchmark-runs",
    tag = "Verial: runs",
    request_body = NewInternalRunBody,
    security(("organization_key" = [])),
    responses(
        (status = 201, description = "The run, with a token to take it by", body = NewRunView),
    ),
)]
pub(crate) async fn create_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewInternalRunBody>,
) -> Result<(StatusCode, Json<NewRunView>), ApiError> {
    let benchmark = body
        .benchmark_id
        .ok_or_else(|| ApiError::field("benchmark_id", "is required"))?;
    let taken = if body.draft.unwrap_or(false) {
        Taken::Draft(benchmark)
    } else {
        match state
            .engine()
            .newest_version(caller.id(), benchmark)
            .await?
        {
            Some(pinned) => Taken::Version(pinned),
            None => Taken::Draft(benchmark),
        }
    };
    let new = NewRun {
        organization: caller.id(),
        solver: None,
        taken,
        scored: false,
        agent: None,
    };
    Ok((StatusCode::CREATED, Json(begin(&state, new).await?)))
}

/// The caller's run of this id.
pub(super) async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
) -> Result<Run, ApiError> {
    let run = state.store().run(id).await?;
    run.map(|run| run.value)
        .filter(|run| run.organization == caller.id())
        .ok_or_else(|| ApiError::not_found(format!("no benchmark run '{id}'")))
}

/// Shows a run with its task runs and criterion runs.
#[utoipa::path(
    get,
    path = "/benchmark-runs/{id}",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The run", body = RunView)),
)]
pub(crate) async fn get_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<RunView>, ApiError> {
    find(&state, &caller, id).await?;
    let details = state.engine().run_details(id).await?;
    let sight = sight(&state, caller.id(), &details.run)
        .await?
        .ok_or_else(|| ApiError::not_found(format!("no benchmark run '{id}'")))?;
    let mut task_runs = Vec::new();
    for task_run in &details.task_runs {
        let (task, _) = details.prepared.task(task_run.task)?;
        let found = findings(&state, task_run.id, sight).await?;
        task_runs.push(TaskRunView::of(task_run, task, &found, sight));
    }
    let benchmark = benchmark_ref(&state, &details.run, &details.prepared.benchmark.name).await?;
    let view = RunView::of(&details.run, benchmark);
    Ok(Json(view.with_task_runs(task_runs)))
}

/// How much of a run an organization may see that owns it or its benchmark; nothing for others.
pub(super) async fn sight(
    state: &ApiState,
    caller: OrganizationId,
    run: &Run,
) -> Result<Option<Sight>, ApiError> {
    let benchmark = run.pinned.benchmark;
    let owner = state.store().owner_of_benchmark(benchmark).await?;
    Ok(if owner == Some(caller) {
        Some(Sight::Owner)
    } else if run.organization != caller {
        None
    } else if run.scored {
        Some(Sight::ScoredTaker)
    } else {
        Some(Sight::Taker)
    })
}

/// What was found in a task run, as far as it may be seen.
pub(super) async fn findings(
    state: &ApiState,
    task_run: TaskRunId,
    sight: Sight,
) -> Result<Vec<CriterionRun>, ApiError> {
    match sight {
        Sight::ScoredTaker => Ok(Vec::new()),
        Sight::Owner | Sight::Taker => Ok(state.store().criterion_runs(task_run).await?),
    }
}

macro_rules! run_actions {
    ($($(#[$doc:meta])* $name:ident, $path:literal, |$engine:ident, $id:ident| $act:expr;)+) => {$(
        $(#[$doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "Verial: runs",
            params(("id" = String, Path, description = "The run's id")),
            security(("organization_key" = [])),
            responses((status = 200, description = "The run as it is now", body = RunView)),
        )]
        pub(crate) async fn $name(
            State(state): State<ApiState>,
            caller: OrganizationCaller,
            Path(id): Path<RunId>,
        ) -> Result<Json<RunView>, ApiError> {
            find(&state, &caller, id).await?;
            let ($engine, $id) = (state.engine(), id);
            let run = $act.await?;
            view(&state, &run).await.map(Json)
        }
    )+};
}

run_actions! {
    /// Completes a run: what is not complete counts zero.
    complete_benchmark_run, "/benchmark-runs/{id}/complete", |engine, id| engine.complete_run(id);
    /// Stops a run: results are kept, its token ends at once.
    cancel_benchmark_run, "/benchmark-runs/{id}/cancel", |engine, id| engine.cancel_run(id);
    /// Puts a completed run on the leaderboard.
    publish_benchmark_run, "/benchmark-runs/{id}/publish", |engine, id| engine.rank_run(id, true);
    /// Takes a run off the leaderboard.
    unpublish_benchmark_run, "/benchmark-runs/{id}/unpublish", |engine, id| engine.rank_run(id, false);
}

/// A run on a leaderboard.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankedView {
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    /// The Solver's alias; null for a run of the organization itself.
    solver: Option<String>,
    agent: Option<String>,
    /// The version of the benchmark; null for a draft.
    version: Option<u32>,
    scored: bool,
    verdict: Option<&'static str>,
    score: Option<f64>,
    #[schema(value_type = Option<Object>)]
    axes: Option<super::run_views::Axes>,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<proctor_core::time::Timestamp>,
}

/// A leaderboard, the best first.
#[derive(Serialize, ToSchema)]
pub(crate) struct Leaderboard {
    data: Vec<RankedView>,
}

/// Shows the runs of a benchmark that their organizations published, the best first.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/leaderboard",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The leaderboard", body = Leaderboard)),
)]
pub(crate) async fn get_leaderboard(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
) -> Result<Json<Leaderboard>, ApiError> {
    let ranked = state.engine().leaderboard(caller.id(), id).await?;
    let data = ranked
        .into_iter()
        .map(|(run, solver)| {
            let result = super::run_views::Outcome::of_run(&run);
            RankedView {
                benchmark_run_id: run.id,
                solver,
                agent: run.agent.clone(),
                version: run.pinned.version,
                scored: run.scored,
                verdict: result.verdict,
                score: result.score,
                axes: result.axes,
                completed_at: run.ended_at(),
            }
        })
        .collect();
    Ok(Json(Leaderboard { data }))
}
