//! What agents tell of their task runs: what they did (`…/trajectory`) and what they used up (`…/usage`).
//!
//! It is kept beside what was observed, and no score depends on it.

use axum::extract::State;
use proctor_core::{
    id::kinds::TaskRunId,
    problem::Problems,
    refused::Refused,
    task_run::{TaskRun, TaskRunState},
    trajectory::Trajectory,
    usage::{ModelUsage, PriceTable, Usage},
};
use proctor_engine::EngineError;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    auth::{OrganizationCaller, TakerCaller},
    error::ApiError,
    extract::{Json, Path},
    genai,
    state::ApiState,
    telemetry,
    verial::find_task_run,
};

/// The member that holds several reports.
const REPORTS: &str = "reports";

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(put_task_run_trajectory, get_task_run_trajectory))
        .routes(routes!(add_task_run_usage, get_task_run_usage))
        .routes(routes!(keep_task_run_trajectory, show_task_run_trajectory))
        .routes(routes!(report_task_run_usage, show_task_run_usage))
        .routes(routes!(
            put_scenario_run_trajectory,
            get_scenario_run_trajectory
        ))
        .routes(routes!(add_scenario_run_usage, get_scenario_run_usage))
}

/// A trajectory that was kept.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeptTrajectoryView {
    /// How many steps it has.
    steps: usize,
}

/// What an agent used up. What was not reported is null, never 0.
#[derive(Clone, Copy, Serialize, ToSchema)]
pub(crate) struct UsageView {
    /// Tokens that models read, those from caches too.
    input_tokens: u64,
    /// Those of them that came from a cache.
    cached_tokens: u64,
    /// Tokens that models wrote.
    output_tokens: u64,
    /// What that cost in US dollars; null if any of it has an unknown cost.
    cost_usd: Option<f64>,
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd,
        }
    }
}

/// What an agent used up in a task run.
#[derive(Serialize, ToSchema)]
pub(crate) struct TaskRunUsageView {
    /// All of it; null if nothing was reported.
    usage: Option<UsageView>,
    /// The same for each model.
    models: Vec<ModelUsageView>,
}

/// What a model used up.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelUsageView {
    /// Null where the report named none.
    model: Option<String>,
    usage: UsageView,
}

impl TaskRunUsageView {
    fn of(models: Vec<ModelUsage>) -> Self {
        let sum = Usage::sum(models.iter().map(|model| model.usage));
        let models = models.into_iter().map(|model| ModelUsageView {
            model: model.model,
            usage: model.usage.into(),
        });
        Self {
            usage: sum.map(UsageView::from),
            models: models.collect(),
        }
    }
}

/// Keeps what the agent did in a task run, as ATIF.
///
/// Sending it again replaces it. Credentials in it are masked.
#[utoipa::path(
    put,
    path = "/v1/task-runs/{id}/trajectory",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = Object,
    security(("run_token" = []), ("attempt_token" = [])),
    responses((status = 200, description = "It is kept", body = KeptTrajectoryView)),
)]
pub(crate) async fn put_task_run_trajectory(
    State(state): State<ApiState>,
    caller: TakerCaller,
    Path(id): Path<TaskRunId>,
    Json(document): Json<Value>,
) -> Result<Json<KeptTrajectoryView>, ApiError> {
    let found = state
        .engine()
        .task_run_details(caller.run_of(id)?, id)
        .await?;
    keep_trajectory(&state, &found.task_run, document).await
}

