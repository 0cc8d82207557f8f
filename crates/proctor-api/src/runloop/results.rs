//! `…/results`: our own numbers of benchmark jobs and benchmark runs. The contract has no such routes and its bodies no place for
//! these numbers.

use axum::extract::State;
use proctor_core::id::{
    Dialect,
    kinds::{JobId, RunId},
};

use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    results::ResultsView,
    state::ApiState,
};

/// Shows what came of a benchmark job by our own rule.
///
/// An extension of ours. The first try of a scenario that is not void counts, an agent that crashes or takes too long counts 0, and what says nothing about the agent is left
/// out and counted.
#[utoipa::path(
    get,
    path = "/v1/benchmark_jobs/{id}/results",
    tag = "Runloop: benchmark jobs",
    params(("id" = String, Path, description = "The job's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What came of each agent", body = ResultsView)),
)]
pub(crate) async fn get_benchmark_job_results(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<JobId>,
) -> Result<Json<ResultsView>, ApiError> {
    let results = state.engine().job_results(caller.id(), id).await?;
    Ok(Json(ResultsView::of(results, Dialect::Runloop)))
}

/// Shows what came of a benchmark run by our own rule.
///
/// An extension of ours, as for benchmark jobs.
#[utoipa::path(
    get,
    path = "/v1/benchmark_runs/{id}/results",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What came of its agent", body = ResultsView)),
)]
pub(crate) async fn get_runloop_benchmark_run_results(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<ResultsView>, ApiError> {
    let results = state.engine().run_results(caller.id(), id).await?;
    Ok(Json(ResultsView::of(results, Dialect::Runloop)))
}
