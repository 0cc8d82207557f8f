//! `/v1/benchmarks/start_run` and `/v1/benchmark_runs`: benchmarks being taken. The same operations are also below
//! `/v1/benchmarks/runs`, where older clients look for them.

use std::collections::BTreeMap;

use axum::{extract::State, response::Response};
use proctor_core::{
    id::kinds::{BenchmarkId, BenchmarkKind, RunId, RunKind, TaskRunKind},
    refused::Refused,
    run::Run,
    task_run::TaskRun,
};
use proctor_engine::{EngineError, runs::NewBenchmarkRun};
use proctor_store::{
    page::{PageRequest, PageStart},
    run_lists::{RunFilter, TaskRunFilter},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    logs,
    view::{
        BenchmarkRunListView, BenchmarkRunView, RUN_STATES, SCENARIO_STATES, ScenarioRunListView,
    },
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path, Query, texts},
    runloop::{
        benchmarks, ids,
        labels::LabelQuery,
        lists::{Labelled, SoughtQuery, several},
        page::{RunloopPage, RunloopPageQuery},
        profile::{RunProfileBody, particulars},
    },
    state::ApiState,
};

/// Which benchmark is to be taken, and how.
#[derive(Deserialize, ToSchema)]
pub(crate) struct StartBenchmarkRunParameters {
    #[schema(value_type = String, required)]
    benchmark_id: Option<String>,
    run_name: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    #[serde(rename = "runProfile")]
    run_profile: Option<RunProfileBody>,
}

/// Which benchmark runs are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct BenchmarkRunQuery {
    /// Only those of this benchmark.
    benchmark_id: Option<String>,
    /// Only those in one of these states, separated by commas.
    state: Option<String>,
}

/// Which scenario runs of a benchmark run are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfStateQuery {
    /// Only those in one of these states, separated by commas.
    state: Option<String>,
}

impl BenchmarkRunQuery {
    fn into_filter(self, sought: SoughtQuery) -> Result<RunFilter, ApiError> {
        let benchmark = self.benchmark_id.as_deref();
        Ok(RunFilter {
            benchmark: ids::read_optional::<BenchmarkKind>("benchmark_id", benchmark)?,
            statuses: several("state", self.state.as_deref(), &RUN_STATES)?,
            sought: sought.into_sought(),
            ..RunFilter::default()
        })
    }
}

impl OfStateQuery {
    fn into_filter(self, run: RunId, sought: SoughtQuery) -> Result<TaskRunFilter, ApiError> {
        Ok(TaskRunFilter {
            run: Some(run),
            task: None,
            statuses: several("state", self.state.as_deref(), &SCENARIO_STATES)?,
            sought: sought.into_sought(),
        })
    }
}

/// Starts a benchmark.
///
/// The run takes the benchmark as it is now; scenarios are started one by one and join it.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/start_run",
    tag = "Runloop: benchmark runs",
    request_body = StartBenchmarkRunParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark run", body = BenchmarkRunView)),
)]
pub(crate) async fn start_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<StartBenchmarkRunParameters>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    let benchmark = body.benchmark_id.as_deref();
    let benchmark = benchmark.ok_or_else(|| ApiError::field("benchmark_id", "is required"))?;
    let new = NewBenchmarkRun {
        organization: caller.id(),
        benchmark: ids::read("benchmark_id", benchmark)?,
        particulars: particulars(body.run_name, body.metadata, body.run_profile)?,
    };
    let run = state.engine().start_benchmark_run(new).await?;
    Ok(Json(BenchmarkRunView::of(run)))
}

/// Lists the runs of a benchmark.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/{id}/runs",
    tag = "Runloop: benchmark runs",
    params(
        ("id" = String, Path, description = "The benchmark's id"),
        SoughtQuery,
        LabelQuery,
        RunloopPageQuery,
    ),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The caller's runs of it, newest first",
            body = BenchmarkRunListView,
        ),
    ),
)]
pub(crate) async fn list_runs_of_benchmark(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<RunKind>,
) -> Result<Json<BenchmarkRunListView>, ApiError> {
    benchmarks::find(&state, &caller, id).await?;
    let filter = RunFilter {
        benchmark: Some(id),
        sought: sought.into_sought(),
        ..RunFilter::default()
    };
    let page = state
        .engine()
        .benchmark_runs(caller.id(), &filter, page)
        .await?;
    Ok(Json(BenchmarkRunListView::of(page)))
}

