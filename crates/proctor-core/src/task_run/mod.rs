//! A task being taken once: its states and the only ways between them.
//!
//! ```text
//! created → started ─────────────────────────→ completed
//!              │ ↘ scoring → scored ─────────↗
//!              │      ↑_________│
//!              └→ timed out, cancelled, failed  (from every live state)
//! ```
//! The Verial dialect freezes, scores and completes in one step; the Runloop dialect passes
//! through `scoring` and `scored`. Both are walks through the same machine.

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::cause::{Cause, Fault, Reason, SlowScoring};
use crate::{
    canonical::Digest,
    definition::Task,
    id::kinds::{DevboxId, RunId, TaskId, TaskRunId},
    profile::Particulars,
    refused::{Refused, Step},
    scoring::{Counted, CriticalMiss, Scorecard},
    time::Timestamp,
};

// What is said of task runs that nobody said more about.
const TIME_IS_OVER: &str = "the time of the task was over";
const RUN_ENDED: &str = "its run ended";
pub(crate) const NEVER_STARTED: &str = "it was never started";

/// A task being taken once.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// Its name.
    pub id: TaskRunId,
    /// The run it belongs to; a scenario can also be taken by itself.
    pub run: Option<RunId>,
    /// The task that is taken, as frozen in the run's definition.
    pub task: TaskId,
    /// The definition that it was started from, where it belongs to no run that says it.
    pub definition: Option<Digest>,
    /// The box that it is done in, if it is done in one.
    pub devbox: Option<DevboxId>,
    /// What was said about it when it was started.
    pub particulars: Particulars,
    /// When it was made.
    pub created_at: Timestamp,
    /// Where it stands.
    pub state: TaskRunState,
}

/// Where a task run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskRunState {
    /// Made, its world not handed over.
    Created,
    /// The agent is at work.
    Started(Started),
    /// The agent is done and its world is being judged.
    Scoring {
        /// The agent's part.
        work: Started,
        /// When scoring began.
        since: Timestamp,
        /// When scoring must be over.
        deadline: Timestamp,
    },
    /// Judged, the world kept; it may be judged again.
    Scored {
        /// The agent's part.
        work: Started,
        /// When the score was recorded.
        at: Timestamp,
        /// The score.
        card: Scorecard,
        /// Why the score says nothing about the agent, if it does not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// Over.
    Ended {
        /// When the agent began, if it did.
        started_at: Option<Timestamp>,
        /// When it ended.
        at: Timestamp,
        /// How it ended.
        outcome: Outcome,
    },
}

/// Where a task run stands, without what belongs to its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskRunStatus {
    /// Made, its world not handed over.
    Created,
    /// The agent is at work.
    Started,
    /// Its world is being judged.
    Scoring,
    /// Judged, the world kept.
    Scored,
    /// It came to its own end.
    Completed,
    /// A clock ran out.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
    /// Something broke.
    Failed,
}

impl TaskRunStatus {
    /// The word for records and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Started => "started",
            Self::Scoring => "scoring",
            Self::Scored => "scored",
            Self::Completed => "completed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

impl std::fmt::Display for TaskRunStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The agent's part of a task run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// When the world was handed over.
    pub at: Timestamp,
    /// When the agent must be done, if there is a limit.
    pub deadline: Option<Timestamp>,
}

/// How a task run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// By its own completion; without a score when it was never scored.
    Completed {
        /// The score.
        card: Option<Scorecard>,
        /// Why the score says nothing about the agent, if it does not: a dialect shows it, our own numbers leave it out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// A clock ran out.
    TimedOut {
        /// Whose fault it is.
        cause: Cause,
        /// What happened, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// Whether the agent was done and its world was being judged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_scoring: bool,
        /// The critical criteria that the world misses, judged as evidence.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        critical_misses: Vec<CriticalMiss>,
    },
    /// Somebody stopped it. A score from before is kept for the record.
    Cancelled {
        /// The score from before.
        card: Option<Scorecard>,
    },
    /// Something broke.
    Failed {
        /// What broke.
        cause: Cause,
        /// What happened, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// The critical criteria that the world misses, judged as evidence.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        critical_misses: Vec<CriticalMiss>,
    },
}

