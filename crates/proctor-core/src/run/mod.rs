//! A benchmark being taken once.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    num::NonZeroU32,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    canonical::Digest,
    definition::{Benchmark, Task, World},
    id::kinds::{BenchmarkId, JobId, OrganizationId, RunId, SolverId, TaskId},
    profile::Particulars,
    refused::{Refused, Step},
    results::{AttemptResult, Summary, TriedTask, TryResult},
    scoring::{Counted, Scorecard},
    task_run::{Cause, Fault, NEVER_STARTED, TaskRun},
    time::Timestamp,
};

/// A benchmark being taken once. It pins the definition it started from: an edited benchmark
/// never changes a run under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Who pays for it: the organization that started it.
    pub organization: OrganizationId,
    /// The Solver that takes it; none for a run that the organization started itself.
    pub solver: Option<SolverId>,
    /// The job that carries it out, if one does.
    pub job: Option<JobId>,
    /// What is taken.
    pub pinned: Pinned,
    /// Whether the taker sees only scores, not what explains them.
    pub scored: bool,
    /// The taker's own words for what takes it.
    pub agent: Option<String>,
    /// How many task runs may be active at once.
    pub concurrency: NonZeroU32,
    /// Which tasks are taken, and who decides that the run is over.
    pub plan: RunPlan,
    /// What was said about it when it was started.
    pub particulars: Particulars,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its token ends, and with it what is left of the run; none if it has no token.
    pub expires_at: Option<Timestamp>,
    /// When it was put on the leaderboard, if it is on it.
    pub ranked_at: Option<Timestamp>,
    /// Where it stands.
    pub state: RunState,
}

/// Which tasks of its benchmark a run takes, and who decides that it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// The tasks that are taken; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<BTreeSet<TaskId>>,
    /// Whether the run stays open until somebody completes it, so that void tasks can be tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

impl RunPlan {
    /// Whether the plan takes a task.
    pub fn takes(&self, task: TaskId) -> bool {
        self.tasks
            .as_ref()
            .is_none_or(|tasks| tasks.contains(&task))
    }
}

/// The frozen definition that a run was started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// The published version; none for a draft.
    pub version: Option<u32>,
    /// The digest of the definition, by which it is stored.
    pub digest: Digest,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// No task was started.
    Created,
    /// At least one task was started.
    Started {
        /// When the first one was.
        at: Timestamp,
    },
    /// Over.
    Ended {
        /// When the first task was started, if one was.
        started_at: Option<Timestamp>,
        /// When it ended.
        at: Timestamp,
        /// How it ended.
        ending: Ending,
        /// Our own numbers; none in records of before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Summary>,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// All that was to be done is done.
    Completed {
        /// The score over everything.
        card: Scorecard,
    },
    /// Somebody stopped it.
    Cancelled {
        /// The score over what was completed before, if anything was.
        card: Option<Scorecard>,
    },
    /// It could not be carried on.
    Failed {
        /// Why.
        cause: Cause,
    },
}

/// Where a run stands, without what belongs to its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// No task was started.
    Created,
    /// At least one task was started.
    Started,
    /// All that was to be done is done.
    Completed,
    /// Somebody stopped it.
    Cancelled,
    /// It could not be carried on.
    Failed,
}

impl RunStatus {
    /// The word for records and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The number of the attempt in a run that has but one at each task.
const ONLY_ATTEMPT: u32 = 1;
/// How far a run is: all that decides whether it ends with a task run, without looking at the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many of its task runs are not over.
    pub open: u32,
    /// How many of its tasks were taken, each counted once.
    pub taken: u32,
}

impl Tally {
    /// Whether nothing is left to do of a run in which `wanted` tasks are to be taken.
    pub const fn is_complete(self, wanted: u32) -> bool {
        self.open == 0 && self.taken > 0 && self.taken >= wanted
    }

    /// The same after one more task run has ended.
    #[must_use]
    pub const fn with_one_ended(self) -> Self {
        Self {
            open: self.open.saturating_sub(1),
            taken: self.taken,
        }
    }
}