async fn list(
    state: &ApiState,
    caller: &OrganizationCaller,
    query: BenchmarkRunQuery,
    sought: SoughtQuery,
    page: PageRequest<RunKind>,
) -> Result<Json<BenchmarkRunListView>, ApiError> {
    let filter = query.into_filter(sought)?;
    let page = state
        .engine()
        .benchmark_runs(caller.id(), &filter, page)
        .await?;
    Ok(Json(BenchmarkRunListView::of(page)))
}

async fn view(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    let run = state.engine().benchmark_run(caller.id(), id).await?;
    Ok(Json(BenchmarkRunView::of(run)))
}

async fn complete(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    state.engine().benchmark_run(caller.id(), id).await?;
    let completed = state.engine().complete_run(id).await;
    as_it_is(state, caller, id, completed).await
}

async fn cancel(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    state.engine().benchmark_run(caller.id(), id).await?;
    let cancelled = state.engine().cancel_run(id).await;
    as_it_is(state, caller, id, cancelled).await
}

/// A run after it was ended. In this dialect ending what is over changes nothing.
async fn as_it_is(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
    ended: Result<Run, EngineError>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    match ended {
        Ok(run) => Ok(Json(BenchmarkRunView::of(run))),
        Err(EngineError::Refused(Refused::RunOver(_))) => view(state, caller, id).await,
        Err(error) => Err(error.into()),
    }
}

async fn scenario_runs(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
    filter: TaskRunFilter,
    page: PageRequest<TaskRunKind>,
) -> Result<Json<ScenarioRunListView>, ApiError> {
    state.engine().benchmark_run(caller.id(), id).await?;
    let page = state
        .engine()
        .scenario_runs(caller.id(), &filter, page)
        .await?;
    Ok(Json(ScenarioRunListView::of(page)))
}

async fn download(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
) -> Result<Response, ApiError> {
    state.engine().benchmark_run(caller.id(), id).await?;
    let filter = TaskRunFilter {
        run: Some(id),
        ..TaskRunFilter::default()
    };
    let all = PageRequest {
        limit: u32::MAX - 1,
        from: PageStart::Newest,
        count: false,
    };
    let page = state
        .store()
        .find_task_runs(caller.id(), &filter, all)
        .await?;
    let task_runs: Vec<TaskRun> = page.items;
    logs::download(state, caller.id(), task_runs, "benchmark_run_logs.zip")
}

/// Lists benchmark runs.
#[utoipa::path(
    get,
    path = "/v1/benchmark_runs",
    tag = "Runloop: benchmark runs",
    params(BenchmarkRunQuery, SoughtQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The benchmark runs, newest first",
            body = BenchmarkRunListView,
        ),
    ),
)]
pub(crate) async fn list_runloop_benchmark_runs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<BenchmarkRunQuery>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<RunKind>,
) -> Result<Json<BenchmarkRunListView>, ApiError> {
    list(&state, &caller, query, sought, page).await
}

/// Lists benchmark runs, for older clients.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/runs",
    tag = "Runloop: benchmark runs",
    params(BenchmarkRunQuery, SoughtQuery, LabelQuery, RunloopPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The benchmark runs, newest first",
            body = BenchmarkRunListView,
        ),
    ),
)]
#[deprecated = "the path is kept for older clients"]
pub(crate) async fn list_benchmark_runs_deprecated(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Query(query): Query<BenchmarkRunQuery>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<RunKind>,
) -> Result<Json<BenchmarkRunListView>, ApiError> {
    list(&state, &caller, query, sought, page).await
}

/// Shows a benchmark run.
#[utoipa::path(
    get,
    path = "/v1/benchmark_runs/{id}",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark run", body = BenchmarkRunView)),
)]
pub(crate) async fn get_runloop_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    view(&state, &caller, id).await
}

