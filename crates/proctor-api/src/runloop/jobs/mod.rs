//! `/v1/benchmark_jobs`: agents that take scenarios without anybody's help.

mod body;
mod harbor_plan;
mod view;

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, header};
use proctor_core::id::kinds::{JobId, JobKind};
use serde::Deserialize;
use tokio_util::io::ReaderStream;
use utoipa::IntoParams;

pub(crate) use self::body::read_rounds;
use self::{
    body::{BenchmarkJobCreateParameters, WantedJob},
    harbor_plan::HarborPlanView,
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

/// Whether a job is made.
#[derive(Deserialize, IntoParams)]
pub(crate) struct DryRunQuery {
    /// Of a Harbor job: only say what it would do, and start nothing. An extension of ours.
    dry_run: Option<bool>,
}

/// Makes a benchmark job.
///
/// It begins by itself: each agent takes every scenario, in a benchmark run of its own.
#[utoipa::path(
    post,
    path = "/v1/benchmark_jobs",
    tag = "Runloop: benchmark jobs",
    params(DryRunQuery),
    request_body = BenchmarkJobCreateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The job", body = BenchmarkJobView)),
)]
pub(crate) async fn create_benchmark_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<DryRunQuery>,
    Json(body): Json<BenchmarkJobCreateParameters>,
) -> Result<Response, ApiError> {
    let is_dry = query.dry_run.unwrap_or(false);
    let wanted = body.read(&state, caller.id()).await?;
    let job = match wanted {
        WantedJob::Job(_) if is_dry => {
            return Err(ApiError::field("dry_run", "is for Harbor jobs only"));
        }
        WantedJob::Harbor(new) if is_dry => {
            let plan = state.engine().plan_harbor_job(new).await?;
            return Ok(Json(HarborPlanView::of(plan)).into_response());
        }
        WantedJob::Job(new) => state.engine().create_job(*new).await?,
        WantedJob::Harbor(new) => state.engine().create_harbor_job(new).await?,
    };
    Ok(Json(BenchmarkJobView::of(&job)).into_response())
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

/// Downloads a Harbor job in Harbor's own layout: a tar, compressed with zstd, of one directory with one for each trial.
///
/// An extension of ours. Harbor's viewer and models read it.
#[utoipa::path(
    get,
    path = "/v1/benchmark_jobs/{id}/harbor.tar.zst",
    tag = "Runloop: benchmark jobs",
    params(("id" = String, Path, description = "The job's id")),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The archive",
            content_type = "application/zstd",
            body = Vec<u8>,
        ),
    ),
)]
pub(crate) async fn export_benchmark_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<JobId>,
) -> Result<Response, ApiError> {
    let export = state.engine().export_harbor_job(caller.id(), id).await?;
    let body = Body::from_stream(ReaderStream::new(export.into_archive()));
    let kind = HeaderValue::from_static("application/zstd");
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}
