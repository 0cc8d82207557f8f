//! A benchmark being taken once.

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU32,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    canonical::Digest,
    definition::Task,
    id::kinds::{BenchmarkId, JobId, OrganizationId, RunId, SolverId, TaskId},
    profile::Particulars,
    refused::{Refused, Step},
    scoring::{Counted, Scorecard},
    task_run::{Cause, TaskRun},
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
    /// and all of its task runs are over: call it in the transaction that ended one of them. A run
    /// without task runs does not complete by itself, and neither does a job's: it may try a task again.
    #[must_use]
    pub fn settle<'a>(
        self,
        now: Timestamp,
        tasks: &[TaskRun],
        wanted: impl IntoIterator<Item = &'a Task>,
    ) -> Step<Self> {
        if self.is_over()
            || self.job.is_some()
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
        let card = whole(tasks, wanted);
        Step::Changed(self.end(now, Ending::Completed { card }))
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
                let card = whole(tasks, wanted);
                Ok(Step::Changed(self.end(now, Ending::Completed { card })))
            }
        }
    }

    /// Stops the run. Stopping twice changes nothing; a completed run cannot be stopped.
    pub fn cancel(self, now: Timestamp, tasks: &[TaskRun]) -> Result<Step<Self>, Refused> {
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
                Ok(Step::Changed(self.end(now, Ending::Cancelled { card })))
            }
        }
    }

    /// Ends the run because it cannot be carried on. What is over stays as it is.
    #[must_use]
    pub fn fail(self, now: Timestamp, cause: Cause) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        Step::Changed(self.end(now, Ending::Failed { cause }))
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

    /// The state in one word, for records and messages. Dialects have words of their own.
    pub const fn status(&self) -> &'static str {
        match &self.state {
            RunState::Created => "created",
            RunState::Started { .. } => "started",
            RunState::Ended { ending, .. } => match ending {
                Ending::Completed { .. } => "completed",
                Ending::Cancelled { .. } => "cancelled",
                Ending::Failed { .. } => "failed",
            },
        }
    }

    fn end(self, now: Timestamp, ending: Ending) -> Self {
        let started_at = self.started_at();
        Self {
            state: RunState::Ended {
                started_at,
                at: now,
                ending,
            },
            ..self
        }
    }
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
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{
        scoring::{DEFAULT_AXIS, Verdict},
        task_run::tests::{at, card, task, task_run},
    };

    fn run(concurrency: u32) -> Run {
        Run {
            id: RunId::from_uuid(Uuid::from_u128(7)),
            organization: OrganizationId::from_uuid(Uuid::from_u128(1)),
            solver: None,
            job: None,
            pinned: Pinned {
                benchmark: BenchmarkId::from_uuid(Uuid::from_u128(2)),
                version: Some(1),
                digest: Digest::of_bytes(b"definition"),
            },
            scored: false,
            agent: None,
            concurrency: NonZeroU32::new(concurrency).unwrap(),
            particulars: Particulars::default(),
            created_at: at(0),
            expires_at: None,
            ranked_at: None,
            state: RunState::Created,
        }
    }

    fn tasks(count: u128) -> Vec<Task> {
        (1..=count).map(task).collect()
    }

    fn started(number: u128) -> TaskRun {
        task_run(number)
            .start(at(1), Some(Duration::from_secs(10)))
            .unwrap()
            .into_inner()
    }

    fn completed(number: u128, score: f64) -> TaskRun {
        started(number)
            .complete(at(2), at(2), card(score))
            .unwrap()
            .into_inner()
    }

    #[test]
    fn one_task_at_a_time_unless_the_benchmark_allows_more() {
        let tasks = [started(1), task_run(2)];
        let refusal = run(1).admit(at(1), &tasks).unwrap_err();
        assert_eq!(
            refusal,
            Refused::TooManyStarted {
                active: tasks[0].id,
                allowed: 1
            }
        );
        assert!(refusal.to_string().contains(&tasks[0].id.to_string()));
        assert_eq!(
            run(2)
                .admit(at(1), &tasks)
                .unwrap()
                .into_inner()
                .started_at(),
            Some(at(1))
        );
        assert!(run(2).admit(at(1), &[started(1), started(2)]).is_err());
    }

    #[test]
    fn a_run_completes_with_its_last_task() {
        let open = run(1).settle(at(3), &[completed(1, 1.0), task_run(2)], &tasks(2));
        assert!(!open.is_changed());
        let untaken = run(1).settle(at(3), &[completed(1, 1.0)], &tasks(2));
        assert!(!untaken.is_changed(), "the second task was never started");
        let timed_out = started(2).expire(at(11)).into_inner();
        let done = run(1)
            .settle(at(11), &[completed(1, 1.0), timed_out], &tasks(2))
            .into_inner();
        let result = done.card().unwrap();
        assert_eq!(
            (result.score.value(), result.verdict),
            (0.5, Verdict::Partial)
        );
        assert_eq!(done.admit(at(12), &[]), Err(Refused::RunOver("completed")));
    }

    #[test]
    fn a_task_that_timed_out_counts_zero_on_its_axes() {
        let wanted = tasks(4);
        let lost = started(3).fail(at(5), Cause::Infrastructure).into_inner();
        let ended = [
            completed(1, 1.0),
            started(2).expire(at(11)).into_inner(),
            started(4).fail(at(5), Cause::AgentCrash).into_inner(),
        ];
        let done = run(4).settle(at(11), &ended, &wanted[..2]).into_inner();
        let result = done.card().unwrap();
        let axis = result.axes[DEFAULT_AXIS];
        assert_eq!(result.score.value(), 1.0 / 3.0);
        assert_eq!(axis.score.value(), 0.5, "of the tasks that are known");
        let [one, two, four] = ended;
        let ended = [one, two, lost, four];
        let done = run(4).settle(at(11), &ended, &wanted).into_inner();
        let result = done.card().unwrap();
        let axis = result.axes[DEFAULT_AXIS];
        assert_eq!(result.score.value(), 0.25, "as the dialects prescribe");
        assert_eq!(
            (axis.score.value(), axis.weight),
            (1.0 / 3.0, 3.0),
            "what the platform broke is on no axis"
        );
    }

    #[test]
    fn a_run_of_a_job_ends_when_the_job_says_so() {
        let of_job = Run {
            job: Some(JobId::from_uuid(Uuid::from_u128(9))),
            ..run(1)
        };
        let task_runs = [completed(1, 1.0)];
        let open = of_job.settle(at(3), &task_runs, &tasks(1));
        assert!(!open.is_changed());
        let done = open
            .into_inner()
            .complete(at(4), &task_runs, &tasks(1))
            .unwrap();
        assert_eq!(done.into_inner().card().unwrap().score.value(), 1.0);
    }

    #[test]
    fn cancelling_keeps_what_was_completed_and_happens_once() {
        let tasks = [completed(1, 1.0), started(2).cancel(at(3)).into_inner()];
        let cancelled = run(1).cancel(at(3), &tasks).unwrap().into_inner();
        assert_eq!(cancelled.card().unwrap().score.value(), 1.0);
        assert!(
            !cancelled
                .clone()
                .cancel(at(4), &tasks)
                .unwrap()
                .is_changed()
        );
        assert_eq!(
            cancelled.complete(at(4), &tasks, []),
            Err(Refused::RunOver("cancelled"))
        );
        assert_eq!(
            run(1)
                .cancel(at(3), &[started(1)])
                .unwrap()
                .into_inner()
                .card(),
            None
        );
    }

    #[test]
    fn a_completed_run_cannot_be_cancelled() {
        let done = run(1)
            .complete(at(3), &[completed(1, 1.0), task_run(2)], &tasks(2))
            .unwrap()
            .into_inner();
        assert_eq!(done.card().unwrap().score.value(), 0.5);
        assert!(!done.clone().complete(at(4), &[], []).unwrap().is_changed());
        assert_eq!(
            done.clone().cancel(at(4), &[]),
            Err(Refused::RunOver("completed"))
        );
        assert!(!done.fail(at(5), Cause::Infrastructure).is_changed());
    }

    #[test]
    fn a_token_lives_as_long_as_the_work_within_an_hour_and_a_day() {
        let hours = |count: u64| Duration::from_secs(count * 3600);
        let one = NonZeroU32::MIN;
        assert_eq!(token_lifetime(&[], one), hours(1));
        assert_eq!(
            token_lifetime(&[hours(2), hours(2)], one),
            hours(4) + TOKEN_MARGIN
        );
        assert_eq!(
            token_lifetime(&[hours(2), hours(2)], NonZeroU32::new(4).unwrap()),
            hours(1) + TOKEN_MARGIN
        );
        assert_eq!(token_lifetime(&[Duration::MAX, hours(2)], one), hours(24));
    }

    #[test]
    fn only_a_completed_run_can_be_ranked() {
        assert_eq!(run(1).rank(at(1)), Err(Refused::RunNotCompleted("created")));
        let tasks = [completed(1, 1.0)];
        let done = run(1).settle(at(3), &tasks, []).into_inner();
        let ranked = done.rank(at(4)).unwrap().into_inner();
        assert_eq!(ranked.ranked_at, Some(at(4)));
        assert!(!ranked.clone().rank(at(5)).unwrap().is_changed());
        let off = ranked.unrank().into_inner();
        assert_eq!(off.ranked_at, None);
        assert!(!off.unrank().is_changed());
    }
}