/// Shows what the agent did in a task run, as ATIF.
#[utoipa::path(
    get,
    path = "/v1/task-runs/{id}/trajectory",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    security(("run_token" = []), ("attempt_token" = [])),
    responses((status = 200, description = "The trajectory", body = Object)),
)]
pub(crate) async fn get_task_run_trajectory(
    State(state): State<ApiState>,
    caller: TakerCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<Value>, ApiError> {
    state
        .engine()
        .task_run_details(caller.run_of(id)?, id)
        .await?;
    trajectory(&state, id).await
}

/// Adds to what the agent used up in a task run: one report, or `{"reports": […]}`.
///
/// A report is `{input_tokens, output_tokens, cached_tokens?, cost_usd?, model?}`.
#[utoipa::path(
    post,
    path = "/v1/task-runs/{id}/usage",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = Object,
    security(("run_token" = []), ("attempt_token" = [])),
    responses((status = 200, description = "All that was used up so far", body = TaskRunUsageView)),
)]
pub(crate) async fn add_task_run_usage(
    State(state): State<ApiState>,
    caller: TakerCaller,
    Path(id): Path<TaskRunId>,
    Json(reports): Json<Value>,
) -> Result<Json<TaskRunUsageView>, ApiError> {
    let found = state
        .engine()
        .task_run_details(caller.run_of(id)?, id)
        .await?;
    add_usage(&state, &found.task_run, &reports).await
}

/// Shows what the agent used up in a task run.
#[utoipa::path(
    get,
    path = "/v1/task-runs/{id}/usage",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    security(("run_token" = []), ("attempt_token" = [])),
    responses((status = 200, description = "What was used up", body = TaskRunUsageView)),
)]
pub(crate) async fn get_task_run_usage(
    State(state): State<ApiState>,
    caller: TakerCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<TaskRunUsageView>, ApiError> {
    state
        .engine()
        .task_run_details(caller.run_of(id)?, id)
        .await?;
    usage(&state, id).await
}

/// Keeps what the agent did in one of the organization's task runs, as ATIF: for whoever ran the agent.
///
/// Sending it again replaces it. Credentials in it are masked.
#[utoipa::path(
    put,
    path = "/task-runs/{id}/trajectory",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = Object,
    security(("organization_key" = [])),
    responses((status = 200, description = "It is kept", body = KeptTrajectoryView)),
)]
pub(crate) async fn keep_task_run_trajectory(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(document): Json<Value>,
) -> Result<Json<KeptTrajectoryView>, ApiError> {
    let (task_run, _) = find_task_run(&state, &caller, id).await?;
    keep_trajectory(&state, &task_run, document).await
}

/// Adds to what the agent used up in one of the organization's task runs: one report, or `{"reports": […]}`, for whoever ran the agent.
///
/// A report is `{input_tokens, output_tokens, cached_tokens?, cost_usd?, model?}`.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/usage",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = Object,
    security(("organization_key" = [])),
    responses((status = 200, description = "All that was used up so far", body = TaskRunUsageView)),
)]
pub(crate) async fn report_task_run_usage(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(reports): Json<Value>,
) -> Result<Json<TaskRunUsageView>, ApiError> {
    let (task_run, _) = find_task_run(&state, &caller, id).await?;
    add_usage(&state, &task_run, &reports).await
}

/// Shows what the agent did in one of the organization's task runs, as ATIF.
#[utoipa::path(
    get,
    path = "/task-runs/{id}/trajectory",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The trajectory", body = Object)),
)]
pub(crate) async fn show_task_run_trajectory(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<Value>, ApiError> {
    find_task_run(&state, &caller, id).await?;
    trajectory(&state, id).await
}

/// Shows what the agent used up in one of the organization's task runs.
#[utoipa::path(
    get,
    path = "/task-runs/{id}/usage",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What was used up", body = TaskRunUsageView)),
)]
pub(crate) async fn show_task_run_usage(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<TaskRunUsageView>, ApiError> {
    find_task_run(&state, &caller, id).await?;
    usage(&state, id).await
}

/// Keeps what the agent did in a scenario run, as ATIF.
///
/// Sending it again replaces it. Credentials in it are masked.
#[utoipa::path(
    put,
    path = "/v1/scenarios/runs/{id}/trajectory",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    request_body = Object,
    security(("organization_key" = [])),
    responses((status = 200, description = "It is kept", body = KeptTrajectoryView)),
)]
pub(crate) async fn put_scenario_run_trajectory(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(document): Json<Value>,
) -> Result<Json<KeptTrajectoryView>, ApiError> {
    let found = state.engine().scenario_run_details(caller.id(), id).await?;
    keep_trajectory(&state, &found.task_run, document).await
}

