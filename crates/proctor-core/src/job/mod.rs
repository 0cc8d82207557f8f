//! A job: agents × tasks × attempts, carried out by Proctor itself.
//!
//! ```text
//! initializing → queued → running → completed
//!        └──────────┴────────┴────→ failed, timed out, cancelled
//! ```
//! * [`JobPlan`]: what is to be done; it never changes.
//! * An *attempt* is a planned repeat of a task by an agent; a [`Try`] is one execution of it, a *retry* a further one. Every try is kept.
//! * [`PlannedRounds`]: a job that looks after each round whether another one is needed.
//! * [`Board`]: what follows from a plan and its tries: what is next, and what came of it.

mod board;
mod plan;
mod rounds;
mod tries;

pub use self::{
    board::{AgentOutcome, Board, ScenarioOutcome, ScenarioState, Turn},
    plan::{
        BUILT_IN_AGENTS, JobAgent, JobPlan, JobSource, LONGEST_AGENT_TIME, Orchestration,
        PlannedScenario, Program, RetryRules, TrialOrder,
    },
    rounds::{Look, LookDecision, PlannedGate, PlannedRounds, ROUNDS},
    tries::{Failure, FailureKind, Try, TryEnd, TryOutcome},
};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    id::kinds::{JobId, OrganizationId},
    refused::{Refused, Step},
    time::Timestamp,
};

/// How long a job may run before its own clock ends it.
pub const LONGEST_JOB: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// Who pays for it.
    pub organization: OrganizationId,
    /// What people call it.
    pub name: String,
    /// The machine that carries it out, because its boxes are there.
    pub machine: String,
    /// What is to be done.
    pub plan: JobPlan,
    /// When it was made.
    pub created_at: Timestamp,
    /// Where it stands.
    pub state: JobState,
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// What it needs is being put together.
    Initializing,
    /// Ready, waiting for a place.
    Queued,
    /// Agents are at work.
    Running {
        /// Since when.
        since: Timestamp,
    },
    /// Over.
    Ended {
        /// When the first agent began, if one did.
        started_at: Option<Timestamp>,
        /// When it ended.
        at: Timestamp,
        /// How it ended.
        ending: JobEnding,
    },
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnding {
    /// All agents have had their turn; some of their tasks may have failed.
    Completed,
    /// Nothing could run.
    Failed {
        /// Why, for people.
        reason: String,
    },
    /// The job's own clock ran out.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
}

/// Where a job stands, without what belongs to its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// What it needs is being put together.
    Initializing,
    /// Ready, waiting for a place.
    Queued,
    /// Agents are at work.
    Running,
    /// All agents have had their turn.
    Completed,
    /// Nothing could run.
    Failed,
    /// The job's own clock ran out.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
}

impl JobStatus {
    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initializing => "initializing",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

impl std::fmt::Display for JobStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Job {
    /// Everything is there: waits for a place.
    pub fn enqueue(self) -> Result<Step<Self>, Refused> {
        match self.state {
            JobState::Initializing => Ok(Step::Changed(Self {
                state: JobState::Queued,
                ..self
            })),
            JobState::Queued => Ok(Step::Unchanged(self)),
            JobState::Running { .. } => Err(Refused::JobNotThere(self.status())),
            JobState::Ended { .. } => Err(Refused::JobOver(self.status())),
        }
    }

    /// The first agent begins.
    pub fn begin(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        match self.state {
            JobState::Initializing => Err(Refused::JobNotThere(self.status())),
            JobState::Queued => Ok(Step::Changed(Self {
                state: JobState::Running { since: now },
                ..self
            })),
            JobState::Running { .. } => Ok(Step::Unchanged(self)),
            JobState::Ended { .. } => Err(Refused::JobOver(self.status())),
        }
    }

    /// All agents have had their turn.
    pub fn complete(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        match &self.state {
            JobState::Initializing | JobState::Queued => Err(Refused::JobNotThere(self.status())),
            JobState::Running { .. } => Ok(Step::Changed(self.end(now, JobEnding::Completed))),
            JobState::Ended {
                ending: JobEnding::Completed,
                ..
            } => Ok(Step::Unchanged(self)),
            JobState::Ended { .. } => Err(Refused::JobOver(self.status())),
        }
    }

    /// Stops the job. Stopping twice changes nothing; what ended otherwise cannot be stopped.
    pub fn cancel(self, now: Timestamp) -> Result<Step<Self>, Refused> {
        match &self.state {
            JobState::Ended {
                ending: JobEnding::Cancelled,
                ..
            } => Ok(Step::Unchanged(self)),
            JobState::Ended { .. } => Err(Refused::JobOver(self.status())),
            _ => Ok(Step::Changed(self.end(now, JobEnding::Cancelled))),
        }
    }

    /// Ends the job because nothing could run. What is over stays as it is.
    #[must_use]
    pub fn fail(self, now: Timestamp, reason: impl Into<String>) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        Step::Changed(self.end(
            now,
            JobEnding::Failed {
                reason: reason.into(),
            },
        ))
    }

