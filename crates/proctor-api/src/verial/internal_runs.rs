//! `/benchmark-runs`: runs as their organization sees them.

use std::{collections::BTreeMap, num::NonZeroU32};

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    criterion_run::CriterionRun,
    definition::Slug,
    id::{
        Dialect, Id, Kind,
        kinds::{BenchmarkId, OrganizationId, RunId, RunKind, TaskRunId},
    },
    run::{Run, RunStatus},
    time::Timestamp,
    usage::Usage,
};
use proctor_engine::runs::{NewRun, Taken};
use proctor_store::run_lists::RunFilter;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    page::{VerialList, VerialPage, VerialPageQuery},
    public_runs::{AGENT, NewRunView, begin, benchmark_ref, run_labels, version_named},
    run_views::{RunView, Sight, TaskRunView},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, shortened},
    state::ApiState,
};

/// How many patterns of tasks may be given.
const MOST_PATTERNS: usize = 1000;
/// How many tasks of a run may be taken at once.
const MOST_AT_ONCE: u32 = 10_000;

/// Which runs are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListedRuns {
    /// Only those of this benchmark.
    benchmark_id: Option<String>,
    /// Only those of this agent, in its taker's own words.
    agent: Option<String>,
    /// Only those that are scored, or only those that are not.
    #[param(value_type = Option<bool>)]
    scored: Option<String>,
    /// `active`, `completed`, `cancelled` or `failed`.
    status: Option<String>,
    /// Only those of this Solver.
    solver_id: Option<String>,
    /// Only those of versions that were published under this slug.
    slug: Option<String>,
    /// Only those that were made at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<String>,
}

impl ListedRuns {
    fn read(&self) -> Result<RunFilter, ApiError> {
        let mut checks = Checks::default();
        let filter = RunFilter {
            benchmark: read_id(&mut checks, "benchmark_id", self.benchmark_id.as_deref()),
            solver: read_id(&mut checks, "solver_id", self.solver_id.as_deref()),
            agent: self.agent.clone(),
            scored: self.scored.as_deref().and_then(|text| match text {
                "true" => Some(true),
                "false" => Some(false),
                _ => {
                    checks.refuse("scored", "must be true or false");
                    None
                }
            }),
            statuses: self.status.as_deref().and_then(|text| match text {
                "active" => Some(vec![RunStatus::Created, RunStatus::Started]),
                "completed" => Some(vec![RunStatus::Completed]),
                "cancelled" => Some(vec![RunStatus::Cancelled]),
                "failed" => Some(vec![RunStatus::Failed]),
                other => {
                    let other = shortened(other);
                    checks.refuse(
                        "status",
                        format!("'{other}' is none of active, completed, cancelled, failed"),
                    );
                    None
                }
            }),
            slug: self.slug.clone().and_then(|text| {
                Slug::try_from(text)
                    .map_err(|bad| checks.refuse("slug", bad.to_string()))
                    .ok()
            }),
            since: self.since.as_deref().and_then(|text| {
                text.parse::<Timestamp>()
                    .map_err(|_| {
                        checks.refuse("since", "must be a time such as 2026-04-21T17:00:00Z");
                    })
                    .ok()
            }),
            ..RunFilter::default()
        };
        checks.finish()?;
        Ok(filter)
    }
}

fn read_id<K: Kind>(checks: &mut Checks, field: &str, text: Option<&str>) -> Option<Id<K>> {
    let read = Id::from_wire(text?, Dialect::Verial);
    read.map_err(|bad| checks.refuse(field, bad.to_string()))
        .ok()
}

/// Lists the organization's runs.
#[utoipa::path(
    get,
    path = "/benchmark-runs",
    tag = "Verial: runs",
    params(ListedRuns, VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The runs, newest first", body = VerialList<RunView>)),
)]
pub(crate) async fn list_benchmark_runs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<RunKind, ListedRuns>,
) -> Result<Json<VerialList<RunView>>, ApiError> {
    let filter = page.1.read()?;
    let runs = state
        .store()
        .find_runs(caller.id(), &filter, page.0)
        .await?;
    answer(&state, &page, runs).await
}

