//! `/v1/benchmark_jobs`: agents that take scenarios without anybody's help.

mod body;
mod view;

use axum::extract::State;
use proctor_core::id::kinds::{JobId, JobKind};

use self::{
    body::BenchmarkJobCreateParameters,
    view::{BenchmarkJobListView, BenchmarkJobView},
};
use super::{
    lists::SoughtQuery,
    page::{RunloopPage, RunloopPageQuery},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path, Query},
    state::ApiState,
};

/// Makes a benchmark job.
///
/// It begins by itself: each agent takes every scenario, in a benchmark run of its own.
#[utoipa::path(
    post,
    path = "/v1/benchmark_jobs",
    tag = "Runloop: benchmark jobs",
    request_body = BenchmarkJobCreateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The job", body = BenchmarkJobView)),
)]
pub(crate) async fn create_benchmark_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<BenchmarkJobCreateParameters>,
) -> Result<Json<BenchmarkJobView>, ApiError> {
    let new = body.read(&state, caller.id()).await?;
    let job = state.engine().create_job(new).await?;
    Ok(Json(BenchmarkJobView::of(&job)))
}

/// Lists the benchmark jobs.
#[utoipa::path(
    get,
    path = "/v1/benchmark_jobs",
    tag = "Runloop: benchmark jobs",
    params(SoughtQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The jobs, newest first", body = BenchmarkJobListView)),
)]
pub(crate) async fn list_benchmark_jobs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(sought): Query<SoughtQuery>,
    RunloopPage(page): RunloopPage<JobKind>,
) -> Result<Json<BenchmarkJobListView>, ApiError> {
    let sought = sought.into_sought();
    let page = state.engine().jobs(caller.id(), &sought, page).await?;
    Ok(Json(BenchmarkJobListView::of(&page)))
}

/// Shows a benchmark job.
#[utoipa::path(
    get,
    path = "/v1/benchmark_jobs/{id}",
    tag = "Runloop: benchmark jobs",
    params(("id" = String, Path, description = "The job's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The job", body = BenchmarkJobView)),
)]
pub(crate) async fn get_benchmark_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<JobId>,
) -> Result<Json<BenchmarkJobView>, ApiError> {
    let job = state.engine().job(caller.id(), id).await?;
    Ok(Json(BenchmarkJobView::of(&job)))
}

/// Cancels a benchmark job with its benchmark runs and their devboxes; results are kept.
///
/// An extension of ours.
#[utoipa::path(
    post,
    path = "/v1/benchmark_jobs/{id}/cancel",
    tag = "Runloop: benchmark jobs",
    params(("id" = String, Path, description = "The job's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The job", body = BenchmarkJobView)),
)]
pub(crate) async fn cancel_benchmark_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<JobId>,
) -> Result<Json<BenchmarkJobView>, ApiError> {
    let job = state.engine().cancel_job(caller.id(), id).await?;
    Ok(Json(BenchmarkJobView::of(&job)))
}