/// Shows a benchmark run, for older clients.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/runs/{id}",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark run", body = BenchmarkRunView)),
)]
#[deprecated = "the path is kept for older clients"]
pub(crate) async fn get_benchmark_run_deprecated(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    view(&state, &caller, id).await
}

/// Completes a benchmark run.
///
/// What was scored keeps its score, and what was not counts zero.
#[utoipa::path(
    post,
    path = "/v1/benchmark_runs/{id}/complete",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark run", body = BenchmarkRunView)),
)]
pub(crate) async fn complete_runloop_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    complete(&state, &caller, id).await
}

/// Completes a benchmark run, for older clients.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/runs/{id}/complete",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark run", body = BenchmarkRunView)),
)]
#[deprecated = "the path is kept for older clients"]
pub(crate) async fn complete_benchmark_run_deprecated(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    complete(&state, &caller, id).await
}

/// Cancels a benchmark run with its scenario runs and their devboxes; results are kept.
#[utoipa::path(
    post,
    path = "/v1/benchmark_runs/{id}/cancel",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark run", body = BenchmarkRunView)),
)]
pub(crate) async fn cancel_runloop_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    cancel(&state, &caller, id).await
}

/// Cancels a benchmark run with its scenario runs and their devboxes; results are kept, for older clients.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/runs/{id}/cancel",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The benchmark run", body = BenchmarkRunView)),
)]
#[deprecated = "the path is kept for older clients"]
pub(crate) async fn cancel_benchmark_run_deprecated(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<BenchmarkRunView>, ApiError> {
    cancel(&state, &caller, id).await
}

/// Lists the scenario runs of a benchmark run.
#[utoipa::path(
    get,
    path = "/v1/benchmark_runs/{id}/scenario_runs",
    tag = "Runloop: benchmark runs",
    params(
        ("id" = String, Path, description = "The benchmark run's id"),
        OfStateQuery,
        SoughtQuery,
        LabelQuery,
        RunloopPageQuery,
    ),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The scenario runs, newest first", body = ScenarioRunListView),
    ),
)]
pub(crate) async fn list_scenario_runs_of_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
    Query(query): Query<OfStateQuery>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<TaskRunKind>,
) -> Result<Json<ScenarioRunListView>, ApiError> {
    scenario_runs(&state, &caller, id, query.into_filter(id, sought)?, page).await
}

/// Lists the scenario runs of a benchmark run, for older clients.
#[utoipa::path(
    get,
    path = "/v1/benchmarks/runs/{id}/scenario_runs",
    tag = "Runloop: benchmark runs",
    params(
        ("id" = String, Path, description = "The benchmark run's id"),
        OfStateQuery,
        SoughtQuery,
        LabelQuery,
        RunloopPageQuery,
    ),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The scenario runs, newest first", body = ScenarioRunListView),
    ),
)]
#[deprecated = "the path is kept for older clients"]
pub(crate) async fn list_scenario_runs_of_benchmark_run_deprecated(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
    Query(query): Query<OfStateQuery>,
    Labelled(sought): Labelled,
    RunloopPage(page): RunloopPage<TaskRunKind>,
) -> Result<Json<ScenarioRunListView>, ApiError> {
    scenario_runs(&state, &caller, id, query.into_filter(id, sought)?, page).await
}

/// Downloads the logs of all scenario runs of a benchmark run.
#[utoipa::path(
    post,
    path = "/v1/benchmark_runs/{id}/download_logs",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
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
pub(crate) async fn download_benchmark_run_logs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Response, ApiError> {
    download(&state, &caller, id).await
}

/// Downloads the logs of all scenario runs of a benchmark run, for older clients.
#[utoipa::path(
    post,
    path = "/v1/benchmarks/runs/{id}/download_logs",
    tag = "Runloop: benchmark runs",
    params(("id" = String, Path, description = "The benchmark run's id")),
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
#[deprecated = "the path is kept for older clients"]
pub(crate) async fn download_benchmark_run_logs_deprecated(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Response, ApiError> {
    download(&state, &caller, id).await
}
