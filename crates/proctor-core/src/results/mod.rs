//! Our own numbers: what the tries of an agent are worth, without silent zeros and without silent holes.
//!
//! The dialects prescribe how they score a run, and stay as they are ([`crate::scoring`], [`crate::job::Board`]). Here an *attempt* is
//! a planned repeat of a task by an agent, and a *try* one execution of it:
//!
//! * An attempt counts with its first try that is not void. Later tries never change it, so trying again is no best-of-n.
//! * What the agent ended itself counts 0; what says nothing about the agent is void: left out of the mean, and counted.
//! * The unit is the task: attempts are averaged per task, then tasks.
//! * A number that is missing is missing, never 0.

use std::collections::BTreeMap;

use proctor_statistics::{Alpha, Attempt, Attempts, Task, Tasks, summarize};
use serde::{Deserialize, Serialize};

use crate::{
    id::kinds::{RunId, TaskId, TaskRunId},
    scoring::{CriticalMiss, Score, Scorecard, Verdict, mean},
    task_run::{Cause, Fault, Outcome, TaskRun, TaskRunState},
};

/// What is known of a try.
#[derive(Clone, Debug, PartialEq)]
pub enum TryResult {
    /// It is not over.
    Pending,
    /// It was judged.
    Scored {
        /// What it counts.
        score: Score,
        /// The critical criteria that were missed.
        critical_misses: Vec<CriticalMiss>,
    },
    /// It ended without a judgement.
    Faulted {
        /// Why.
        fault: Fault,
        /// The critical criteria that its world misses, where it was judged as evidence.
        critical_misses: Vec<CriticalMiss>,
    },
}

impl TryResult {
    /// A judgement that missed nothing critical.
    pub const fn scored(score: Score) -> Self {
        Self::Scored {
            score,
            critical_misses: Vec::new(),
        }
    }

    /// An end without a judgement of which nothing more is known.
    pub fn faulted(fault: impl Into<Fault>) -> Self {
        Self::Faulted {
            fault: fault.into(),
            critical_misses: Vec::new(),
        }
    }

    /// What a scorecard says.
    pub fn of_card(card: &Scorecard) -> Self {
        Self::Scored {
            score: card.score,
            critical_misses: card.critical_misses.clone(),
        }
    }

    /// What the state of a task run says.
    pub fn of(task_run: &TaskRun) -> Self {
        let TaskRunState::Ended { outcome, .. } = &task_run.state else {
            return Self::Pending;
        };
        match (outcome, task_run.fault()) {
            (_, Some(fault)) => Self::Faulted {
                fault,
                critical_misses: task_run.misses_without_score().to_vec(),
            },
            (
                Outcome::Completed {
                    card: Some(card), ..
                },
                None,
            ) => Self::of_card(card),
            (_, None) => Self::faulted(not_scored()),
        }
    }

    /// Whether it says nothing about the agent.
    pub const fn is_void(&self) -> bool {
        match self {
            Self::Faulted { fault, .. } => fault.cause.is_void(),
            Self::Pending | Self::Scored { .. } => false,
        }
    }
}

/// Why something counts 0 that was completed before it was judged.
pub(crate) fn not_scored() -> Fault {
    Fault::new(Cause::AgentTimeout, "it was completed before it was scored")
}

/// A planned repeat of a task by an agent, with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptResult {
    /// The task.
    pub task: TaskId,
    /// The first, second, … repeat.
    pub attempt: u32,
    /// The run that it belongs to.
    pub run: RunId,
    /// How often it was tried.
    pub tries: u32,
    /// What it counts with.
    pub result: TryResult,
    /// The task run of the try that counts, if it came to one.
    pub task_run: Option<TaskRunId>,
}

/// What came of a try, and the task run that it was.
pub type TriedTask = (TryResult, Option<TaskRunId>);

impl AttemptResult {
    /// What an attempt counts with whose tries came to `tries`, in their order: the first that is not void. One without any is
    /// `untried`.
    pub fn of(
        task: TaskId,
        attempt: u32,
        run: RunId,
        tries: impl IntoIterator<Item = TriedTask>,
        untried: impl FnOnce() -> TryResult,
    ) -> Self {
        let mut count = 0;
        let mut counted: Option<TriedTask> = None;
        for one in tries {
            count += 1;
            if counted.as_ref().is_none_or(|(result, _)| result.is_void()) {
                counted = Some(one);
            }
        }
        let (result, task_run) = counted.unwrap_or_else(|| (untried(), None));
        Self {
            task,
            attempt,
            run,
            tries: count,
            result,
            task_run,
        }
    }

