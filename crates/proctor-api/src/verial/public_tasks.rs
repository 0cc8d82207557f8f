//! `/v1/task-runs`: how an agent starts and completes a task.

use std::collections::BTreeMap;

use axum::extract::State;
use proctor_core::{
    id::kinds::{RunId, TaskId, TaskRunId},
    time::Timestamp,
};
use proctor_engine::runs::StartedTask;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    public_runs::prefix,
    run_views::{
        Axes, CheckView, CriticalMissView, Outcome, endpoints, phase, status_of_run,
        status_of_task_run,
    },
};
use crate::{
    auth::TakerCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

/// A task run that is at work.
#[derive(Serialize, ToSchema)]
pub(crate) struct StartedView {
    #[schema(value_type = String)]
    task_run_id: TaskRunId,
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    #[schema(value_type = String)]
    task_id: TaskId,
    name: String,
    phase: &'static str,
    status: &'static str,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline_at: Option<Timestamp>,
    /// What is to be done, in the author's words.
    task_item: Value,
    endpoints: BTreeMap<&'static str, String>,
    complete_url: String,
}

/// Starts a task: its scenario happens, and its world is handed over.
///
/// Starting it again answers the same and does nothing.
#[utoipa::path(
    post,
    path = "/v1/task-runs/{id}/start",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    security(("run_token" = []), ("attempt_token" = [])),
    responses((status = 200, description = "The task", body = StartedView)),
)]
pub(crate) async fn start_task(
    State(state): State<ApiState>,
    caller: TakerCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<StartedView>, ApiError> {
    start(&state, caller.run_of(id)?, id).await.map(Json)
}

/// Starts a task and hands it over.
pub(super) async fn start(
    state: &ApiState,
    run: RunId,
    id: TaskRunId,
) -> Result<StartedView, ApiError> {
    started_view(&state.engine().start_task(run, id).await?)
}

/// A task that is at work, as whoever takes it sees it.
pub(super) fn started_view(started: &StartedTask) -> Result<StartedView, ApiError> {
    let task_run = &started.task_run;
    let task = started.task()?;
    Ok(StartedView {
        task_run_id: task_run.id,
        benchmark_run_id: started.run.id,
        task_id: task_run.task,
        name: task.name.clone(),
        phase: phase(true, false),
        status: status_of_task_run(task_run),
        started_at: task_run.started_at(),
        deadline_at: task_run.deadline(),
        task_item: task.brief.clone(),
        endpoints: endpoints(
            started.prepared.blueprint().map(|blueprint| &**blueprint),
            &prefix(started.run.id),
        ),
        complete_url: format!("/v1/task-runs/{}/complete", task_run.id),
    })
}

/// The result of a task.
#[derive(Serialize, ToSchema)]
pub(crate) struct CompletedView {
    #[schema(value_type = String)]
    task_run_id: TaskRunId,
    phase: &'static str,
    status: &'static str,
    verdict: Option<&'static str>,
    score: Option<f64>,
    #[schema(value_type = Option<Object>)]
    axes: Option<Axes>,
    checks: Vec<CheckView>,
    /// The critical criteria that were missed, which make the verdict `fail`; absent where none was, and in a scored run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    critical_misses: Vec<CriticalMissView>,
    /// Only when this ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmark_run: Option<EndedRunView>,
}

/// The result of a run that has just ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct EndedRunView {
    phase: &'static str,
    status: &'static str,
    score: Option<f64>,
    verdict: Option<&'static str>,
}

/// Completes a task: its world is frozen and judged.
///
/// Completing it again answers the same.
#[utoipa::path(
    post,
    path = "/v1/task-runs/{id}/complete",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    security(("run_token" = []), ("attempt_token" = [])),
    responses((status = 200, description = "The result", body = CompletedView)),
)]
pub(crate) async fn complete_task(
    State(state): State<ApiState>,
    caller: TakerCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<CompletedView>, ApiError> {
    complete(&state, caller.run_of(id)?, id, false)
        .await
        .map(Json)
}

/// Completes a task and shows its result; `openly` also what a scored run hides from its taker.
pub(crate) async fn complete(
    state: &ApiState,
    run: RunId,
    id: TaskRunId,
    openly: bool,
) -> Result<CompletedView, ApiError> {
    let completed = state.engine().complete_task(run, id).await?;
    let (task, _) = completed.prepared.task(completed.task_run.task)?;
    let result = Outcome::of_task_run(&completed.task_run);
    let open = openly || !completed.run.scored;
    let of_run = Outcome::of_run(&completed.run);
    Ok(CompletedView {
        task_run_id: id,
        phase: phase(true, completed.task_run.is_over()),
        status: status_of_task_run(&completed.task_run),
        verdict: result.verdict,
        score: result.score,
        axes: result.axes,
        checks: completed
            .criterion_runs
            .iter()
            .map(|found| CheckView::of(found, &task.criteria, open))
            .collect(),
        critical_misses: Outcome::critical_misses(completed.task_run.card(), open),
        benchmark_run: completed.ended_run.then(|| EndedRunView {
            phase: phase(true, completed.run.is_over()),
            status: status_of_run(&completed.run),
            score: of_run.score,
            verdict: of_run.verdict,
        }),
    })
}
