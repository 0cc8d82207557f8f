//! Runs as clients see them.

use std::collections::BTreeMap;

use proctor_core::{
    results::Summary,
    run::{Ending, Run, RunState, RunStatus},
    scoring::{CriticalMiss, Scorecard},
    task_run::{Outcome, TaskRun, TaskRunState, TaskRunStatus},
    time::Timestamp,
};
use proctor_engine::runs::{ScenarioRun, ScoredFunction};
use proctor_statistics::About;
use proctor_store::page::Page;
use serde::Serialize;
use utoipa::ToSchema;

use crate::runloop::ids::wire;

/// The words for states of scenario runs, and those of the domain that they stand for.
pub(super) const SCENARIO_STATES: [(&str, TaskRunStatus); 8] = [
    ("running", TaskRunStatus::Created),
    ("running", TaskRunStatus::Started),
    ("scoring", TaskRunStatus::Scoring),
    ("scored", TaskRunStatus::Scored),
    ("completed", TaskRunStatus::Completed),
    ("canceled", TaskRunStatus::Cancelled),
    ("timeout", TaskRunStatus::TimedOut),
    ("failed", TaskRunStatus::Failed),
];

/// The words for states of benchmark runs, and those of the domain that they stand for.
pub(super) const RUN_STATES: [(&str, RunStatus); 5] = [
    ("running", RunStatus::Created),
    ("running", RunStatus::Started),
    ("completed", RunStatus::Completed),
    ("canceled", RunStatus::Cancelled),
    ("failed", RunStatus::Failed),
];

/// The label that says in which way a scenario run was scored.
const MODE: &str = "proctor.scoring";
/// The label that says what ended a run that did not complete.
const CAUSE: &str = "proctor.cause";
/// The label that says in words what happened to it.
const REASON: &str = "proctor.reason";
/// The label that names the critical scorers that were missed.
const CRITICAL_MISSES: &str = "proctor.critical_misses";
/// The label that says what follows from that.
const VERDICT: &str = "proctor.verdict";
/// The label that says whether a scenario run can be scored again.
const RESCORE: &str = "proctor.rescore";

/// A scenario run.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScenarioRunView {
    #[schema(example = "scr_01K0000000000000000000000A")]
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    scenario_id: String,
    devbox_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmark_run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scoring_contract_result: Option<ScoringContractResultView>,
    start_time_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[schema(value_type = String, example = "running")]
    state: &'static str,
    /// The taker's labels; `proctor.scoring` says in which way it was scored, `proctor.rescore` whether it can be scored again
    /// (`possible` or `impossible`), and `proctor.cause` and `proctor.reason` what ended it. `proctor.job`, `proctor.attempt` and
    /// `proctor.try` are on what a job started.
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<String>,
    environment_variables: BTreeMap<String, String>,
    /// Environment variables with the names of their secrets.
    secrets_provided: BTreeMap<String, String>,
}

/// What the scorers said.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScoringContractResultView {
    score: f64,
    scoring_function_results: Vec<ScoringFunctionResultView>,
}

/// What a scorer said.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScoringFunctionResultView {
    score: f64,
    scoring_function_name: String,
    output: String,
    #[schema(example = "complete")]
    state: &'static str,
}

/// A part of a list of scenario runs, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScenarioRunListView {
    runs: Vec<ScenarioRunView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

/// A benchmark run.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkRunView {
    #[schema(example = "bmr_01K0000000000000000000000A")]
    id: String,
    benchmark_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    start_time_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[schema(value_type = String, example = "running")]
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// The taker's labels; when it is over also our own numbers (`…/results` has them whole): `proctor.score`, `proctor.low`, `proctor.high`, `proctor.about`, `proctor.planned`, `proctor.scored`, `proctor.void`,
    /// `proctor.agent_faults`, `proctor.worst` and `proctor.best`.
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<String>,
    environment_variables: BTreeMap<String, String>,
    /// Environment variables with the names of their secrets.
    secrets_provided: BTreeMap<String, String>,
}

/// A part of a list of benchmark runs, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkRunListView {
    runs: Vec<BenchmarkRunView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

impl ScenarioRunView {
    /// The scenario run, without what scorers said if the caller is the agent.
    pub(crate) fn for_caller(run: ScenarioRun, shows_scorers: bool) -> Self {
        let mut view = Self::of(run);
        if !shows_scorers {
            view.scoring_contract_result = None;
            view.environment_variables.clear();
            view.secrets_provided.clear();
        }
        view
    }

    pub(crate) fn of(run: ScenarioRun) -> Self {
        let result = run
            .card()
            .map(|card| ScoringContractResultView::of(card, &run.functions));
        let can_be_rescored = match run.is_kept {
            true => Some("possible"),
            false => result.as_ref().map(|_| "impossible"),
        };
        let mode = run.mode().map(str::to_owned);
        let missed = run.card().map(critical_labels).unwrap_or_default();
        let task_run = run.task_run;
        let (state, settled_at) = state(&task_run);
        let fault = task_run.fault();
        let started = task_run.started_at().unwrap_or(task_run.created_at);
        let particulars = task_run.particulars;
        let mut metadata = particulars.metadata;
        metadata.extend(mode.map(|mode| (MODE.to_owned(), mode)));
        metadata.extend(missed);
        metadata.extend(can_be_rescored.map(|word| (RESCORE.to_owned(), word.to_owned())));
        if let Some(fault) = fault {
            metadata.insert(CAUSE.to_owned(), fault.cause.as_str().to_owned());
            metadata.extend(
                fault
                    .reason
                    .map(|reason| (REASON.to_owned(), reason.into())),
            );
        }
        Self {
            id: wire(task_run.id),
            name: particulars.name,
            scenario_id: wire(task_run.task),
            devbox_id: task_run.devbox.map(wire).unwrap_or_default(),
            benchmark_run_id: task_run.run.map(wire),
            scoring_contract_result: result,
            start_time_ms: started.as_millis(),
            duration_ms: settled_at.map(|at| millis_between(started, at)),
            state,
            metadata,
            purpose: particulars.profile.purpose,
            environment_variables: particulars.profile.environment,
            secrets_provided: particulars.profile.secrets,
        }
    }
}

