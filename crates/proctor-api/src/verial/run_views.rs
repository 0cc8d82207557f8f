//! How runs, task runs and what was found look in this dialect.

use std::collections::BTreeMap;

use proctor_core::{
    criterion_run::CriterionRun,
    definition::{BenchmarkVersion, Criterion, Task},
    environment::SimulatorType,
    id::kinds::{
        BenchmarkId, CriterionId, CriterionRunId, RunId, SandboxId, SimulatorId, TaskId, TaskRunId,
    },
    run::{Ending, Run, RunState},
    scoring::{AxisScore, CriticalMiss, Scorecard, Verdict, Weight},
    task_run::{Outcome as HowItEnded, TaskRun, TaskRunState},
    time::Timestamp,
    usage::Usage,
};
use proctor_playground::environment::Blueprint;
use proctor_store::playgrounds::Sandbox;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::evidence::Evidence;
use crate::{agent_reports::UsageView, results::SummaryView};

/// How far something has come: `created`, `started` or `completed`.
pub(super) fn phase(is_started: bool, is_over: bool) -> &'static str {
    match (is_over, is_started) {
        (true, _) => "completed",
        (false, true) => "started",
        (false, false) => "created",
    }
}

/// How a run stands: `active` until it is over.
pub(super) const fn status_of_run(run: &Run) -> &'static str {
    match &run.state {
        RunState::Created | RunState::Started { .. } => "active",
        RunState::Ended { .. } => run.status().as_str(),
    }
}

/// How a task run stands: `active` until it is over.
pub(super) const fn status_of_task_run(task_run: &TaskRun) -> &'static str {
    match &task_run.state {
        TaskRunState::Created
        | TaskRunState::Started(_)
        | TaskRunState::Scoring { .. }
        | TaskRunState::Scored { .. } => "active",
        TaskRunState::Ended { .. } => task_run.status().as_str(),
    }
}

/// The benchmark that a run is of.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct BenchmarkRef {
    /// Null for a draft.
    slug: Option<String>,
    /// Null for a draft.
    version: Option<String>,
    name: String,
}

impl BenchmarkRef {
    pub(super) fn of(version: Option<&BenchmarkVersion>, name: &str) -> Self {
        Self {
            slug: version.map(|version| version.slug.as_str().to_owned()),
            version: version.map(|version| version.version.to_string()),
            name: name.to_owned(),
        }
    }
}

/// Scores on one axis, by its name.
pub(super) type Axes = BTreeMap<String, AxisScore>;

/// The numbers of something that is over; null before.
pub(super) struct Outcome {
    pub(super) verdict: Option<&'static str>,
    pub(super) score: Option<f64>,
    pub(super) axes: Option<Axes>,
}

impl Outcome {
    pub(super) fn of(card: &Scorecard) -> Self {
        Self {
            verdict: Some(verdict(card.verdict)),
            score: Some(card.score.value()),
            axes: Some(card.axes.clone()),
        }
    }

    const NONE: Self = Self {
        verdict: None,
        score: None,
        axes: None,
    };

    /// The critical criteria that a task run or a run missed, for those who may see what was found.
    pub(super) fn critical_misses(card: Option<&Scorecard>, open: bool) -> Vec<CriticalMissView> {
        let misses = card
            .filter(|_| open)
            .map_or(&[][..], |card| &card.critical_misses);
        misses.iter().map(CriticalMissView::of).collect()
    }

    /// The result of a run: none while it goes on, and none when it was cancelled.
    pub(super) fn of_run(run: &Run) -> Self {
        match &run.state {
            RunState::Created | RunState::Started { .. } => Self::NONE,
            RunState::Ended { ending, .. } => match ending {
                Ending::Completed { card } => Self::of(card),
                Ending::Failed { .. } => Self::of(&Scorecard::zero()),
                Ending::Cancelled { .. } => Self::NONE,
            },
        }
    }

