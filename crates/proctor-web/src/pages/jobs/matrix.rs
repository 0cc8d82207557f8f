//! What came of a job so far: by agent and scenario, by agent, and by what broke.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    id::kinds::{RunId, TaskId, TaskRunId},
    job::{Failure, JobAgent, JobPlan, Try, TryOutcome},
    results::Summary,
    scoring::Verdict,
};
use proctor_engine::jobs::JobDetails;

use crate::html::{self, Mark};

/// From how many tries on their times say something about the rest.
const FEWEST_FOR_ESTIMATE: usize = 4;

/// How far a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) planned: usize,
    pub(super) settled: usize,
    pub(super) running: usize,
    pub(super) void: usize,
}

impl Progress {
    pub(super) fn of(details: &JobDetails) -> Self {
        let plan = &details.job.plan;
        let last = last_tries(details.tries());
        let mut progress = Self {
            planned: plan.agents.len() * plan.scenarios.len(),
            ..Self::default()
        };
        for one in last.values() {
            match mark_of(one) {
                Mark::Running => progress.running += 1,
                Mark::Waiting => {}
                mark => {
                    progress.settled += 1;
                    progress.void += usize::from(mark == Mark::Void);
                }
            }
        }
        progress
    }

    pub(super) fn share(&self) -> f64 {
        self.settled as f64 / self.planned.max(1) as f64
    }

    pub(super) fn waiting(&self) -> usize {
        self.planned.saturating_sub(self.settled + self.running)
    }
}

/// One agent with one scenario.
pub(super) struct Cell {
    pub(super) mark: Mark,
    pub(super) score: Option<f64>,
    pub(super) tries: u32,
    pub(super) task_run: Option<TaskRunId>,
    pub(super) why: Option<String>,
}

impl Cell {
    /// What is told to whoever points at it.
    pub(super) fn title(&self) -> String {
        let mut title = self.mark.word().to_owned();
        if self.tries > 1 {
            title += &format!(", try {}", self.tries);
        }
        if let Some(why) = &self.why {
            title += &format!(": {}", why.chars().take(200).collect::<String>());
        }
        html::attribute(title)
    }
}

/// A scenario with what each agent made of it.
pub(super) struct MatrixRow {
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
}

/// What came of an agent.
pub(super) struct AgentRow<'j> {
    pub(super) agent: &'j JobAgent,
    pub(super) is_begun: bool,
    pub(super) settled: usize,
    pub(super) failed: usize,
    pub(super) timed_out: usize,
    /// The mean over what was completed, as the API tells it.
    pub(super) average: Option<f64>,
    /// Our own number: what the agent ended itself counts 0, void is left out.
    pub(super) summary: Summary,
}

/// A kind of failure.
pub(super) struct FailureRow {
    pub(super) kind: String,
    pub(super) count: usize,
    pub(super) is_void: bool,
    pub(super) example: String,
    pub(super) task_run: Option<TaskRunId>,
}

type Key = (RunId, TaskId);

/// The last try of each agent with each scenario.
fn last_tries(tries: &[Try]) -> BTreeMap<Key, &Try> {
    let mut last: BTreeMap<Key, &Try> = BTreeMap::new();
    for one in tries {
        let known = last.entry((one.run, one.task)).or_insert(one);
        if one.number >= known.number {
            *known = one;
        }
    }
    last
}

fn failure_of(one: &Try) -> Option<&Failure> {
    match one.outcome()? {
        TryOutcome::Failed(failure) | TryOutcome::TimedOut(failure) => Some(failure),
        TryOutcome::Interrupted(failure) => Some(failure),
        TryOutcome::Completed { .. } | TryOutcome::Cancelled => None,
    }
}

/// What became of a try.
fn mark_of(one: &Try) -> Mark {
    match one.outcome() {
        None => Mark::Running,
        Some(TryOutcome::Cancelled) => Mark::Cancelled,
        // It is tried again.
        Some(TryOutcome::Interrupted(_)) => Mark::Waiting,
        Some(TryOutcome::Completed {
            fault: Some(fault), ..
        }) if fault.cause.is_void() => Mark::Void,
        Some(TryOutcome::Completed {
            score,
            critical_misses,
            ..
        }) => match (score, critical_misses.is_empty()) {
            (Some(score), true) => Verdict::of(*score).into(),
            _ => Mark::Fail,
        },
        Some(TryOutcome::Failed(failure) | TryOutcome::TimedOut(failure)) => {
            match (failure.verified, failure.critical_misses.is_empty()) {
                (Some(score), true) => Verdict::of(score).into(),
                (Some(_), false) => Mark::Fail,
                (None, _) if failure.fault().cause.is_void() => Mark::Void,
                (None, _) => Mark::Fail,
            }
        }
    }
}

