//! Our own numbers of a run or a job, the same in both dialects but for the ids.

use std::collections::{BTreeMap, HashMap};

use proctor_core::{
    definition::{Criterion, Task},
    id::{
        Dialect,
        kinds::{RunId, TaskId},
    },
    results::{AttemptResult, Summary},
    scoring::CriticalMiss,
    usage::Usage,
};
use proctor_engine::{
    jobs::{LookResults, RoundsResults},
    results::{AgentResults, ResultWarning, Results},
};
use proctor_statistics::{About, GateVerdict};
use proctor_store::comparisons::CriterionScore;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::agent_reports::UsageView;

/// How many tasks that are left out are named.
const MOST_NAMED: usize = 5;

/// What came of a run or a job: one entry for each agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResultsView {
    agents: Vec<AgentResultsView>,
    /// What should be known about these numbers.
    warnings: Vec<String>,
    /// How far the planned rounds of a job came; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<RoundsView>,
}

/// How far the planned rounds of a job came.
#[derive(Serialize, ToSchema)]
pub(crate) struct RoundsView {
    /// How many were planned.
    planned: u32,
    /// How many are over.
    done: u32,
    /// After which round the job stopped by itself; null while it goes on, and if it was ended otherwise.
    stopped_after: Option<u32>,
    /// How many attempts were planned.
    attempts_planned: u64,
    /// How many of them were not needed; null while the job goes on, and if it was ended otherwise.
    attempts_saved: Option<u64>,
    /// The same in one sentence.
    sentence: String,
    /// What is looked at after each round.
    #[schema(value_type = Object)]
    policy: Value,
    /// What was seen after each round from the second on.
    looks: Vec<LookView>,
}

/// What was seen after a round.
#[derive(Serialize, ToSchema)]
pub(crate) struct LookView {
    round: u32,
    /// The one-sided level of this look: small in early rounds, so that all looks together keep 5 %.
    level: f64,
    /// What was decided over each agent that was open before.
    decisions: Vec<DecisionView>,
}

/// What a look says of one agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct DecisionView {
    /// The agent.
    candidate: String,
    /// What it is compared with, if the policy compares.
    baseline: Option<String>,
    /// `PASS`, `FAIL` or `INCONCLUSIVE`; null if the numbers do not allow an answer.
    verdict: Option<&'static str>,
    /// Why.
    sentences: Vec<String>,
    /// The gate as it was kept, at `/gates/{id}`, if this is the last look at it.
    gate_id: Option<String>,
}

impl RoundsView {
    fn of(rounds: RoundsResults) -> Self {
        Self {
            planned: rounds.planned,
            done: rounds.done,
            stopped_after: rounds.stopped_after,
            attempts_planned: rounds.attempts_planned,
            attempts_saved: rounds.attempts_saved,
            sentence: rounds.sentence,
            policy: rounds.policy,
            looks: rounds.looks.into_iter().map(LookView::of).collect(),
        }
    }
}

impl LookView {
    fn of(LookResults { look, names }: LookResults) -> Self {
        let decisions = look.decisions.into_iter().zip(names);
        Self {
            round: look.round,
            level: look.level,
            decisions: decisions
                .map(|(decision, (candidate, baseline))| DecisionView {
                    candidate,
                    baseline,
                    verdict: decision.verdict.map(GateVerdict::as_str),
                    sentences: decision.sentences,
                    gate_id: decision.kept.map(|id| id.to_string()),
                })
                .collect(),
        }
    }
}

/// What came of an agent, its attempts pooled.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentResultsView {
    /// Null if nobody said what takes the run.
    name: Option<String>,
    run_ids: Vec<String>,
    summary: SummaryView,
    /// What the agent says it used up in all attempts; absent if it reported nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// The metrics of a Harbor job's file, each for every key of the rewards, over all trials; what is missing counts 0 there.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<BTreeMap<String, BTreeMap<String, f64>>>,
    attempts: Vec<AttemptView>,
}

/// The numbers of an agent. A number that is missing is null, never 0.
#[derive(Serialize, ToSchema)]
pub(crate) struct SummaryView {
    /// The mean over tasks of the mean over their attempts that count; null if none does.
    #[schema(example = 0.5)]
    score: Option<f64>,
    /// The lower end of the 95 % interval around the score; null without a score.
    low: Option<f64>,
    /// The upper end of it.
    high: Option<f64>,
    /// What the interval is about: `tasks`, tasks like these.
    about: Option<&'static str>,
    /// How many attempts were planned.
    planned: u32,
    /// How many of them count; those that the agent ended itself count 0.
    scored: u32,
    /// How many say nothing about the agent and are left out of the score.
    void: u32,
    /// How many count 0 because the agent crashed or took too long.
    agent_faults: u32,
    /// The score if everything that is void or not over were worth 0.
    worst: Option<f64>,
    /// The score if it were worth 1.
    best: Option<f64>,
}

/// A planned repeat of a task by an agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttemptView {
    task: String,
    /// 1 for the first repeat.
    attempt: u32,
    run_id: String,
    /// How often it was tried. The first try that is not void counts.
    tries: u32,
    /// Null if it is void or not over.
    score: Option<f64>,
    /// Why it was not judged: `agent_crash`, `agent_timeout`, `scorer_error`, `infrastructure` or `cancelled`.
    cause: Option<&'static str>,
    /// What happened, in words.
    reason: Option<String>,
    /// `pass`, `partial` or `fail`.
    verdict: Option<String>,
    /// The critical criteria that were missed. Absent for callers who may not read the criterion runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    critical_misses: Option<Vec<String>>,
    /// What was found about each of them, in sentences; absent where none was missed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    critical_reasons: Vec<String>,
    /// What the agent says it used up, in all tries together; absent if it reported nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// What its task is called and what its criteria scored, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<AttemptDetails>,
}