/// Shows what the agent did in a scenario run, as ATIF.
#[utoipa::path(
    get,
    path = "/v1/scenarios/runs/{id}/trajectory",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The trajectory", body = Object)),
)]
pub(crate) async fn get_scenario_run_trajectory(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<Value>, ApiError> {
    state.engine().scenario_run_details(caller.id(), id).await?;
    trajectory(&state, id).await
}

/// Adds to what the agent used up in a scenario run: one report, or `{"reports": […]}`.
///
/// A report is `{input_tokens, output_tokens, cached_tokens?, cost_usd?, model?}`.
#[utoipa::path(
    post,
    path = "/v1/scenarios/runs/{id}/usage",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    request_body = Object,
    security(("organization_key" = [])),
    responses((status = 200, description = "All that was used up so far", body = TaskRunUsageView)),
)]
pub(crate) async fn add_scenario_run_usage(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(reports): Json<Value>,
) -> Result<Json<TaskRunUsageView>, ApiError> {
    let found = state.engine().scenario_run_details(caller.id(), id).await?;
    add_usage(&state, &found.task_run, &reports).await
}

/// Shows what the agent used up in a scenario run.
#[utoipa::path(
    get,
    path = "/v1/scenarios/runs/{id}/usage",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What was used up", body = TaskRunUsageView)),
)]
pub(crate) async fn get_scenario_run_usage(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<TaskRunUsageView>, ApiError> {
    state.engine().scenario_run_details(caller.id(), id).await?;
    usage(&state, id).await
}

/// Nothing was done in a task run that was never started.
fn check_started(task_run: &TaskRun) -> Result<(), ApiError> {
    match task_run.state {
        TaskRunState::Created => Err(EngineError::from(Refused::TaskRunNotStarted).into()),
        _ => Ok(()),
    }
}

fn refused(problems: Problems) -> ApiError {
    ApiError::validation(problems.into_vec())
}

async fn keep_trajectory(
    state: &ApiState,
    task_run: &TaskRun,
    document: Value,
) -> Result<Json<KeptTrajectoryView>, ApiError> {
    check_started(task_run)?;
    let trajectory = Trajectory::read(document).map_err(refused)?;
    let store = state.store();
    store.keep_trajectory(task_run.id, &trajectory).await?;
    genai::tell_trajectory(task_run.id, &trajectory.document, store.now());
    Ok(Json(KeptTrajectoryView {
        steps: trajectory.steps,
    }))
}

async fn trajectory(state: &ApiState, id: TaskRunId) -> Result<Json<Value>, ApiError> {
    let found = state.store().trajectory(id).await?;
    let none = || ApiError::not_found("the agent of this task run sent no trajectory");
    found.map(Json).ok_or_else(none)
}

async fn add_usage(
    state: &ApiState,
    task_run: &TaskRun,
    reports: &Value,
) -> Result<Json<TaskRunUsageView>, ApiError> {
    check_started(task_run)?;
    let reports = read_reports(reports, state.prices())?;
    let store = state.store();
    store.add_usage(task_run.id, &reports).await?;
    if telemetry::tracer_of_collector().is_some() && store.trajectory(task_run.id).await?.is_none()
    {
        genai::tell_usage(task_run.id, &reports, store.now());
    }
    usage(state, task_run.id).await
}

/// One report, or `{"reports": […]}`.
fn read_reports(body: &Value, prices: &PriceTable) -> Result<Vec<ModelUsage>, ApiError> {
    let Some(several) = body.get(REPORTS) else {
        return ModelUsage::read(body, prices).map_err(refused);
    };
    let members = body.as_object().map_or(0, serde_json::Map::len);
    if members > 1 || !several.is_array() {
        let message = "must be a list, and the only member";
        return Err(ApiError::field(REPORTS, message));
    }
    let below = |problems: Problems| {
        let problems = problems.into_vec().into_iter();
        ApiError::validation(problems.map(|problem| problem.below(REPORTS)).collect())
    };
    ModelUsage::read(several, prices).map_err(below)
}

async fn usage(state: &ApiState, id: TaskRunId) -> Result<Json<TaskRunUsageView>, ApiError> {
    let models = state.store().usage_of_task_run(id).await?;
    Ok(Json(TaskRunUsageView::of(models)))
}