    /// The result of a task run: what timed out or failed counts zero.
    pub(super) fn of_task_run(task_run: &TaskRun) -> Self {
        let TaskRunState::Ended { outcome, .. } = &task_run.state else {
            return Self::NONE;
        };
        match outcome {
            HowItEnded::Completed {
                card: Some(card), ..
            } => Self::of(card),
            HowItEnded::Completed { card: None, .. }
            | HowItEnded::TimedOut { .. }
            | HowItEnded::Failed { .. } => Self::of(&Scorecard::zero()),
            HowItEnded::Cancelled { .. } => Self::NONE,
        }
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Partial => "partial",
        Verdict::Fail => "fail",
    }
}

/// A critical criterion that was missed: the verdict is `fail` whatever the score.
#[derive(Serialize, ToSchema)]
pub(crate) struct CriticalMissView {
    #[schema(value_type = String)]
    task_id: TaskId,
    #[schema(value_type = String)]
    criterion_id: CriterionId,
    /// Its short name inside the task, if it has one.
    key: Option<String>,
    label: String,
    /// What was found, in words.
    why: String,
}

impl CriticalMissView {
    fn of(miss: &CriticalMiss) -> Self {
        Self {
            task_id: miss.task,
            criterion_id: miss.criterion,
            key: miss.key.clone(),
            label: miss.label.clone(),
            why: miss.why.clone(),
        }
    }
}

/// A sandbox of a run, with what an agent needs to use it.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunSandboxView {
    #[schema(value_type = String)]
    id: SandboxId,
    #[schema(value_type = String)]
    simulator_id: SimulatorId,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    kind: SimulatorType,
    name: String,
    /// `ready` until the run is over, then `ended`.
    status: &'static str,
    credentials: Value,
}

/// The doors of a run as an agent sees them.
pub(super) fn run_sandboxes(
    run: &Run,
    doors: Vec<Sandbox>,
    credentials: Vec<Value>,
) -> Vec<RunSandboxView> {
    doors
        .into_iter()
        .zip(credentials)
        .map(|(door, credentials)| RunSandboxView {
            id: door.id,
            simulator_id: door.simulator,
            kind: door.kind,
            name: door.name,
            status: if run.is_over() { "ended" } else { "ready" },
            credentials,
        })
        .collect()
}

/// Addresses below `prefix` for what the environment has.
pub(super) fn endpoints(
    blueprint: Option<&Blueprint>,
    prefix: &str,
) -> BTreeMap<&'static str, String> {
    let mut endpoints = BTreeMap::new();
    let doors = blueprint.map_or(&[][..], Blueprint::doors);
    for (name, path) in doors.iter().flat_map(|door| door.plugin.endpoints()) {
        endpoints.insert(*name, format!("{prefix}/{path}"));
    }
    endpoints
}

/// A task run in the view of its run: no word about criteria.
#[derive(Serialize, ToSchema)]
pub(crate) struct TaskRunLine {
    #[schema(value_type = String)]
    id: TaskRunId,
    #[schema(value_type = String)]
    task_id: TaskId,
    name: String,
    phase: &'static str,
    status: &'static str,
    verdict: Option<&'static str>,
    score: Option<f64>,
}

impl TaskRunLine {
    pub(super) fn of(task_run: &TaskRun, name: &str) -> Self {
        let result = Outcome::of_task_run(task_run);
        Self {
            id: task_run.id,
            task_id: task_run.task,
            name: name.to_owned(),
            phase: phase(task_run.started_at().is_some(), task_run.is_over()),
            status: status_of_task_run(task_run),
            verdict: result.verdict,
            score: result.score,
        }
    }
}