    /// Ends the job because its clock ran out. What is over stays as it is.
    #[must_use]
    pub fn time_out(self, now: Timestamp) -> Step<Self> {
        if self.is_over() {
            return Step::Unchanged(self);
        }
        Step::Changed(self.end(now, JobEnding::TimedOut))
    }

    /// When its own clock runs out; none before the first agent began.
    pub fn deadline(&self) -> Option<Timestamp> {
        match self.state {
            JobState::Running { since } => Some(since.plus(LONGEST_JOB)),
            JobState::Initializing | JobState::Queued | JobState::Ended { .. } => None,
        }
    }

    /// Why nothing could run, if that is how it ended.
    pub fn failure_reason(&self) -> Option<&str> {
        match &self.state {
            JobState::Ended {
                ending: JobEnding::Failed { reason },
                ..
            } => Some(reason),
            _ => None,
        }
    }

    /// When the first agent began, if one did.
    pub const fn started_at(&self) -> Option<Timestamp> {
        match &self.state {
            JobState::Initializing | JobState::Queued => None,
            JobState::Running { since } => Some(*since),
            JobState::Ended { started_at, .. } => *started_at,
        }
    }

    /// When it ended, if it has.
    pub const fn ended_at(&self) -> Option<Timestamp> {
        match &self.state {
            JobState::Ended { at, .. } => Some(*at),
            JobState::Initializing | JobState::Queued | JobState::Running { .. } => None,
        }
    }

    /// Whether the job is over.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, JobState::Ended { .. })
    }

    /// The state without what belongs to it.
    pub const fn status(&self) -> JobStatus {
        match &self.state {
            JobState::Initializing => JobStatus::Initializing,
            JobState::Queued => JobStatus::Queued,
            JobState::Running { .. } => JobStatus::Running,
            JobState::Ended { ending, .. } => match ending {
                JobEnding::Completed => JobStatus::Completed,
                JobEnding::Failed { .. } => JobStatus::Failed,
                JobEnding::TimedOut => JobStatus::TimedOut,
                JobEnding::Cancelled => JobStatus::Cancelled,
            },
        }
    }

    fn end(self, now: Timestamp, ending: JobEnding) -> Self {
        let started_at = match self.state {
            JobState::Running { since } => Some(since),
            _ => None,
        };
        Self {
            state: JobState::Ended {
                started_at,
                at: now,
                ending,
            },
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    fn job() -> Job {
        Job {
            id: JobId::from_uuid(Uuid::nil()),
            organization: OrganizationId::from_uuid(Uuid::nil()),
            name: "nightly".to_owned(),
            machine: "here".to_owned(),
            plan: board::tests::plan(1, 1, 0),
            created_at: at(0),
            state: JobState::Initializing,
        }
    }

    #[test]
    fn a_job_goes_through_its_states_in_order() {
        assert_eq!(
            job().begin(at(1)),
            Err(Refused::JobNotThere(JobStatus::Initializing))
        );
        let queued = job().enqueue().unwrap().into_inner();
        assert!(!queued.clone().enqueue().unwrap().is_changed());
        assert_eq!(
            queued.clone().complete(at(1)),
            Err(Refused::JobNotThere(JobStatus::Queued))
        );
        assert_eq!(queued.deadline(), None);
        let running = queued.begin(at(2)).unwrap().into_inner();
        assert_eq!(running.deadline(), Some(at(2).plus(LONGEST_JOB)));
        assert!(!running.clone().begin(at(3)).unwrap().is_changed());
        let done = running.complete(at(4)).unwrap().into_inner();
        assert_eq!(
            done.state,
            JobState::Ended {
                started_at: Some(at(2)),
                at: at(4),
                ending: JobEnding::Completed
            }
        );
        assert!(!done.clone().complete(at(5)).unwrap().is_changed());
        assert_eq!(
            done.clone().cancel(at(5)),
            Err(Refused::JobOver(JobStatus::Completed))
        );
        assert!(!done.clone().fail(at(5), "too late").is_changed());
        assert!(!done.time_out(at(5)).is_changed());
    }

    #[test]
    fn a_job_can_be_stopped_at_any_time_and_once() {
        let cancelled = job().cancel(at(1)).unwrap().into_inner();
        assert_eq!(cancelled.status(), JobStatus::Cancelled);
        assert!(!cancelled.clone().cancel(at(2)).unwrap().is_changed());
        assert_eq!(
            cancelled.clone().enqueue(),
            Err(Refused::JobOver(JobStatus::Cancelled))
        );
        assert_eq!(
            cancelled.begin(at(3)),
            Err(Refused::JobOver(JobStatus::Cancelled))
        );
        let failed = job().fail(at(1), "no box").into_inner();
        assert_eq!(
            (failed.status(), failed.failure_reason()),
            (JobStatus::Failed, Some("no box"))
        );
        let late = job().time_out(at(1)).into_inner();
        assert_eq!(late.status(), JobStatus::TimedOut);
    }
}