impl Outcome {
    /// The agent's clock ran out.
    fn agent_too_slow(reason: impl Into<String>) -> Self {
        let Fault { cause, reason } = Fault::new(Cause::AgentTimeout, reason);
        Self::TimedOut {
            cause,
            reason,
            in_scoring: false,
            critical_misses: Vec::new(),
        }
    }

    /// The clock of the scorers ran out.
    fn scoring_too_slow(why: SlowScoring) -> Self {
        let Fault { cause, reason } = why.fault();
        Self::TimedOut {
            cause,
            reason,
            in_scoring: true,
            critical_misses: Vec::new(),
        }
    }

    /// Completed with a score that is the agent's, or with none.
    const fn completed(card: Option<Scorecard>) -> Self {
        Self::Completed { card, fault: None }
    }

    fn failed(fault: Fault) -> Self {
        let Fault { cause, reason } = fault;
        Self::Failed {
            cause,
            reason,
            critical_misses: Vec::new(),
        }
    }

    /// The same, with what the world was found to miss. A score says so itself.
    fn missing(mut self, found: Vec<CriticalMiss>) -> Self {
        match &mut self {
            Self::TimedOut {
                critical_misses, ..
            }
            | Self::Failed {
                critical_misses, ..
            } => *critical_misses = found,
            Self::Completed { .. } | Self::Cancelled { .. } => {}
        }
        self
    }
}

impl TaskRun {
    /// A task run that nobody has started.
    pub fn new(id: TaskRunId, run: Option<RunId>, task: TaskId, now: Timestamp) -> Self {
        Self {
            id,
            run,
            task,
            definition: None,
            devbox: None,
            particulars: Particulars::default(),
            created_at: now,
            state: TaskRunState::Created,
        }
    }

    /// Hands the world over. Starting what is started changes nothing.
    pub fn start(self, now: Timestamp, limit: Option<Duration>) -> Result<Step<Self>, Refused> {
        match self.state {
            TaskRunState::Created => {
                let work = Started {
                    at: now,
                    deadline: limit.map(|limit| now.plus(limit)),
                };
                Ok(Step::Changed(Self {
                    state: TaskRunState::Started(work),
                    ..self
                }))
            }
            TaskRunState::Started(_) => Ok(Step::Unchanged(self)),
            TaskRunState::Scoring { .. } | TaskRunState::Scored { .. } => {
                Err(Refused::TaskRunInScoring)
            }
            TaskRunState::Ended { .. } => Err(Refused::TaskRunOver(self.status())),
        }
    }

    /// Ends the task run with `card`, judged on a world frozen at `arrived`. A request that
    /// arrived after the deadline finds the task run timed out instead. Completing what is over
    /// changes nothing, unless it was cancelled or failed, which is refused.
    pub fn complete(
        self,
        arrived: Timestamp,
        now: Timestamp,
        card: Scorecard,
    ) -> Result<Step<Self>, Refused> {
        match self.state {
            TaskRunState::Created => Err(Refused::TaskRunNotStarted),
            TaskRunState::Started(work) if work.is_over(arrived) => {
                let outcome = Outcome::agent_too_slow(TIME_IS_OVER).missing(card.critical_misses);
                Ok(Step::Changed(self.end(now, outcome)))
            }
            TaskRunState::Started(_) => {
                Ok(Step::Changed(self.end(now, Outcome::completed(Some(card)))))
            }
            TaskRunState::Scoring { .. } => Err(Refused::TaskRunInScoring),
            TaskRunState::Scored { .. } => self.finish(now),
            TaskRunState::Ended {
                outcome: Outcome::Completed { .. } | Outcome::TimedOut { .. },
                ..
            } => Ok(Step::Unchanged(self)),
            TaskRunState::Ended { .. } => Err(Refused::TaskRunOver(self.status())),
        }
    }

    /// The same, if it has ended without a score: with the critical criteria that its world was found to miss.
    #[must_use]
    pub fn missing(self, found: Vec<CriticalMiss>) -> Self {
        match self.state {
            TaskRunState::Ended {
                started_at,
                at,
                outcome,
            } => Self {
                state: TaskRunState::Ended {
                    started_at,
                    at,
                    outcome: outcome.missing(found),
                },
                ..self
            },
            _ => self,
        }
    }