/// A page of runs with the names of their benchmarks.
async fn answer(
    state: &ApiState,
    page: &VerialPage<RunKind, ListedRuns>,
    runs: proctor_store::page::Page<Run>,
) -> Result<Json<VerialList<RunView>>, ApiError> {
    let ids: Vec<RunId> = runs.items.iter().map(|run| run.id).collect();
    let used = state.store().usage_of_runs(&ids).await?;
    let mut views = Vec::with_capacity(runs.items.len());
    for run in &runs.items {
        let of_run = used.iter().filter(|((id, _), _)| *id == run.id);
        let usage = Usage::sum(of_run.map(|(_, usage)| *usage));
        views.push(view(state, run).await?.with_usage(usage));
    }
    let mut views = views.into_iter();
    Ok(page.answer(
        runs,
        |run| run.id,
        |_| views.next().expect("there is one view for each run"),
    ))
}

pub(super) async fn view(state: &ApiState, run: &Run) -> Result<RunView, ApiError> {
    let prepared = state.engine().definition_of(run).await?;
    let benchmark = benchmark_ref(state, run, &prepared.benchmark.name).await?;
    Ok(RunView::of(run, benchmark))
}

/// Which benchmark is to be taken.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewInternalRunBody {
    /// The benchmark: its newest published version, or its draft if it is the organization's own and none is published.
    #[schema(value_type = Option<String>)]
    benchmark_id: Option<BenchmarkId>,
    /// The benchmark by `slug@version`; one of this and `benchmark_id` is required.
    #[schema(example = "fax-referral@1")]
    benchmark: Option<String>,
    /// Whether only scores are shown to the taker, not what explains them.
    #[serde(default)]
    #[schema(value_type = bool, default = false)]
    scored: Option<bool>,
    /// `true` takes the draft even if a version is published.
    #[serde(default)]
    #[schema(value_type = bool, default = false)]
    draft: Option<bool>,
    /// What takes it, in words.
    #[schema(max_length = 200)]
    agent: Option<String>,
    /// Labels, such as a branch and a commit: comparisons and gates find runs by them.
    labels: Option<BTreeMap<String, String>>,
    /// Which of its tasks are taken, by ids, names or patterns such as `fax-*`; all of them if absent.
    tasks: Option<Vec<String>>,
    /// How many of them may be taken at once, if not as many as the benchmark says.
    #[schema(minimum = 1, maximum = 10000)]
    concurrency: Option<u32>,
    /// Whether the run stays open until somebody completes it: tasks that are void can be tried again until then.
    #[serde(default)]
    #[schema(value_type = bool, default = false)]
    held: Option<bool>,
}

/// Makes a run of a draft or of the newest published version.
#[utoipa::path(
    post,
    path = "/benchmark-runs",
    tag = "Verial: runs",
    request_body = NewInternalRunBody,
    security(("organization_key" = [])),
    responses(
        (status = 201, description = "The run, with a token to take it by", body = NewRunView),
    ),
)]
pub(crate) async fn create_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewInternalRunBody>,
) -> Result<(StatusCode, Json<NewRunView>), ApiError> {
    let mut checks = Checks::default();
    let agent = checks.optional_text("agent", body.agent, 1..=AGENT);
    let labels = run_labels(&mut checks, body.labels);
    let tasks = body.tasks.as_deref();
    if tasks.is_some_and(|tasks| tasks.is_empty() || tasks.len() > MOST_PATTERNS) {
        checks.refuse("tasks", format!("must have 1 to {MOST_PATTERNS} elements"));
    }
    let concurrency = body.concurrency.and_then(|number| {
        let number = NonZeroU32::new(number).filter(|number| number.get() <= MOST_AT_ONCE);
        if number.is_none() {
            checks.refuse(
                "concurrency",
                format!("must be between 1 and {MOST_AT_ONCE}"),
            );
        }
        number
    });
    checks.finish()?;
    let is_draft = body.draft.unwrap_or(false);
    let taken = match (body.benchmark_id, body.benchmark) {
        (None, None) => return Err(ApiError::field("benchmark_id", "is required")),
        (Some(_), Some(_)) => {
            let message = "cannot be given together with benchmark_id";
            return Err(ApiError::field("benchmark", message));
        }
        (None, Some(_)) if is_draft => {
            return Err(ApiError::field("draft", "cannot be given with a version"));
        }
        (None, Some(named)) => {
            let version = version_named(&state, caller.id(), &named).await?;
            Taken::Version(Box::new(version))
        }
        (Some(benchmark), None) if is_draft => Taken::Draft(benchmark),
        (Some(benchmark), None) => {
            let newest = state.engine().newest_version(caller.id(), benchmark);
            match newest.await? {
                Some(version) => Taken::Version(Box::new(version)),
                None => Taken::Draft(benchmark),
            }
        }
    };
    let new = NewRun {
        organization: caller.id(),
        solver: None,
        taken,
        scored: body.scored.unwrap_or(false),
        agent,
        labels,
        tasks: body.tasks.unwrap_or_default(),
        concurrency,
        held: body.held.unwrap_or(false),
    };
    Ok((StatusCode::CREATED, Json(begin(&state, new).await?)))
}