    /// What it adds to the mean; none if it is void or not over.
    pub const fn score(&self) -> Option<Score> {
        match &self.result {
            TryResult::Scored { score, .. } => Some(*score),
            TryResult::Faulted { fault, .. } if fault.cause.is_agent_fault() => Some(Score::ZERO),
            TryResult::Faulted { .. } | TryResult::Pending => None,
        }
    }

    /// The verdict on its score, capped at `fail` where something critical was missed.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdict = self.score().map(Verdict::of)?;
        match self.critical_misses() {
            [] => Some(verdict),
            _ => Some(Verdict::Fail),
        }
    }

    /// The critical criteria that were missed.
    pub fn critical_misses(&self) -> &[CriticalMiss] {
        match &self.result {
            TryResult::Scored {
                critical_misses, ..
            }
            | TryResult::Faulted {
                critical_misses, ..
            } => critical_misses,
            TryResult::Pending => &[],
        }
    }

    /// Why it was not judged, if it was not.
    pub const fn fault(&self) -> Option<&Fault> {
        match &self.result {
            TryResult::Faulted { fault, .. } => Some(fault),
            TryResult::Scored { .. } | TryResult::Pending => None,
        }
    }
}

/// Between which scores the truth lies, with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The numbers of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The mean over tasks of the mean over their attempts that count; none if none does.
    pub score: Option<f64>,
    /// The 95 % interval around the score for tasks like these; none without a score, and in records of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// How many attempts were planned.
    pub planned: u32,
    /// How many of them count, those that the agent ended itself included.
    pub scored: u32,
    /// How many are void.
    pub void: u32,
    /// How many count 0 because the agent ended them itself.
    pub agent_faults: u32,
    /// The mean if everything that is void or not over were worth 0; none if nothing was planned.
    pub worst: Option<f64>,
    /// The mean if it were worth 1.
    pub best: Option<f64>,
}

impl Summary {
    /// The numbers that follow from these attempts, in whatever order.
    pub fn of<'a>(attempts: impl IntoIterator<Item = &'a AttemptResult>) -> Self {
        let mut tasks: BTreeMap<TaskId, TaskScores> = BTreeMap::new();
        let (mut scored, mut void, mut agent_faults, mut planned) = (0, 0, 0, 0);
        for attempt in attempts {
            planned += 1;
            let of_task = tasks.entry(attempt.task).or_default();
            match attempt.score() {
                Some(score) => {
                    scored += 1;
                    agent_faults += u32::from(attempt.fault().is_some());
                    of_task.known.push(score.value());
                }
                None => {
                    void += u32::from(attempt.result.is_void());
                    of_task.unknown += 1;
                }
            }
        }
        let score = mean_of(
            tasks
                .values()
                .filter_map(|task| mean_of(task.known.iter().copied())),
        );
        // Equal but for rounding where nothing is unknown: the bounds hold to the last bit.
        let worst = mean_of(tasks.values().filter_map(|task| task.filled_with(0.0)));
        let best = mean_of(tasks.values().filter_map(|task| task.filled_with(1.0)));
        Self {
            score,
            interval: interval(&tasks),
            planned,
            scored,
            void,
            agent_faults,
            worst: worst.map(|worst| score.map_or(worst, |score| worst.min(score))),
            best: best.map(|best| score.map_or(best, |score| best.max(score))),
        }
    }
}

/// What is known of the attempts at one task.
#[derive(Default)]
struct TaskScores {
    known: Vec<f64>,
    unknown: usize,
}

impl TaskScores {
    fn filled_with(&self, value: f64) -> Option<f64> {
        let unknown = std::iter::repeat_n(value, self.unknown);
        mean_of(self.known.iter().copied().chain(unknown))
    }
}

/// The interval around the mean over tasks: what is void or not over is left out.
fn interval(tasks: &BTreeMap<TaskId, TaskScores>) -> Option<Interval> {
    let scored = tasks.iter().filter(|(_, task)| !task.known.is_empty());
    let scored = scored.map(|(id, task)| {
        let attempts = task.known.iter().map(|score| Attempt::Scored(*score));
        Some(Task {
            id: id.bare(),
            cluster: None,
            data: Attempts::new(attempts).ok()?,
        })
    });
    let tasks = Tasks::new(scored.collect::<Option<Vec<_>>>()?).ok()?;
    let found = summarize(&tasks, Alpha::FIVE_PERCENT).ok()?;
    Some(Interval {
        low: found.low,
        high: found.high,
    })
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| mean(values.into_iter()).value())
}

#[cfg(test)]
mod tests;