    /// The critical criteria that the world of a task run misses which ended without a score.
    pub fn misses_without_score(&self) -> &[CriticalMiss] {
        match &self.state {
            TaskRunState::Ended {
                outcome:
                    Outcome::TimedOut {
                        critical_misses, ..
                    }
                    | Outcome::Failed {
                        critical_misses, ..
                    },
                ..
            } => critical_misses,
            _ => &[],
        }
    }

    /// Begins to judge, for the first time or again.
    pub fn begin_scoring(self, now: Timestamp, limit: Duration) -> Result<Step<Self>, Refused> {
        match self.state {
            TaskRunState::Created => Err(Refused::TaskRunNotStarted),
            TaskRunState::Started(work) | TaskRunState::Scored { work, .. } => {
                let state = TaskRunState::Scoring {
                    work,
                    since: now,
                    deadline: now.plus(limit),
                };
                Ok(Step::Changed(Self { state, ..self }))
            }
            TaskRunState::Scoring { .. } => Ok(Step::Unchanged(self)),
            TaskRunState::Ended { .. } => Err(Refused::TaskRunOver(self.status())),
        }
    }

    /// Gives the judge all of its time again: the server that let it work had ended. What is not being judged stays as it is.
    #[must_use]
    pub fn resume_scoring(self, now: Timestamp, limit: Duration) -> Step<Self> {
        match self.state {
            TaskRunState::Scoring {
                work,
                since,
                deadline,
            } if deadline != now.plus(limit) => {
                let state = TaskRunState::Scoring {
                    work,
                    since,
                    deadline: now.plus(limit),
                };
                Step::Changed(Self { state, ..self })
            }
            _ => Step::Unchanged(self),
        }
    }

    /// Records the judge's answer, and why it says nothing about the agent if it does not.
    pub fn record_score(
        self,
        now: Timestamp,
        card: Scorecard,
        fault: Option<Fault>,
    ) -> Result<Step<Self>, Refused> {
        match self.state {
            TaskRunState::Scoring { deadline, .. } if deadline <= now => Ok(Step::Changed(
                self.end(now, Outcome::scoring_too_slow(SlowScoring::Scorers)),
            )),
            TaskRunState::Scoring { work, .. } => {
                let state = TaskRunState::Scored {
                    work,
                    at: now,
                    card,
                    fault,
                };
                Ok(Step::Changed(Self { state, ..self }))
            }
            TaskRunState::Ended { .. } => Err(Refused::TaskRunOver(self.status())),
            TaskRunState::Created | TaskRunState::Started(_) | TaskRunState::Scored { .. } => {
                Err(Refused::TaskRunNotInScoring)
            }
        }
    }

    /// Ends the task run with the score it has, or with none. Finishing what is over changes
    /// nothing.
    pub fn finish(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        match &self.state {
            TaskRunState::Created => Err(Refused::TaskRunNotStarted),
            TaskRunState::Scoring { .. } => Err(Refused::TaskRunInScoring),
            TaskRunState::Started(_) | TaskRunState::Scored { .. } => {
                let outcome = self.as_scored();
                Ok(Step::Changed(self.end(now, outcome)))
            }
            TaskRunState::Ended { .. } => Ok(Step::Unchanged(self)),
        }
    }

