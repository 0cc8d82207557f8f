//! `/v1/scenarios/start_run` and `/v1/scenarios/runs`: scenarios being taken.

use std::collections::BTreeMap;

use axum::{extract::State, response::Response};
use proctor_core::id::kinds::{RunKind, TaskId, TaskKind, TaskRunId, TaskRunKind};
use proctor_engine::runs::NewScenarioRun;
use proctor_store::run_lists::TaskRunFilter;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    logs,
    view::{SCENARIO_STATES, ScenarioRunListView, ScenarioRunView},
};
use crate::{
    auth::{OrganizationCaller, ScenarioRunCaller},
    error::ApiError,
    extract::{Json, Path, Query, texts},
    runloop::{
        ids,
        labels::LabelQuery,
        lists::{Labelled, SoughtQuery, several},
        page::{RunloopPage, RunloopPageQuery},
        profile::{RunProfileBody, particulars},
        scenarios,
    },
    state::ApiState,
};

/// Which scenario is to be taken, and how.
#[derive(Deserialize, ToSchema)]
pub(crate) struct StartScenarioRunParameters {
    #[schema(value_type = String, required)]
    scenario_id: Option<String>,
    /// The benchmark run that it belongs to.
    benchmark_run_id: Option<String>,
    run_name: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    #[serde(rename = "runProfile")]
    run_profile: Option<RunProfileBody>,
}

/// Which scenario runs are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScenarioRunQuery {
    /// Only those of this scenario.
    scenario_id: Option<String>,
    /// Only those of this benchmark run.
    benchmark_run_id: Option<String>,
    /// Only those in one of these states, separated by commas.
    state: Option<String>,
}

impl ScenarioRunQuery {
    fn into_filter(self, sought: SoughtQuery) -> Result<TaskRunFilter, ApiError> {
        let run = self.benchmark_run_id.as_deref();
        let scenario = self.scenario_id.as_deref();
        Ok(TaskRunFilter {
            run: ids::read_optional::<RunKind>("benchmark_run_id", run)?,
            task: ids::read_optional::<TaskKind>("scenario_id", scenario)?,
            statuses: several("state", self.state.as_deref(), &SCENARIO_STATES)?,
            sought: sought.into_sought(),
        })
    }
}

/// The caller's scenario run as it stands.
async fn view(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: TaskRunId,
) -> Result<Json<ScenarioRunView>, ApiError> {
    let run = state.engine().scenario_run(caller.id(), id).await?;
    Ok(Json(ScenarioRunView::of(run)))
}

/// Starts a scenario.
///
/// Its devbox is asked for and comes to be in the background.
#[utoipa::path(
    post,
    path = "/v1/scenarios/start_run",
    tag = "Runloop: scenario runs",
    request_body = StartScenarioRunParameters,
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The scenario run, with the id of its devbox",
            body = ScenarioRunView,
        ),
    ),
)]
pub(crate) async fn start_scenario_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<StartScenarioRunParameters>,
) -> Result<Json<ScenarioRunView>, ApiError> {
    let scenario = body.scenario_id.as_deref();
    let scenario = scenario.ok_or_else(|| ApiError::field("scenario_id", "is required"))?;
    let run = body.benchmark_run_id.as_deref();
    let new = NewScenarioRun {
        organization: caller.id(),
        scenario: ids::read("scenario_id", scenario)?,
        run: ids::read_optional::<RunKind>("benchmark_run_id", run)?,
        particulars: particulars(body.run_name, body.metadata, body.run_profile)?,
    };
    let task_run = state.engine().start_scenario(new).await?;
    let run = state.engine().with_findings(task_run).await?;
    Ok(Json(ScenarioRunView::of(run)))
}