impl ScoringContractResultView {
    pub(super) fn of(card: &Scorecard, functions: &[ScoredFunction]) -> Self {
        let of_one = |function: &ScoredFunction| ScoringFunctionResultView {
            score: function.score.value(),
            scoring_function_name: function.name.clone(),
            output: function.output.clone(),
            state: function.state_word(),
        };
        Self {
            score: card.score.value(),
            scoring_function_results: functions.iter().map(of_one).collect(),
        }
    }
}

impl ScenarioRunListView {
    pub(crate) fn of(page: Page<ScenarioRun>) -> Self {
        Self {
            has_more: page.has_more,
            total_count: page.total,
            runs: page.items.into_iter().map(ScenarioRunView::of).collect(),
        }
    }
}

impl BenchmarkRunView {
    pub(crate) fn of(run: Run) -> Self {
        let started = run
            .started_at()
            .unwrap_or(run.created_at)
            .min(run.created_at);
        let score = run.card().map(|card| card.score.value());
        let state = run_state(&run);
        let numbers = run.own_numbers().map(own_labels).unwrap_or_default();
        let duration_ms = run.ended_at().map(|at| millis_between(started, at));
        let missed = run.card().map(critical_labels).unwrap_or_default();
        let mut metadata = run.particulars.metadata;
        metadata.extend(numbers);
        metadata.extend(missed);
        Self {
            id: wire(run.id),
            benchmark_id: wire(run.pinned.benchmark),
            start_time_ms: started.as_millis(),
            duration_ms,
            state,
            score,
            name: run.particulars.name,
            metadata,
            purpose: run.particulars.profile.purpose,
            environment_variables: run.particulars.profile.environment,
            secrets_provided: run.particulars.profile.secrets,
        }
    }
}

impl BenchmarkRunListView {
    pub(crate) fn of(page: Page<Run>) -> Self {
        Self {
            has_more: page.has_more,
            total_count: page.total,
            runs: page.items.into_iter().map(BenchmarkRunView::of).collect(),
        }
    }
}

/// The state of a benchmark run in one word.
pub(crate) const fn run_state(run: &Run) -> &'static str {
    match &run.state {
        RunState::Created | RunState::Started { .. } => "running",
        RunState::Ended { ending, .. } => match ending {
            Ending::Completed { .. } => "completed",
            Ending::Cancelled { .. } => "canceled",
            Ending::Failed { .. } => "failed",
        },
    }
}

/// The state in one word, and since when nothing more is expected of the agent.
fn state(task_run: &TaskRun) -> (&'static str, Option<Timestamp>) {
    match &task_run.state {
        TaskRunState::Created | TaskRunState::Started(_) => ("running", None),
        TaskRunState::Scoring { .. } => ("scoring", None),
        TaskRunState::Scored { at, .. } => ("scored", Some(*at)),
        TaskRunState::Ended { at, outcome, .. } => {
            let word = match outcome {
                Outcome::Completed { .. } => "completed",
                Outcome::TimedOut { .. } => "timeout",
                Outcome::Cancelled { .. } => "canceled",
                Outcome::Failed { .. } => "failed",
            };
            (word, Some(*at))
        }
    }
}

fn millis_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX)
}

/// What is said of a score where critical scorers were missed: their names, and the verdict. Nothing where none was.
fn critical_labels(card: &Scorecard) -> Vec<(String, String)> {
    if card.critical_misses.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = card
        .critical_misses
        .iter()
        .map(CriticalMiss::name)
        .collect();
    vec![
        (CRITICAL_MISSES.to_owned(), names.join(", ")),
        (VERDICT.to_owned(), card.verdict.to_string()),
    ]
}

/// Our own numbers as labels; a number that is missing has none.
fn own_labels(numbers: &Summary) -> BTreeMap<String, String> {
    let number = |value: f64| serde_json::Value::from(value).to_string();
    let labels = [
        ("score", numbers.score.map(number)),
        ("low", numbers.interval.map(|ends| number(ends.low))),
        ("high", numbers.interval.map(|ends| number(ends.high))),
        (
            "about",
            numbers.interval.map(|_| About::Tasks.as_str().to_owned()),
        ),
        ("planned", Some(numbers.planned.to_string())),
        ("scored", Some(numbers.scored.to_string())),
        ("void", Some(numbers.void.to_string())),
        ("agent_faults", Some(numbers.agent_faults.to_string())),
        ("worst", numbers.worst.map(number)),
        ("best", numbers.best.map(number)),
    ];
    let labels = labels.into_iter();
    labels
        .filter_map(|(name, value)| Some((format!("proctor.{name}"), value?)))
        .collect()
}