    /// Ends the task run without a judgement, because nobody wants one. What is over stays as it is.
    #[must_use]
    pub fn complete_unjudged(self, now: Timestamp, why: Fault) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        let outcome = Outcome::Completed {
            card: None,
            fault: Some(why),
        };
        Step::Changed(self.end(now, outcome))
    }

    /// Stops the task run. Stopping what is over changes nothing and keeps its result.
    #[must_use]
    pub fn cancel(self, now: Timestamp) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        let card = self.card().cloned();
        Step::Changed(self.end(now, Outcome::Cancelled { card }))
    }

    /// Ends the task run because something broke. What is over stays as it is.
    #[must_use]
    pub fn fail(self, now: Timestamp, fault: impl Into<Fault>) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        Step::Changed(self.end(now, Outcome::failed(fault.into())))
    }

    /// Ends the task run because its world has ended: with the score it has, which needs no world any more, else as failed.
    #[must_use]
    pub fn lose_world(self, now: Timestamp, fault: impl Into<Fault>) -> Step<Self> {
        match self.state {
            TaskRunState::Scored { .. } => {
                let outcome = self.as_scored();
                Step::Changed(self.end(now, outcome))
            }
            _ => self.fail(now, fault),
        }
    }

    /// Ends the task run if one of its clocks has run out.
    #[must_use]
    pub fn expire(self, now: Timestamp) -> Step<Self> {
        let outcome = match self.state {
            TaskRunState::Started(work) if work.is_over(now) => {
                Outcome::agent_too_slow(TIME_IS_OVER)
            }
            TaskRunState::Scoring { deadline, .. } if deadline <= now => {
                Outcome::scoring_too_slow(SlowScoring::Scorers)
            }
            _ => return Step::Unchanged(self),
        };
        Step::Changed(self.end(now, outcome))
    }

    /// Ends the task run because the agent took longer than whoever runs it allows. What is being judged or over stays as
    /// it is.
    #[must_use]
    pub fn time_out_agent(self, now: Timestamp, reason: impl Into<String>) -> Step<Self> {
        match self.state {
            TaskRunState::Created | TaskRunState::Started(_) => {
                Step::Changed(self.end(now, Outcome::agent_too_slow(reason)))
            }
            TaskRunState::Scoring { .. }
            | TaskRunState::Scored { .. }
            | TaskRunState::Ended { .. } => Step::Unchanged(self),
        }
    }

    /// Ends the task run because judging took longer than it may. What is not being judged stays as it is.
    #[must_use]
    pub fn time_out_scoring(self, now: Timestamp, why: SlowScoring) -> Step<Self> {
        match self.state {
            TaskRunState::Scoring { .. } => {
                Step::Changed(self.end(now, Outcome::scoring_too_slow(why)))
            }
            _ => Step::Unchanged(self),
        }
    }

    /// Ends what is left when the run's token has expired: what was started has timed out, what
    /// was never started has failed. What is being judged was done in time, and has a clock of its own.
    #[must_use]
    pub fn sweep(self, now: Timestamp) -> Step<Self> {
        let outcome = match self.state {
            TaskRunState::Ended { .. } | TaskRunState::Scoring { .. } => {
                return Step::Unchanged(self);
            }
            TaskRunState::Created => {
                Outcome::failed(Fault::new(Cause::AgentTimeout, NEVER_STARTED))
            }
            TaskRunState::Started(_) => Outcome::agent_too_slow(RUN_ENDED),
            TaskRunState::Scored { .. } => self.as_scored(),
        };
        Step::Changed(self.end(now, outcome))
    }

    /// Ends what is left when its run is completed on request: what was scored keeps its score, and what was not has none. A
    /// box that nobody asked to score is completed without a score; a playground is completed by being judged, so one that was
    /// not has timed out.
    #[must_use]
    pub fn close(self, now: Timestamp) -> Step<Self> {
        match (&self.state, self.devbox) {
            (TaskRunState::Started(_), Some(_)) => {
                Step::Changed(self.end(now, Outcome::completed(None)))
            }
            _ => self.sweep(now),
        }
    }

    /// Whether one of its clocks has run out.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Whether the task run is over.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, TaskRunState::Ended { .. })
    }

    /// Whether the agent holds one of the run's places: handed over and not over.
    pub const fn is_active(&self) -> bool {
        !matches!(
            self.state,
            TaskRunState::Created | TaskRunState::Ended { .. }
        )
    }

    /// When the agent began.
    pub fn started_at(&self) -> Option<Timestamp> {
        match &self.state {
            TaskRunState::Created => None,
            TaskRunState::Started(work)
            | TaskRunState::Scoring { work, .. }
            | TaskRunState::Scored { work, .. } => Some(work.at),
            TaskRunState::Ended { started_at, .. } => *started_at,
        }
    }

    /// When the task run ended.
    pub const fn ended_at(&self) -> Option<Timestamp> {
        match &self.state {
            TaskRunState::Ended { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// The next instant at which [`TaskRun::expire`] has something to do.
    pub const fn deadline(&self) -> Option<Timestamp> {
        match &self.state {
            TaskRunState::Started(work) => work.deadline,
            TaskRunState::Scoring { deadline, .. } => Some(*deadline),
            _ => None,
        }
    }

    /// The score on record. A task run that timed out has none of its own; see
    /// [`TaskRun::counted`] for what it is worth.
    pub const fn card(&self) -> Option<&Scorecard> {
        match &self.state {
            TaskRunState::Scored { card, .. } => Some(card),
            TaskRunState::Ended {
                outcome: Outcome::Completed { card, .. } | Outcome::Cancelled { card },
                ..
            } => card.as_ref(),
            _ => None,
        }
    }

    /// How this task run, of `task`, enters its run's score.
    pub fn counted(&self, task: Option<&Task>) -> Counted<'_> {
        match (self.cause(), self.card()) {
            (Some(Cause::Cancelled), _) => Counted::Not,
            (_, Some(card)) => Counted::Scored(card),
            (Some(cause), None) if cause.is_void() => Counted::Void,
            (_, None) => {
                let nothing = task.map_or_else(Scorecard::zero, Task::missed);
                let missed = self.misses_without_score().iter().cloned();
                Counted::Zero(nothing.with_critical_misses(missed))
            }
        }
    }

    /// Why it does not count with a score, if it is over and does not: what ended it, or why its score says nothing about the agent.
    pub const fn cause(&self) -> Option<Cause> {
        match &self.state {
            TaskRunState::Ended { outcome, .. } => match outcome {
                Outcome::Completed { fault: None, .. } => None,
                Outcome::Completed {
                    fault: Some(fault), ..
                } => Some(fault.cause),
                Outcome::TimedOut { cause, .. } | Outcome::Failed { cause, .. } => Some(*cause),
                Outcome::Cancelled { .. } => Some(Cause::Cancelled),
            },
            _ => None,
        }
    }

    /// What happened, in words, where somebody said so.
    pub fn reason(&self) -> Option<&Reason> {
        match &self.state {
            TaskRunState::Ended {
                outcome:
                    Outcome::TimedOut { reason, .. }
                    | Outcome::Failed { reason, .. }
                    | Outcome::Completed {
                        fault: Some(Fault { reason, .. }),
                        ..
                    },
                ..
            } => reason.as_ref(),
            _ => None,
        }
    }

    /// Why it does not count with a score, if it is over and does not.
    pub fn fault(&self) -> Option<Fault> {
        Some(Fault {
            cause: self.cause()?,
            reason: self.reason().cloned(),
        })
    }

    /// Whether judging it took longer than it may: then there are records of what scorers said until then.
    pub const fn timed_out_in_scoring(&self) -> bool {
        match &self.state {
            TaskRunState::Ended {
                outcome:
                    Outcome::TimedOut {
                        cause, in_scoring, ..
                    },
                ..
            } => *in_scoring || matches!(cause, Cause::ScorerError),
            _ => false,
        }
    }

    /// The state without what belongs to it. Dialects have words of their own for it.
    pub const fn status(&self) -> TaskRunStatus {
        match &self.state {
            TaskRunState::Created => TaskRunStatus::Created,
            TaskRunState::Started(_) => TaskRunStatus::Started,
            TaskRunState::Scoring { .. } => TaskRunStatus::Scoring,
            TaskRunState::Scored { .. } => TaskRunStatus::Scored,
            TaskRunState::Ended { outcome, .. } => match outcome {
                Outcome::Completed { .. } => TaskRunStatus::Completed,
                Outcome::TimedOut { .. } => TaskRunStatus::TimedOut,
                Outcome::Cancelled { .. } => TaskRunStatus::Cancelled,
                Outcome::Failed { .. } => TaskRunStatus::Failed,
            },
        }
    }

    /// How it ends as it stands: with the score it has, or with none.
    fn as_scored(&self) -> Outcome {
        match &self.state {
            TaskRunState::Scored { card, fault, .. } => Outcome::Completed {
                card: Some(card.clone()),
                fault: fault.clone(),
            },
            _ => Outcome::completed(None),
        }
    }

    fn end(self, now: Timestamp, outcome: Outcome) -> Self {
        let started_at = self.started_at();
        Self {
            state: TaskRunState::Ended {
                started_at,
                at: now,
                outcome,
            },
            ..self
        }
    }
}

impl Started {
    /// The instant of the deadline itself is already too late.
    fn is_over(self, at: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= at)
    }
}

#[cfg(test)]
pub(crate) mod tests;