/// What is known of an attempt besides its score.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttemptDetails {
    /// What the task is called.
    pub(crate) name: String,
    /// The task run that counts.
    pub(crate) task_run_id: Option<String>,
    /// How long the agent took.
    pub(crate) seconds: Option<f64>,
    /// The last link of the journal of its frozen world, which names everything that happened there; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) journal_head: Option<String>,
    /// What its criteria scored. Absent for callers who may not read the criterion runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) criteria: Option<Vec<CriterionView>>,
}

/// What a criterion scored.
#[derive(Serialize, ToSchema)]
pub(crate) struct CriterionView {
    criterion_id: String,
    /// Its short name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    label: String,
    /// Whether missing it fails the task.
    critical: bool,
    axis: Option<String>,
    weight: f64,
    score: f64,
    /// What was found, where it was not met.
    details: String,
}

impl CriterionView {
    pub(crate) fn of(task: &Task, criterion: &Criterion, found: &CriterionScore) -> Self {
        Self {
            criterion_id: criterion.id.to_string(),
            key: criterion.key.clone(),
            label: criterion.label.clone(),
            critical: task.is_critical(criterion),
            axis: criterion.axis.clone(),
            weight: criterion.weight.value(),
            score: found.score,
            details: found.details.clone(),
        }
    }
}

impl ResultsView {
    pub(crate) fn of(results: Results, dialect: Dialect) -> Self {
        let agents = results.agents.into_iter();
        Self {
            agents: agents
                .map(|agent| AgentResultsView::of(agent, &results.usage, dialect))
                .collect(),
            warnings: results.warnings.iter().map(told).collect(),
            rounds: results.rounds.map(RoundsView::of),
        }
    }

    /// The same with what is known of each attempt of the first agent, by its place.
    pub(crate) fn with_details(mut self, mut details: HashMap<usize, AttemptDetails>) -> Self {
        let attempts = self.agents.first_mut().map(|agent| &mut agent.attempts);
        for (place, attempt) in attempts.into_iter().flatten().enumerate() {
            attempt.details = details.remove(&place);
        }
        self
    }
}

impl AgentResultsView {
    fn of(agent: AgentResults, usage: &BTreeMap<(RunId, TaskId), Usage>, dialect: Dialect) -> Self {
        let attempts = agent.attempts.iter();
        let of_attempt = |attempt: &AttemptResult| usage.get(&(attempt.run, attempt.task)).copied();
        let used = Usage::sum(agent.attempts.iter().filter_map(of_attempt));
        Self {
            name: agent.name,
            run_ids: agent.runs.iter().map(|run| run.wire(dialect)).collect(),
            summary: SummaryView::of(&agent.summary),
            usage: used.map(UsageView::from),
            metrics: agent.metrics,
            attempts: attempts
                .map(|attempt| AttemptView {
                    usage: of_attempt(attempt).map(UsageView::from),
                    ..AttemptView::of(attempt, agent.shows_criteria, dialect)
                })
                .collect(),
        }
    }
}

impl SummaryView {
    pub(crate) fn of(summary: &Summary) -> Self {
        Self {
            score: summary.score,
            low: summary.interval.map(|interval| interval.low),
            high: summary.interval.map(|interval| interval.high),
            about: summary.interval.map(|_| About::Tasks.as_str()),
            planned: summary.planned,
            scored: summary.scored,
            void: summary.void,
            agent_faults: summary.agent_faults,
            worst: summary.worst,
            best: summary.best,
        }
    }
}

/// What should be known, in a sentence.
fn told(warning: &ResultWarning) -> String {
    match warning {
        ResultWarning::LeftOut { names, all } => {
            let (named, others) = names.split_at(names.len().min(MOST_NAMED));
            let mut named: Vec<String> = named.iter().map(|name| format!("'{name}'")).collect();
            if !others.is_empty() {
                named.push(format!("{} more", others.len()));
            }
            format!(
                "{} of the benchmark's {all} tasks are left out, because they are done in playgrounds and not in devboxes: {}. \
                 A run that is made at /benchmark-runs takes all of them.",
                names.len(),
                named.join(", ")
            )
        }
        ResultWarning::Harbor(problem) => problem.to_string(),
    }
}

impl AttemptView {
    fn of(attempt: &AttemptResult, shows_criteria: bool, dialect: Dialect) -> Self {
        let fault = attempt.fault();
        Self {
            task: attempt.task.wire(dialect),
            attempt: attempt.attempt,
            run_id: attempt.run.wire(dialect),
            tries: attempt.tries,
            score: attempt.score().map(|score| score.value()),
            cause: fault.map(|fault| fault.cause.as_str()),
            reason: fault.and_then(|fault| fault.told().map(str::to_owned)),
            verdict: attempt.verdict().map(|verdict| verdict.to_string()),
            critical_misses: shows_criteria.then(|| {
                let misses = attempt.critical_misses().iter();
                misses.map(|miss| miss.name().to_owned()).collect()
            }),
            critical_reasons: attempt
                .critical_misses()
                .iter()
                .filter(|_| shows_criteria)
                .map(CriticalMiss::in_words)
                .collect(),
            usage: None,
            details: None,
        }
    }
}