fn score_of(one: &Try) -> Option<f64> {
    match one.outcome()? {
        TryOutcome::Completed { score, .. } => score.map(|score| score.value()),
        TryOutcome::Failed(failure) | TryOutcome::TimedOut(failure) => {
            failure.verified.map(|score| score.value())
        }
        TryOutcome::Cancelled | TryOutcome::Interrupted(_) => None,
    }
}

/// A part of the scenarios with what each agent made of them.
pub(super) fn rows(details: &JobDetails, from: usize, most: usize) -> Vec<MatrixRow> {
    let plan = &details.job.plan;
    let last = last_tries(details.tries());
    let cell = |agent: &JobAgent, task: TaskId| match last.get(&(agent.run, task)) {
        None => Cell {
            mark: match details.job.is_over() {
                true => Mark::Cancelled,
                false => Mark::Waiting,
            },
            score: None,
            tries: 0,
            task_run: None,
            why: None,
        },
        Some(one) => Cell {
            mark: mark_of(one),
            score: score_of(one),
            tries: one.number,
            task_run: one.task_run,
            why: failure_of(one).map(|failure| failure.message.clone()),
        },
    };
    let scenarios = plan.scenarios.iter().skip(from).take(most);
    let rows = scenarios.map(|scenario| MatrixRow {
        name: scenario.name.clone(),
        cells: plan
            .agents
            .iter()
            .map(|agent| cell(agent, scenario.id))
            .collect(),
    });
    rows.collect()
}

/// What came of each agent.
pub(super) fn agents(details: &JobDetails) -> Vec<AgentRow<'_>> {
    let plan: &JobPlan = &details.job.plan;
    let last = last_tries(details.tries());
    let rows = plan.agents.iter().map(|agent| {
        let own = || last.values().filter(|one| one.run == agent.run);
        let completed: Vec<f64> = own()
            .filter_map(|one| match one.outcome()? {
                TryOutcome::Completed { score, .. } => score.map(|score| score.value()),
                _ => None,
            })
            .collect();
        let count = |wanted: fn(&TryOutcome) -> bool| {
            own()
                .filter(|one| one.outcome().is_some_and(wanted))
                .count()
        };
        let attempts = details.attempts_of(agent.run).unwrap_or_default();
        AgentRow {
            agent,
            is_begun: own().next().is_some(),
            settled: own()
                .filter(|one| !matches!(mark_of(one), Mark::Running | Mark::Waiting))
                .count(),
            failed: count(|outcome| matches!(outcome, TryOutcome::Failed(_))),
            timed_out: count(|outcome| matches!(outcome, TryOutcome::TimedOut(_))),
            average: (!completed.is_empty())
                .then(|| completed.iter().sum::<f64>() / completed.len() as f64),
            summary: Summary::of(&attempts),
        }
    });
    rows.collect()
}

/// What broke, by its name, the most frequent first. Every try counts, also those that were tried again.
pub(super) fn failures(details: &JobDetails) -> Vec<FailureRow> {
    let mut kinds: BTreeMap<&str, FailureRow> = BTreeMap::new();
    for one in details.tries() {
        let Some(failure) = failure_of(one) else {
            continue;
        };
        let row = kinds
            .entry(failure.exception_type())
            .or_insert_with(|| FailureRow {
                kind: failure.exception_type().to_owned(),
                count: 0,
                is_void: failure.fault().cause.is_void(),
                example: failure.message.clone(),
                task_run: one.task_run,
            });
        row.count += 1;
    }
    let mut rows: Vec<FailureRow> = kinds.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

/// How long the rest may take, as a range: by the quarter of tries that were fast, and the quarter that were slow.
pub(super) fn estimate(details: &JobDetails, progress: Progress) -> Option<(Duration, Duration)> {
    let mut times: Vec<Duration> = details
        .tries()
        .iter()
        .filter_map(|one| Some(one.end.as_ref()?.at.since(one.began_at)))
        .collect();
    if times.len() < FEWEST_FOR_ESTIMATE || details.job.is_over() {
        return None;
    }
    times.sort_unstable();
    let quarter = |of: usize| times[(times.len() - 1) * of / 4];
    let at_once = details.job.plan.orchestration.trials_at_once().max(1);
    let rest = u32::try_from((progress.waiting() + progress.running).div_ceil(at_once)).ok()?;
    Some((quarter(1) * rest, quarter(3) * rest))
}
