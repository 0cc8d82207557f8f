//! `/v1/benchmark-runs`: how an agent takes a benchmark.

use std::collections::BTreeMap;

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    definition::{BenchmarkVersion, Slug},
    id::kinds::{OrganizationId, RunId, TaskId, TaskRunId},
    run::{Pinned, Run},
    time::Timestamp,
};
use proctor_engine::{
    EngineError,
    runs::{NewRun, Taken},
};
use proctor_store::credentials::Who;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::run_views::{
    Axes, BenchmarkRef, Outcome, RunSandboxView, TaskRunLine, endpoints, phase, run_sandboxes,
    status_of_run,
};
use crate::{
    auth::{Caller, SolverCaller},
    error::ApiError,
    extract::{Checks, Json, Path, shortened},
    results::SummaryView,
    runloop::{check_own_labels, labels},
    state::ApiState,
};

pub(super) const AGENT: usize = 200;

/// Which benchmark is to be taken.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewRunBody {
    /// `slug@version`.
    #[schema(value_type = String, required, example = "fax-referral@1")]
    benchmark: Option<String>,
    /// Whether only scores are shown, not what explains them.
    #[serde(default)]
    #[schema(value_type = bool, default = false)]
    scored: Option<bool>,
    /// The taker's own words for what takes it.
    #[schema(max_length = 200)]
    agent: Option<String>,
    /// The taker's own labels, such as a branch and a commit: comparisons and gates find runs by them.
    labels: Option<BTreeMap<String, String>>,
}

/// A run that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct NewRunView {
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    benchmark: BenchmarkRef,
    scored: bool,
    agent: Option<String>,
    phase: &'static str,
    status: &'static str,
    /// The credential for everything inside the run; shown only here.
    bearer_token: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    bearer_token_expires_at: Option<Timestamp>,
    /// Addresses of what the environment has.
    endpoints: BTreeMap<&'static str, String>,
    sandboxes: Vec<RunSandboxView>,
    task_runs: Vec<NewTaskRunView>,
}

/// A task run of a run that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct NewTaskRunView {
    #[schema(value_type = String)]
    id: TaskRunId,
    #[schema(value_type = String)]
    task_id: TaskId,
    name: String,
    phase: &'static str,
    start_url: String,
    complete_url: String,
}

/// Reads `slug@version`.
fn read_benchmark(text: &str) -> Result<(Slug, u32), ApiError> {
    let bad = |message: &str| ApiError::field("benchmark", message);
    let (slug, version) = text
        .split_once('@')
        .ok_or_else(|| bad("must name a version too: slug@version, such as fax-referral@1"))?;
    let slug = Slug::try_from(slug.to_owned()).map_err(|error| bad(&error.to_string()))?;
    match version.parse() {
        Ok(version) if version > 0 => Ok((slug, version)),
        _ => Err(bad("the version is a whole number: 1, 2, 3, …")),
    }
}

/// Begins to take a benchmark.
#[utoipa::path(
    post,
    path = "/v1/benchmark-runs",
    tag = "Verial: taking a benchmark",
    request_body = NewRunBody,
    security(("solver_key" = [])),
    responses((status = 201, description = "The run, with its token", body = NewRunView)),
)]
pub(crate) async fn take_benchmark(
    State(state): State<ApiState>,
    caller: SolverCaller,
    Json(body): Json<NewRunBody>,
) -> Result<(StatusCode, Json<NewRunView>), ApiError> {
    let mut checks = Checks::default();
    let named = checks.text("benchmark", body.benchmark, 1..=200);
    let agent = checks.optional_text("agent", body.agent, 1..=AGENT);
    let labels = run_labels(&mut checks, body.labels);
    checks.finish()?;
    let version = version_named(&state, caller.organization.id, &named).await?;
    let new = NewRun {
        organization: caller.organization.id,
        solver: Some(caller.solver),
        taken: Taken::Version(Box::new(version)),
        scored: body.scored.unwrap_or(false),
        agent,
        labels,
        tasks: Vec::new(),
        concurrency: None,
        held: false,
    };
    Ok((StatusCode::CREATED, Json(begin(&state, new).await?)))
}

/// The version that `slug@version` names for an organization.
pub(super) async fn version_named(
    state: &ApiState,
    organization: OrganizationId,
    named: &str,
) -> Result<BenchmarkVersion, ApiError> {
    let (slug, number) = read_benchmark(named)?;
    let found = state.engine().version_to_take(organization, &slug, number);
    found.await.map_err(|error| match error {
        EngineError::NotFound(_) => {
            let named = shortened(named);
            ApiError::not_found(format!("no benchmark '{named}'"))
        }
        other => other.into(),
    })
}

/// The labels of a run.
pub(super) fn run_labels(
    checks: &mut Checks,
    given: Option<BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let labels = labels::checked(checks, "labels", given);
    check_own_labels(checks, "labels", &labels);
    labels
}

