//! `/task-runs` and `/criterion-runs`: what was done and found, as the organization sees it.

use axum::extract::State;
use proctor_core::{
    id::{
        Dialect,
        kinds::{CriterionRunId, CriterionRunKind, RunId, TaskRunId, TaskRunKind},
    },
    refused::{Refused, Step},
    run::Run,
    task_run::{Cause, TaskRun},
};
use proctor_engine::runs::Rubrics;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    internal_runs::{find as find_run, findings, sight},
    page::{VerialList, VerialPage, VerialPageQuery},
    public_tasks::{CompletedView, StartedView, complete, start},
    run_views::{Axes, CheckView, CriterionRunView, CriticalMissView, Outcome, Sight, TaskRunView},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    rubrics,
    state::ApiState,
};

/// The caller's task run of this id, with its run.
pub(super) async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: TaskRunId,
) -> Result<(TaskRun, Run), ApiError> {
    let unknown = || ApiError::not_found(format!("no task run '{id}'"));
    let task_run = state.store().task_run(id).await?.ok_or_else(unknown)?.value;
    let run = task_run.run.ok_or_else(unknown)?;
    let run = find_run(state, caller, run).await.map_err(|_| unknown())?;
    Ok((task_run, run))
}

/// Which run's.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfRun {
    /// Those of this run.
    #[param(value_type = String, required)]
    benchmark_run_id: Option<String>,
}

/// Lists the task runs of a run, in the order of the tasks.
#[utoipa::path(
    get,
    path = "/task-runs",
    tag = "Verial: runs",
    params(OfRun, VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The task runs", body = VerialList<TaskRunView>)),
)]
pub(crate) async fn list_task_runs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<TaskRunKind, OfRun>,
) -> Result<Json<VerialList<TaskRunView>>, ApiError> {
    let text = &page.1.benchmark_run_id;
    let text = text
        .as_deref()
        .ok_or_else(|| ApiError::field("benchmark_run_id", "is required"))?;
    let id = RunId::from_wire(text, Dialect::Verial)
        .map_err(|bad| ApiError::field("benchmark_run_id", bad.to_string()))?;
    find_run(&state, &caller, id).await?;
    let details = state.engine().run_details(id).await?;
    let sight = sight(&state, caller.id(), &details.run)
        .await?
        .ok_or_else(|| ApiError::not_found(format!("no benchmark run '{id}'")))?;
    let listed = page.part_of(details.task_runs, |one| one.id);
    let mut views = Vec::with_capacity(listed.items.len());
    for task_run in &listed.items {
        let (task, _) = details.prepared.task(task_run.task)?;
        let found = findings(&state, task_run.id, sight).await?;
        views.push(TaskRunView::of(task_run, task, &found, sight));
    }
    let mut views = views.into_iter();
    Ok(page.answer(
        listed,
        |one| one.id,
        |_| views.next().expect("there is one view for each task run"),
    ))
}

/// Shows a task run with its frozen task and what was found.
#[utoipa::path(
    get,
    path = "/task-runs/{id}",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The task run", body = TaskRunView)),
)]
pub(crate) async fn get_task_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<TaskRunView>, ApiError> {
    let (_, run) = find(&state, &caller, id).await?;
    show(&state, &caller, &run, id).await.map(Json)
}

async fn show(
    state: &ApiState,
    caller: &OrganizationCaller,
    run: &Run,
    id: TaskRunId,
) -> Result<TaskRunView, ApiError> {
    let details = state.engine().task_run_details(run.id, id).await?;
    let task_run = &details.task_run;
    let (task, _) = details.prepared.task(task_run.task)?;
    let sight = sight(state, caller.id(), run)
        .await?
        .ok_or_else(|| ApiError::not_found(format!("no task run '{id}'")))?;
    let found = findings(state, id, sight).await?;
    Ok(TaskRunView::of(task_run, task, &found, sight))
}

/// Starts a task run as its agent would.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/start",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The task", body = StartedView)),
)]
pub(crate) async fn start_task_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<StartedView>, ApiError> {
    let (_, run) = find(&state, &caller, id).await?;
    start(&state, run.id, id).await.map(Json)
}

/// Completes a task run as its agent would.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/complete",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The result", body = CompletedView)),
)]
pub(crate) async fn complete_task_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<CompletedView>, ApiError> {
    let (_, run) = find(&state, &caller, id).await?;
    let open = sight(&state, caller.id(), &run).await? == Some(Sight::Owner);
    complete(&state, run.id, id, open).await.map(Json)
}

/// Stops a task run; its run goes on.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/cancel",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The task run as it is now", body = TaskRunView)),
)]
pub(crate) async fn cancel_task_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<TaskRunView>, ApiError> {
    let (_, run) = find(&state, &caller, id).await?;
    if let Step::Unchanged(over) = state.engine().cancel_task(run.id, id).await?
        && over.cause() != Some(Cause::Cancelled)
    {
        // In this dialect only what was stopped before can be stopped again.
        return Err(Refused::TaskRunOver(over.status()).into());
    }
    show(&state, &caller, &run, id).await.map(Json)
}

/// Where task runs are scored again; in a devbox it takes as long as their scorers.
pub(crate) const RESCORE: &str = "/task-runs/{id}/rescore";