const SHORTEST_TOKEN: Duration = Duration::from_secs(60 * 60);
const LONGEST_TOKEN: Duration = Duration::from_secs(24 * 60 * 60);
const TOKEN_MARGIN: Duration = Duration::from_secs(15 * 60);

/// How long the token of a run lives whose tasks may take `limits`: as long as it takes to do
/// them with `concurrency` at once and a quarter of an hour more, within an hour and a day.
pub fn token_lifetime(limits: &[Duration], concurrency: NonZeroU32) -> Duration {
    let total = limits
        .iter()
        .fold(Duration::ZERO, |total, limit| total.saturating_add(*limit));
    (total / concurrency.get())
        .saturating_add(TOKEN_MARGIN)
        .clamp(SHORTEST_TOKEN, LONGEST_TOKEN)
}

impl Run {
    /// Allows one more task to start, unless the run is over or has as many active as it may.
    /// The first start moves the run on.
    pub fn admit(self, now: Timestamp, tasks: &[TaskRun]) -> Result<Step<Self>, Refused> {
        if self.is_over() {
            return Err(Refused::RunOver(self.status()));
        }
        let mut active = tasks.iter().filter(|task| task.is_active());
        let allowed = self.concurrency.get();
        if let Some(one) = active.next()
            && active.count() + 1 >= allowed as usize
        {
            return Err(Refused::TooManyStarted {
                active: one.id,
                allowed,
            });
        }
        Ok(match self.state {
            RunState::Created => Step::Changed(Self {
                state: RunState::Started { at: now },
                ..self
            }),
            RunState::Started { .. } | RunState::Ended { .. } => Step::Unchanged(self),
        })
    }