/// A run as its organization sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunView {
    #[schema(value_type = String)]
    id: RunId,
    #[schema(value_type = String)]
    benchmark_id: BenchmarkId,
    benchmark: BenchmarkRef,
    scored: bool,
    agent: Option<String>,
    /// The taker's own labels.
    labels: BTreeMap<String, String>,
    #[schema(value_type = Option<String>)]
    solver_id: Option<proctor_core::id::kinds::SolverId>,
    phase: &'static str,
    status: &'static str,
    verdict: Option<&'static str>,
    score: Option<f64>,
    #[schema(value_type = Option<Object>)]
    axes: Option<Axes>,
    /// Our own numbers, with what is missing and how sure they are; null until it is over.
    summary: Option<SummaryView>,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Whether it is on the leaderboard.
    published: bool,
    /// What its agent says it used up, in all tries; absent if it reported nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// The critical criteria that were missed; absent where none was, and for callers who may not see what was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    critical_misses: Vec<CriticalMissView>,
    /// Its task runs with what was found, where one run is shown by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_runs: Option<Vec<TaskRunView>>,
}

impl RunView {
    pub(super) fn of(run: &Run, benchmark: BenchmarkRef) -> Self {
        let result = Outcome::of_run(run);
        Self {
            id: run.id,
            benchmark_id: run.pinned.benchmark,
            benchmark,
            scored: run.scored,
            agent: run.agent.clone(),
            labels: run.particulars.metadata.clone(),
            solver_id: run.solver,
            phase: phase(run.started_at().is_some(), run.is_over()),
            status: status_of_run(run),
            verdict: result.verdict,
            score: result.score,
            axes: result.axes,
            summary: run.own_numbers().map(SummaryView::of),
            started_at: run.started_at(),
            completed_at: run.ended_at(),
            created_at: run.created_at,
            published: run.ranked_at.is_some(),
            usage: None,
            critical_misses: Vec::new(),
            task_runs: None,
        }
    }

    /// The same with what its agent used up, if it reported anything.
    pub(super) fn with_usage(self, usage: Option<Usage>) -> Self {
        Self {
            usage: usage.map(UsageView::from),
            ..self
        }
    }

    /// The same with the critical criteria that were missed.
    pub(super) fn with_critical_misses(self, run: &Run) -> Self {
        Self {
            critical_misses: Outcome::critical_misses(run.card(), true),
            ..self
        }
    }

    pub(super) fn with_task_runs(self, task_runs: Vec<TaskRunView>) -> Self {
        Self {
            task_runs: Some(task_runs),
            ..self
        }
    }
}

/// What was found for a criterion, in the view of its task run.
#[derive(Serialize, ToSchema)]
pub(crate) struct CriterionLine {
    #[schema(value_type = String)]
    id: CriterionRunId,
    #[schema(value_type = String)]
    criterion_id: CriterionId,
    label: String,
    axis: Option<String>,
    #[schema(value_type = f64)]
    weight: Weight,
    passed: bool,
    score: f64,
}

impl CriterionLine {
    pub(super) fn of(found: &CriterionRun, criteria: &[Criterion]) -> Self {
        let criterion = criteria.iter().find(|one| one.id == found.criterion);
        Self {
            id: found.id,
            criterion_id: found.criterion,
            label: criterion.map_or_else(String::new, |one| one.label.clone()),
            axis: criterion.and_then(|one| one.axis.clone()),
            weight: criterion.map_or(Weight::NONE, |one| one.weight),
            passed: found.passed,
            score: found.score.value(),
        }
    }
}

/// A task run as its organization sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct TaskRunView {
    #[schema(value_type = String)]
    id: TaskRunId,
    #[schema(value_type = Option<String>)]
    benchmark_run_id: Option<RunId>,
    #[schema(value_type = String)]
    task_id: TaskId,
    name: String,
    phase: &'static str,
    status: &'static str,
    verdict: Option<&'static str>,
    score: Option<f64>,
    #[schema(value_type = Option<Object>)]
    axes: Option<Axes>,
    /// What ended it, where that was not its own completion.
    cause: Option<Value>,
    /// What happened, in words, where somebody said so.
    reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The task as it was frozen, without its solution. Criteria and entities only for the benchmark's owner, and before
    /// the task is started also what is to be done and what happens first.
    snapshot: Value,
    criterion_runs: Vec<CriterionLine>,
    /// The critical criteria that were missed; absent where none was, and for callers who may not see what was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    critical_misses: Vec<CriticalMissView>,
}