/// Lists scenario runs.
#[utoipa::path(
    get,
    path = "/v1/scenarios/runs",
    tag = "Runloop: scenario runs",
    params(ScenarioRunQuery, SoughtQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The scenario runs, newest first", body = ScenarioRunListView),
    ),
)]
pub(crate) async fn list_scenario_runs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<ScenarioRunQuery>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<TaskRunKind>,
) -> Result<Json<ScenarioRunListView>, ApiError> {
    let filter = query.into_filter(sought)?;
    let page = state
        .engine()
        .scenario_runs(caller.id(), &filter, page)
        .await?;
    Ok(Json(ScenarioRunListView::of(page)))
}

/// Lists the runs of a scenario.
#[utoipa::path(
    get,
    path = "/v1/scenarios/{id}/runs",
    tag = "Runloop: scenario runs",
    params(
        ("id" = String, Path, description = "The scenario's id"),
        ScenarioRunQuery,
        SoughtQuery,
        LabelQuery,
        RunloopPageQuery,
    ),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The scenario runs, newest first", body = ScenarioRunListView),
    ),
)]
pub(crate) async fn list_runs_of_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
    Query(query): Query<ScenarioRunQuery>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<TaskRunKind>,
) -> Result<Json<ScenarioRunListView>, ApiError> {
    scenarios::find(&state, &caller, id).await?;
    let filter = TaskRunFilter {
        task: Some(id),
        ..query.into_filter(sought)?
    };
    let page = state
        .engine()
        .scenario_runs(caller.id(), &filter, page)
        .await?;
    Ok(Json(ScenarioRunListView::of(page)))
}

/// Shows a scenario run.
#[utoipa::path(
    get,
    path = "/v1/scenarios/runs/{id}",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario run", body = ScenarioRunView)),
)]
pub(crate) async fn get_scenario_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<ScenarioRunView>, ApiError> {
    view(&state, &caller, id).await
}

/// Begins to score a scenario run.
///
/// The answer comes at once; the state is `scored` when the scorers are done. What is scored can be scored again.
#[utoipa::path(
    post,
    path = "/v1/scenarios/runs/{id}/score",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (status = 200, description = "The scenario run, being scored", body = ScenarioRunView),
    ),
)]
pub(crate) async fn score_scenario_run(
    State(state): State<ApiState>,
    caller: ScenarioRunCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<ScenarioRunView>, ApiError> {
    let run = state.engine().score_scenario_run(caller.id(), id).await?;
    Ok(Json(ScenarioRunView::for_caller(run, caller.shows_scorers)))
}

/// Completes a scenario run with the score it has, and shuts its devbox down.
#[utoipa::path(
    post,
    path = "/v1/scenarios/runs/{id}/complete",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    security(("organization_key" = []), ("attempt_token" = [])),
    responses((status = 200, description = "The scenario run", body = ScenarioRunView)),
)]
pub(crate) async fn complete_scenario_run(
    State(state): State<ApiState>,
    caller: ScenarioRunCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<ScenarioRunView>, ApiError> {
    let run = state.engine().complete_scenario_run(caller.id(), id);
    let run = run.await?;
    Ok(Json(ScenarioRunView::for_caller(run, caller.shows_scorers)))
}

/// Cancels a scenario run, and shuts its devbox down.
#[utoipa::path(
    post,
    path = "/v1/scenarios/runs/{id}/cancel",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The scenario run", body = ScenarioRunView)),
)]
pub(crate) async fn cancel_scenario_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<ScenarioRunView>, ApiError> {
    let run = state.engine().cancel_scenario_run(caller.id(), id);
    Ok(Json(ScenarioRunView::of(run.await?)))
}

/// Downloads the logs of a scenario run.
#[utoipa::path(
    post,
    path = "/v1/scenarios/runs/{id}/download_logs",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The logs as files",
            body = Vec<u8>,
            content_type = "application/zip",
        ),
    ),
)]
pub(crate) async fn download_scenario_run_logs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Response, ApiError> {
    let run = state.engine().scenario_run(caller.id(), id).await?;
    logs::download(
        &state,
        caller.id(),
        vec![run.task_run],
        "scenario_run_logs.zip",
    )
}