/// By which criteria to score again.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct RescoreBody {
    /// `own` (those of the frozen definition) or `draft` (those of the draft as it stands).
    #[schema(value_type = String, default = "own")]
    criteria: Option<String>,
    /// Whose answers about free text count: `recorded` (those of the first time) or `anew` (a judge is asked again).
    #[schema(value_type = String, default = "recorded")]
    judge: Option<String>,
}

/// What scoring again found. The record is as it was.
#[derive(Serialize, ToSchema)]
pub(crate) struct RescoredView {
    #[schema(value_type = String)]
    task_run_id: TaskRunId,
    /// `own` or `draft`.
    criteria: &'static str,
    /// In which way scorers were run, if it was done in a devbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    scoring_mode: Option<String>,
    verdict: Option<&'static str>,
    score: Option<f64>,
    #[schema(value_type = Option<Object>)]
    axes: Option<Axes>,
    checks: Vec<CheckView>,
    /// The critical criteria that were missed this time; absent where none was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    critical_misses: Vec<CriticalMissView>,
    /// The score on record; null for a task run that has none.
    original_score: Option<f64>,
}

/// Scores a finished task run again, without touching its record.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/rescore",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = RescoreBody,
    security(("organization_key" = [])),
    responses((status = 200, description = "What was found this time", body = RescoredView)),
)]
pub(crate) async fn rescore_task_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(body): Json<RescoreBody>,
) -> Result<Json<RescoredView>, ApiError> {
    let by = rubrics::read(body.criteria.as_deref())?;
    let judges = rubrics::read_judges(body.judge.as_deref())?;
    let (_, run) = find(&state, &caller, id).await?;
    match (sight(&state, caller.id(), &run).await?, by) {
        (Some(Sight::Owner), _) | (Some(Sight::Taker), Rubrics::Own) => {}
        // What its owner is drafting is nobody else's business.
        (Some(Sight::Taker), Rubrics::Draft) | (Some(Sight::ScoredTaker) | None, _) => {
            return Err(ApiError::not_found(format!("no task run '{id}'")));
        }
    }
    let again = state.engine().rescore(id, by, judges).await?;
    let result = Outcome::of(&again.card);
    Ok(Json(RescoredView {
        task_run_id: id,
        criteria: rubrics::word(by),
        scoring_mode: again.in_box.as_ref().map(|how| how.mode.clone()),
        verdict: result.verdict,
        score: result.score,
        axes: result.axes,
        checks: again
            .criterion_runs
            .iter()
            .map(|found| CheckView::of(found, &again.task.criteria, true))
            .collect(),
        critical_misses: Outcome::critical_misses(Some(&again.card), true),
        original_score: again.original.map(|card| card.score.value()),
    }))
}

/// Which task run's.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfTaskRun {
    /// Those of this task run.
    #[param(value_type = String, required)]
    task_run_id: Option<String>,
}

/// Lists what was found in a task run, in the order of the criteria.
#[utoipa::path(
    get,
    path = "/criterion-runs",
    tag = "Verial: runs",
    params(OfTaskRun, VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The criterion runs", body = VerialList<CriterionRunView>),
    ),
)]
pub(crate) async fn list_criterion_runs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<CriterionRunKind, OfTaskRun>,
) -> Result<Json<VerialList<CriterionRunView>>, ApiError> {
    let text = &page.1.task_run_id;
    let text = text
        .as_deref()
        .ok_or_else(|| ApiError::field("task_run_id", "is required"))?;
    let id = TaskRunId::from_wire(text, Dialect::Verial)
        .map_err(|bad| ApiError::field("task_run_id", bad.to_string()))?;
    readable(&state, &caller, id)
        .await?
        .ok_or_else(|| ApiError::not_found(format!("no task run '{id}'")))?;
    let found = state.store().criterion_runs(id).await?;
    let listed = page.part_of(found, |one| one.id);
    Ok(page.answer(listed, |one| one.id, CriterionRunView::of))
}

/// Shows the authoritative record of a criterion that was checked.
#[utoipa::path(
    get,
    path = "/criterion-runs/{id}",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The criterion run's id")),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The record, always with details and evidence",
            body = CriterionRunView,
        ),
    ),
)]
pub(crate) async fn get_criterion_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<CriterionRunId>,
) -> Result<Json<CriterionRunView>, ApiError> {
    let unknown = || ApiError::not_found(format!("no criterion run '{id}'"));
    let found = state.store().criterion_run(id).await?.ok_or_else(unknown)?;
    readable(&state, &caller, found.task_run)
        .await?
        .ok_or_else(unknown)?;
    Ok(Json(CriterionRunView::of(found)))
}

/// The run of a task run, if the caller may see what was found in it.
pub(super) async fn readable(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: TaskRunId,
) -> Result<Option<Run>, ApiError> {
    let Some(task_run) = state.store().task_run(id).await? else {
        return Ok(None);
    };
    let Some(run) = task_run.value.run else {
        return Ok(None);
    };
    let Some(run) = state.store().run(run).await? else {
        return Ok(None);
    };
    let sight = sight(state, caller.id(), &run.value).await?;
    let may = matches!(sight, Some(Sight::Owner | Sight::Taker));
    Ok(may.then_some(run.value))
}