impl TaskRunView {
    pub(super) fn of(
        task_run: &TaskRun,
        task: &Task,
        found: &[CriterionRun],
        sight: Sight,
    ) -> Self {
        let result = Outcome::of_task_run(task_run);
        Self {
            id: task_run.id,
            benchmark_run_id: task_run.run,
            task_id: task_run.task,
            name: task.name.clone(),
            phase: phase(task_run.started_at().is_some(), task_run.is_over()),
            status: status_of_task_run(task_run),
            verdict: result.verdict,
            score: result.score,
            axes: result.axes,
            cause: task_run
                .cause()
                .and_then(|cause| serde_json::to_value(cause).ok()),
            reason: task_run.reason().map(|reason| reason.as_str().to_owned()),
            started_at: task_run.started_at(),
            deadline_at: task_run.deadline(),
            completed_at: task_run.ended_at(),
            created_at: task_run.created_at,
            snapshot: snapshot(task, sight, task_run.started_at().is_some()),
            criterion_runs: found
                .iter()
                .map(|one| CriterionLine::of(one, &task.criteria))
                .collect(),
            critical_misses: Outcome::critical_misses(task_run.card(), sight != Sight::ScoredTaker),
        }
    }
}

/// How much of a run an organization may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It owns the benchmark: everything.
    Owner,
    /// It took somebody else's benchmark: what was found, but not what else is asked.
    Taker,
    /// It took somebody else's benchmark, scored: only scores.
    ScoredTaker,
}

/// The task as it was frozen, but for its solution. Whoever takes another organization's benchmark must
/// not find the answers here either, nor read a task before its time begins.
fn snapshot(task: &Task, sight: Sight, is_started: bool) -> Value {
    let mut snapshot = serde_json::to_value(task).unwrap_or_default();
    if let Value::Object(members) = &mut snapshot {
        members.remove("reference");
        if sight != Sight::Owner {
            members.remove("criteria");
            members.remove("entities");
            if !is_started {
                members.remove("brief");
                members.remove("world");
            }
        }
    }
    snapshot
}

/// The authoritative record of a criterion that was checked.
#[derive(Serialize, ToSchema)]
pub(crate) struct CriterionRunView {
    #[schema(value_type = String)]
    id: CriterionRunId,
    #[schema(value_type = String)]
    task_run_id: TaskRunId,
    #[schema(value_type = String)]
    criterion_id: CriterionId,
    passed: bool,
    score: f64,
    /// The finding in words.
    details: String,
    /// What was found.
    #[schema(value_type = Value)]
    evidence: Evidence,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    completed_at: Timestamp,
}

impl CriterionRunView {
    pub(super) fn of(found: CriterionRun) -> Self {
        Self {
            id: found.id,
            task_run_id: found.task_run,
            criterion_id: found.criterion,
            passed: found.passed,
            score: found.score.value(),
            details: found.details,
            evidence: Evidence(found.evidence),
            started_at: found.started_at,
            completed_at: found.completed_at,
        }
    }
}

/// A criterion in the answer to a complete.
#[derive(Serialize, ToSchema)]
pub(crate) struct CheckView {
    #[schema(value_type = String)]
    criterion_id: CriterionId,
    label: String,
    /// `pass` or `fail`.
    result: &'static str,
    score: f64,
    axis: Option<String>,
    /// Absent in a scored run.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    /// Absent in a scored run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    evidence: Option<Evidence>,
}

impl CheckView {
    /// `open` tells whether the taker may see what explains the score.
    pub(super) fn of(found: &CriterionRun, criteria: &[Criterion], open: bool) -> Self {
        let criterion = criteria.iter().find(|one| one.id == found.criterion);
        Self {
            criterion_id: found.criterion,
            label: criterion.map_or_else(String::new, |one| one.label.clone()),
            result: if found.passed { "pass" } else { "fail" },
            score: found.score.value(),
            axis: criterion.and_then(|one| one.axis.clone()),
            details: open.then(|| found.details.clone()),
            evidence: open.then(|| Evidence(found.evidence.clone())),
        }
    }
}