/// The caller's run of this id.
pub(super) async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
) -> Result<Run, ApiError> {
    let run = state.store().run(id).await?;
    run.map(|run| run.value)
        .filter(|run| run.organization == caller.id())
        .ok_or_else(|| ApiError::not_found(format!("no benchmark run '{id}'")))
}

/// Shows a run with its task runs and criterion runs.
#[utoipa::path(
    get,
    path = "/benchmark-runs/{id}",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The run", body = RunView)),
)]
pub(crate) async fn get_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<RunView>, ApiError> {
    find(&state, &caller, id).await?;
    let details = state.engine().run_details(id).await?;
    let sight = sight(&state, caller.id(), &details.run)
        .await?
        .ok_or_else(|| ApiError::not_found(format!("no benchmark run '{id}'")))?;
    let mut task_runs = Vec::new();
    for task_run in &details.task_runs {
        let (task, _) = details.prepared.task(task_run.task)?;
        let found = findings(&state, task_run.id, sight).await?;
        task_runs.push(TaskRunView::of(task_run, task, &found, sight));
    }
    let benchmark = benchmark_ref(&state, &details.run, &details.prepared.benchmark.name).await?;
    let used = state.store().usage_of_runs(&[id]).await?;
    let mut view = RunView::of(&details.run, benchmark).with_usage(Usage::sum(used.into_values()));
    if sight != Sight::ScoredTaker {
        view = view.with_critical_misses(&details.run);
    }
    Ok(Json(view.with_task_runs(task_runs)))
}

/// Removes a run that is over, with its task runs, their worlds and everything that was found.
#[utoipa::path(
    delete,
    path = "/benchmark-runs/{id}",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The run's id")),
    security(("organization_key" = [])),
    responses((status = 204, description = "It is gone")),
)]
pub(crate) async fn delete_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<StatusCode, ApiError> {
    find(&state, &caller, id).await?;
    state.engine().remove_run(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How much of a run an organization may see that owns it or its benchmark; nothing for others.
pub(super) async fn sight(
    state: &ApiState,
    caller: OrganizationId,
    run: &Run,
) -> Result<Option<Sight>, ApiError> {
    let benchmark = run.pinned.benchmark;
    let owner = state.store().owner_of_benchmark(benchmark).await?;
    Ok(if owner == Some(caller) {
        Some(Sight::Owner)
    } else if run.organization != caller {
        None
    } else if run.scored {
        Some(Sight::ScoredTaker)
    } else {
        Some(Sight::Taker)
    })
}

/// What was found in a task run, as far as it may be seen.
pub(super) async fn findings(
    state: &ApiState,
    task_run: TaskRunId,
    sight: Sight,
) -> Result<Vec<CriterionRun>, ApiError> {
    match sight {
        Sight::ScoredTaker => Ok(Vec::new()),
        Sight::Owner | Sight::Taker => Ok(state.store().criterion_runs(task_run).await?),
    }
}

macro_rules! run_actions {
    ($($(#[$doc:meta])* $name:ident, $path:literal, |$engine:ident, $id:ident| $act:expr;)+) => {$(
        $(#[$doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "Verial: runs",
            params(("id" = String, Path, description = "The run's id")),
            security(("organization_key" = [])),
            responses((status = 200, description = "The run as it is now", body = RunView)),
        )]
        pub(crate) async fn $name(
            State(state): State<ApiState>,
            caller: OrganizationCaller,
            Path(id): Path<RunId>,
        ) -> Result<Json<RunView>, ApiError> {
            find(&state, &caller, id).await?;
            let ($engine, $id) = (state.engine(), id);
            let run = $act.await?;
            view(&state, &run).await.map(Json)
        }
    )+};
}

run_actions! {
    /// Completes a run: what is not complete counts zero.
    complete_benchmark_run, "/benchmark-runs/{id}/complete", |engine, id| engine.complete_run(id);
    /// Stops a run: results are kept, its token ends at once.
    cancel_benchmark_run, "/benchmark-runs/{id}/cancel", |engine, id| engine.cancel_run(id);
}