/// Makes a run and shows it to whoever is to take it.
pub(super) async fn begin(state: &ApiState, new: NewRun) -> Result<NewRunView, ApiError> {
    let created = state.engine().create_run(new).await?;
    let run = created.run;
    let prepared = created.prepared;
    let prefix = prefix(run.id);
    let blueprint = prepared.blueprint();
    let credentials = blueprint.map_or_else(Vec::new, |blueprint| {
        state.engine().run_credentials(run.id, blueprint, &prefix)
    });
    let mut task_runs = Vec::with_capacity(created.task_runs.len());
    for task_run in &created.task_runs {
        let (task, _) = prepared.task(task_run.task)?;
        task_runs.push(NewTaskRunView {
            id: task_run.id,
            task_id: task_run.task,
            name: task.name.clone(),
            phase: "created",
            start_url: format!("/v1/task-runs/{}/start", task_run.id),
            complete_url: format!("/v1/task-runs/{}/complete", task_run.id),
        });
    }
    Ok(NewRunView {
        benchmark_run_id: run.id,
        benchmark: BenchmarkRef::of(created.version.as_deref(), &prepared.benchmark.name),
        scored: run.scored,
        agent: run.agent.clone(),
        phase: phase(false, false),
        status: status_of_run(&run),
        bearer_token: created.token.secret.expose_secret().to_owned(),
        bearer_token_expires_at: run.expires_at,
        endpoints: endpoints(blueprint.map(|blueprint| &**blueprint), &prefix),
        sandboxes: run_sandboxes(&run, created.doors, credentials),
        task_runs,
    })
}

/// Where an agent reaches a run.
pub(super) fn prefix(run: RunId) -> String {
    format!("/v1/benchmark-runs/{run}")
}

/// The benchmark of a run, by the names that people use.
pub(super) async fn benchmark_ref(
    state: &ApiState,
    run: &Run,
    name: &str,
) -> Result<BenchmarkRef, ApiError> {
    pinned_ref(state, &run.pinned, name).await
}

/// The benchmark that a frozen definition is of, by the names that people use.
pub(super) async fn pinned_ref(
    state: &ApiState,
    pinned: &Pinned,
    name: &str,
) -> Result<BenchmarkRef, ApiError> {
    let version = match pinned.version {
        None => None,
        Some(version) => {
            let benchmark = pinned.benchmark;
            state.store().benchmark_version(benchmark, version).await?
        }
    };
    Ok(BenchmarkRef::of(version.as_ref(), name))
}

/// A run as its taker sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct TakenRunView {
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    benchmark: BenchmarkRef,
    scored: bool,
    agent: Option<String>,
    phase: &'static str,
    status: &'static str,
    /// Null until the run is final, as are `score` and `axes`.
    verdict: Option<&'static str>,
    score: Option<f64>,
    #[schema(value_type = Option<Object>)]
    axes: Option<Axes>,
    /// Our own numbers, with what is missing and how sure they are; null until the run is final.
    summary: Option<SummaryView>,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    sandboxes: Vec<RunSandboxView>,
    task_runs: Vec<TaskRunLine>,
}

/// Shows a run to its taker.
#[utoipa::path(
    get,
    path = "/v1/benchmark-runs/{id}",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The run's id")),
    security(("run_token" = []), ("solver_key" = [])),
    responses(
        (status = 200, description = "The run; nothing about single criteria", body = TakenRunView),
    ),
)]
pub(crate) async fn get_taken_run(
    State(state): State<ApiState>,
    caller: Caller,
    Path(id): Path<RunId>,
) -> Result<Json<TakenRunView>, ApiError> {
    let unknown = || ApiError::not_found(format!("no benchmark run '{id}'"));
    let solver = match caller.principal().who {
        Who::Run(run) if run == id => None,
        Who::Run(_) => return Err(unknown()),
        Who::Solver(solver) => Some(solver),
        Who::Organization | Who::Attempt { .. } => {
            return Err(ApiError::unauthorized(
                "this route takes a run token (vrl_run_…) or a Solver key (vrl_slv_…); an organization key \
                 reads /benchmark-runs/{id}",
            ));
        }
    };
    let known = state.store().run(id).await?.ok_or_else(unknown)?;
    if solver.is_some() && known.value.solver != solver {
        return Err(unknown());
    }
    let details = state.engine().run_details(id).await?;
    let (run, prefix) = (&details.run, prefix(id));
    let credentials = details
        .prepared
        .blueprint()
        .map_or_else(Vec::new, |blueprint| {
            state.engine().run_credentials(id, blueprint, &prefix)
        });
    let result = Outcome::of_run(run);
    let mut task_runs = Vec::with_capacity(details.task_runs.len());
    for task_run in &details.task_runs {
        let (task, _) = details.prepared.task(task_run.task)?;
        task_runs.push(TaskRunLine::of(task_run, &task.name));
    }
    Ok(Json(TakenRunView {
        benchmark_run_id: id,
        benchmark: benchmark_ref(&state, run, &details.prepared.benchmark.name).await?,
        scored: run.scored,
        agent: run.agent.clone(),
        phase: phase(run.started_at().is_some(), run.is_over()),
        status: status_of_run(run),
        verdict: result.verdict,
        score: result.score,
        axes: result.axes,
        summary: run.own_numbers().map(SummaryView::of),
        started_at: run.started_at(),
        completed_at: run.ended_at(),
        task_runs,
        sandboxes: run_sandboxes(run, details.doors, credentials),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_is_named_with_its_version() {
        let (slug, version) = read_benchmark("fax-referral@12").unwrap();
        assert_eq!((slug.as_str(), version), ("fax-referral", 12));
        for bad in [
            "fax-referral",
            "fax-referral@",
            "fax-referral@0",
            "fax-referral@x",
            "Fax@1",
            "@1",
            "a@-1",
        ] {
            assert!(read_benchmark(bad).is_err(), "{bad}");
        }
    }
}
