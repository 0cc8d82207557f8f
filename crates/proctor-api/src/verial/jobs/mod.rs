//! `/jobs`: agents that take a benchmark without anybody's help, whatever world its tasks are done in. Not of the dialect's contract; it
//! has its manners. `/v1/benchmark_jobs` shows the same jobs in the other dialect.

mod body;
mod view;

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    id::{
        Dialect,
        kinds::{JobId, JobKind},
    },
    job::JobStatus,
};
use proctor_engine::{EngineError, jobs::JobDetails};
use proctor_store::names::Sought;
use serde::Deserialize;
use utoipa::IntoParams;

use self::{
    body::{NewJobBody, refused},
    view::JobView,
};
use super::{
    page::{NoParameters, VerialList, VerialPage, VerialPageQuery},
    public_runs::pinned_ref,
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    results::ResultsView,
    state::ApiState,
};

/// Makes a job: each agent takes every task of a benchmark, in one run for each attempt.
///
/// It begins by itself. `oracle` does what the authors say solves the tasks, `null` does nothing. Any other agent is a command that works in a devbox: in that of the
/// task, or, where the task is done in a simulated world, in one that reaches this world and the hosts that the agent's manifest declares.
#[utoipa::path(
    post,
    path = "/jobs",
    tag = "Proctor: jobs",
    request_body = NewJobBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The job", body = JobView)),
)]
pub(crate) async fn create_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewJobBody>,
) -> Result<(StatusCode, Json<JobView>), ApiError> {
    let new = body.read(&state, caller.id()).await?;
    let made = state.engine().create_job(new).await.map_err(refused)?;
    Ok((StatusCode::CREATED, Json(view(&state, &made).await?)))
}

/// Which jobs are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListedJobs {
    /// Only those that are called so.
    name: Option<String>,
}

/// Lists the organization's jobs.
#[utoipa::path(
    get,
    path = "/jobs",
    tag = "Proctor: jobs",
    params(ListedJobs, VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The jobs, newest first", body = VerialList<JobView>)),
)]
pub(crate) async fn list_jobs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<JobKind, ListedJobs>,
) -> Result<Json<VerialList<JobView>>, ApiError> {
    let sought = Sought {
        name: page.1.name.clone(),
        ..Sought::default()
    };
    let jobs = state.engine().jobs(caller.id(), &sought, page.0).await?;
    let mut views = Vec::with_capacity(jobs.items.len());
    for job in &jobs.items {
        views.push(view(&state, job).await?);
    }
    let mut views = views.into_iter();
    Ok(page.answer(
        jobs,
        |details| details.job.id,
        |_| views.next().expect("there is one view for each job"),
    ))
}

/// Shows a job.
#[utoipa::path(
    get,
    path = "/jobs/{id}",
    tag = "Proctor: jobs",
    params(("id" = String, Path, description = "The job's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The job", body = JobView)),
)]
pub(crate) async fn get_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    _: NoParameters,
    Path(id): Path<JobId>,
) -> Result<Json<JobView>, ApiError> {
    let found = find(&state, &caller, id).await?;
    view(&state, &found).await.map(Json)
}

/// Stops a job with its runs and their worlds; results are kept. Stopping it twice changes nothing.
#[utoipa::path(
    post,
    path = "/jobs/{id}/cancel",
    tag = "Proctor: jobs",
    params(("id" = String, Path, description = "The job's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The job as it is now", body = JobView)),
)]
pub(crate) async fn cancel_job(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<JobId>,
) -> Result<Json<JobView>, ApiError> {
    let found = find(&state, &caller, id).await?;
    let job = match found.job.status() {
        JobStatus::Cancelled => found,
        _ => state.engine().cancel_job(caller.id(), id).await?,
    };
    view(&state, &job).await.map(Json)
}

/// Shows what came of a job by our own rule: the first try that is not void counts, what an agent ended itself counts 0, and what says
/// nothing about an agent is left out and counted.
#[utoipa::path(
    get,
    path = "/jobs/{id}/results",
    tag = "Proctor: jobs",
    params(("id" = String, Path, description = "The job's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What came of each agent", body = ResultsView)),
)]
pub(crate) async fn get_job_results(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    _: NoParameters,
    Path(id): Path<JobId>,
) -> Result<Json<ResultsView>, ApiError> {
    find(&state, &caller, id).await?;
    let results = state.engine().job_results(caller.id(), id).await?;
    Ok(Json(ResultsView::of(results, Dialect::Verial)))
}

async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: JobId,
) -> Result<JobDetails, ApiError> {
    let found = state.engine().job(caller.id(), id).await;
    found.map_err(|error| match error {
        EngineError::NotFound(_) => ApiError::not_found(format!("no job '{id}'")),
        other => other.into(),
    })
}

async fn view(state: &ApiState, details: &JobDetails) -> Result<JobView, ApiError> {
    let pinned = &details.job.plan.pinned;
    let prepared = state.engine().definition(&pinned.digest).await?;
    let benchmark = pinned_ref(state, pinned, &prepared.benchmark.name).await?;
    Ok(JobView::of(details, benchmark))
}