    /// Completes the run by itself if every one of `wanted`, the tasks of its definition, was taken
    /// and all of its task runs are over ([`Tally::is_complete`] says so without them): in the transaction that ended the last
    /// of them. A run without task runs does not complete by itself, and neither does a job's or one that is held open: a task may be
    /// tried again.
    #[must_use]
    pub fn settle<'a>(
        self,
        now: Timestamp,
        tasks: &[TaskRun],
        wanted: impl IntoIterator<Item = &'a Task>,
    ) -> Step<Self> {
        if self.is_over()
            || self.job.is_some()
            || self.plan.held
            || tasks.is_empty()
            || !tasks.iter().all(TaskRun::is_over)
        {
            return Step::Unchanged(self);
        }
        let wanted: Vec<&Task> = wanted.into_iter().collect();
        let taken: HashSet<TaskId> = tasks.iter().map(|one| one.task).collect();
        if !wanted.iter().all(|task| taken.contains(&task.id)) {
            return Step::Unchanged(self);
        }
        let summary = self.summary(tasks, wanted.iter().copied(), never_started());
        let card = whole(tasks, wanted);
        Step::Changed(self.end(now, Ending::Completed { card }, Some(summary)))
    }

    /// Completes the run because somebody asks for it; what was not scored counts zero.
    pub fn complete<'a>(
        self,
        now: Timestamp,
        tasks: &[TaskRun],
        wanted: impl IntoIterator<Item = &'a Task>,
    ) -> Result<Step<Self>, Refused> {
        match &self.state {
            RunState::Ended {
                ending: Ending::Completed { .. },
                ..
            } => Ok(Step::Unchanged(self)),
            RunState::Ended { .. } => Err(Refused::RunOver(self.status())),
            RunState::Created | RunState::Started { .. } => {
                let wanted: Vec<&Task> = wanted.into_iter().collect();
                let summary = self.summary(tasks, wanted.iter().copied(), never_started());
                let card = whole(tasks, wanted);
                Ok(Step::Changed(self.end(
                    now,
                    Ending::Completed { card },
                    Some(summary),
                )))
            }
        }
    }

    /// Stops the run. Stopping twice changes nothing; a completed run cannot be stopped.
    pub fn cancel<'a>(
        self,
        now: Timestamp,
        tasks: &[TaskRun],
        wanted: impl IntoIterator<Item = &'a Task>,
    ) -> Result<Step<Self>, Refused> {
        match &self.state {
            RunState::Ended {
                ending: Ending::Cancelled { .. },
                ..
            } => Ok(Step::Unchanged(self)),
            RunState::Ended { .. } => Err(Refused::RunOver(self.status())),
            RunState::Created | RunState::Started { .. } => {
                let with_result: Vec<Counted<'_>> = tasks
                    .iter()
                    .filter_map(TaskRun::card)
                    .map(Counted::Scored)
                    .collect();
                let card = Scorecard::of_run(&with_result);
                let summary = self.summary(tasks, wanted, Cause::Cancelled.into());
                Ok(Step::Changed(self.end(
                    now,
                    Ending::Cancelled { card },
                    Some(summary),
                )))
            }
        }
    }

    /// Ends the run because it cannot be carried on, with our own numbers of it. What is over stays as it is.
    #[must_use]
    pub fn fail(self, now: Timestamp, cause: Cause, summary: Summary) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        Step::Changed(self.end(now, Ending::Failed { cause }, Some(summary)))
    }

    /// The same run with these numbers of ours, if it is over: a job knows more of its tries than task runs tell.
    #[must_use]
    pub fn with_summary(mut self, numbers: Summary) -> Self {
        if let RunState::Ended { summary, .. } = &mut self.state {
            *summary = Some(numbers);
        }
        self
    }

    /// Puts the run on the leaderboard: only what was completed can be there.
    pub fn rank(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        match &self.state {
            RunState::Ended {
                ending: Ending::Completed { .. },
                ..
            } if self.ranked_at.is_some() => Ok(Step::Unchanged(self)),
            RunState::Ended {
                ending: Ending::Completed { .. },
                ..
            } => Ok(Step::Changed(Self {
                ranked_at: Some(now),
                ..self
            })),
            _ => Err(Refused::RunNotCompleted(self.status())),
        }
    }

    /// Takes the run off the leaderboard.
    #[must_use]
    pub fn unrank(self) -> Step<Self> {
        if self.ranked_at.is_none() {
            return Step::Unchanged(self);
        }
        Step::Changed(Self {
            ranked_at: None,
            ..self
        })
    }

    /// The same run, no longer held open: its token is over.
    #[must_use]
    pub fn release(mut self) -> Self {
        self.plan.held = false;
        self
    }

    /// The tasks that are to be taken before the run completes by itself.
    pub fn wanted<'a>(&self, benchmark: &'a Benchmark) -> impl Iterator<Item = &'a Task> + use<'a> {
        let takes_playgrounds = self.takes_playgrounds();
        let plan = self.plan.clone();
        let tasks = benchmark.tasks.iter();
        tasks.filter(move |task| plan.takes(task.id) && is_wanted(takes_playgrounds, task))
    }

    /// Whether tasks in playgrounds can be taken: by whoever has the run's token, or by a job, which needs none.
    const fn takes_playgrounds(&self) -> bool {
        self.expires_at.is_some() || self.job.is_some()
    }

    /// Whether a task is to be taken before the run completes by itself.
    pub fn wants(&self, task: &Task) -> bool {
        self.plan.takes(task.id) && is_wanted(self.takes_playgrounds(), task)
    }

    /// Whether only so many of its task runs may be active at once.
    pub fn is_limited(&self) -> bool {
        self.concurrency < NonZeroU32::MAX
    }

    /// Whether the run is over.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, RunState::Ended { .. })
    }

    /// When the first task was started.
    pub const fn started_at(&self) -> Option<Timestamp> {
        match &self.state {
            RunState::Created => None,
            RunState::Started { at } => Some(*at),
            RunState::Ended { started_at, .. } => *started_at,
        }
    }

    /// When the run ended.
    pub const fn ended_at(&self) -> Option<Timestamp> {
        match &self.state {
            RunState::Ended { at, .. } => Some(*at),
            RunState::Created | RunState::Started { .. } => None,
        }
    }

    /// The score on record.
    pub const fn card(&self) -> Option<&Scorecard> {
        match &self.state {
            RunState::Ended {
                ending: Ending::Completed { card },
                ..
            } => Some(card),
            RunState::Ended {
                ending: Ending::Cancelled { card },
                ..
            } => card.as_ref(),
            _ => None,
        }
    }

    /// Our own numbers, if it is over.
    pub const fn own_numbers(&self) -> Option<&Summary> {
        match &self.state {
            RunState::Ended { summary, .. } => summary.as_ref(),
            RunState::Created | RunState::Started { .. } => None,
        }
    }

    /// What came of each task of the run: one attempt each, however often it was tried. `tasks` are its task runs in the order in
    /// which they were made, `untried` is what is known of a task that has none.
    pub fn attempts<'a>(
        &self,
        tasks: &[TaskRun],
        wanted: impl IntoIterator<Item = &'a Task>,
        untried: &TryResult,
    ) -> Vec<AttemptResult> {
        let mut tries: HashMap<TaskId, Vec<TriedTask>> = HashMap::new();
        let mut unbegun: HashMap<TaskId, TryResult> = HashMap::new();
        for task_run in tasks {
            let result = TryResult::of(task_run);
            match task_run.started_at() {
                Some(_) => {
                    let of_task = tries.entry(task_run.task).or_default();
                    of_task.push((result, Some(task_run.id)));
                }
                // What nobody began is no try.
                None => drop(unbegun.insert(task_run.task, result)),
            }
        }
        let attempt = |task: &Task| {
            let tries = tries.remove(&task.id).unwrap_or_default();
            let untried = || unbegun.remove(&task.id).unwrap_or_else(|| untried.clone());
            AttemptResult::of(task.id, ONLY_ATTEMPT, self.id, tries, untried)
        };
        wanted.into_iter().map(attempt).collect()
    }

    fn summary<'a>(
        &self,
        tasks: &[TaskRun],
        wanted: impl IntoIterator<Item = &'a Task>,
        untried: Fault,
    ) -> Summary {
        let untried = TryResult::faulted(untried);
        Summary::of(&self.attempts(tasks, wanted, &untried))
    }

    /// The state without what belongs to it. Dialects have words of their own for it.
    pub const fn status(&self) -> RunStatus {
        match &self.state {
            RunState::Created => RunStatus::Created,
            RunState::Started { .. } => RunStatus::Started,
            RunState::Ended { ending, .. } => match ending {
                Ending::Completed { .. } => RunStatus::Completed,
                Ending::Cancelled { .. } => RunStatus::Cancelled,
                Ending::Failed { .. } => RunStatus::Failed,
            },
        }
    }

    fn end(self, now: Timestamp, ending: Ending, summary: Option<Summary>) -> Self {
        let started_at = self.started_at();
        Self {
            state: RunState::Ended {
                started_at,
                at: now,
                ending,
                summary,
            },
            ..self
        }
    }
}

/// Not every run can take the tasks that are done in playgrounds.
const fn is_wanted(takes_playgrounds: bool, task: &Task) -> bool {
    takes_playgrounds || matches!(task.world, World::Devbox { .. })
}

/// Why a task counts 0 that nobody began before its run ended.
pub fn never_started() -> Fault {
    Fault::new(Cause::AgentTimeout, NEVER_STARTED)
}

/// The score over all of `tasks`, whose definitions are among `wanted`; zero when nothing counts.
fn whole<'a>(tasks: &[TaskRun], wanted: impl IntoIterator<Item = &'a Task>) -> Scorecard {
    let definitions: HashMap<TaskId, &Task> =
        wanted.into_iter().map(|task| (task.id, task)).collect();
    let counted: Vec<Counted<'_>> = tasks
        .iter()
        .map(|task_run| task_run.counted(definitions.get(&task_run.task).copied()))
        .collect();
    Scorecard::of_run(&counted).unwrap_or_else(Scorecard::zero)
}

#[cfg(test)]
mod tests;
