//! What a state machine answers when asked for something that cannot be.
//!
//! A refusal is a value, not a failure: each dialect renders it in its own way.

use crate::{id::kinds::TaskRunId, job::JobStatus, run::RunStatus, task_run::TaskRunStatus};

/// The outcome of a transition that was allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Something changed: this is to be stored.
    Changed(T),
    /// The same had happened before: nothing is to be done again.
    Unchanged(T),
}

impl<T> Step<T> {
    /// What stands now, changed or not.
    pub fn into_inner(self) -> T {
        match self {
            Self::Changed(value) | Self::Unchanged(value) => value,
        }
    }

    /// Whether something changed.
    pub const fn is_changed(&self) -> bool {
        matches!(self, Self::Changed(_))
    }
}

/// Why a transition is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The task run was never started.
    #[error("the task run has not been started")]
    TaskRunNotStarted,
    /// The task run is over, in this way.
    #[error("the task run is over: it is {0}")]
    TaskRunOver(TaskRunStatus),
    /// The task run is being scored right now.
    #[error("the task run is being scored")]
    TaskRunInScoring,
    /// A score arrived that nobody asked for.
    #[error("the task run is not being scored")]
    TaskRunNotInScoring,
    /// The run is over, in this way.
    #[error("the benchmark run is over: it is {0}")]
    RunOver(RunStatus),
    /// Only a completed run can be put on the leaderboard; this one stands so.
    #[error("only a completed benchmark run can be published; this one is {0}")]
    RunNotCompleted(RunStatus),
    /// Its owner lets no new run of the version begin.
    #[error(
        "no new run of this version of the benchmark may begin: its owner stopped them; runs that have begun go on, and results stay readable"
    )]
    NoNewRuns,
    /// As many task runs are started as the benchmark allows.
    #[error(
        "only {allowed} task run(s) of this benchmark run may be active at once, and {active} is active; complete it first"
    )]
    TooManyStarted {
        /// One that is active.
        active: TaskRunId,
        /// How many may be.
        allowed: u32,
    },
    /// The job is over, in this way.
    #[error("the job is over: it is {0}")]
    JobOver(JobStatus),
    /// The job has not come so far; it stands so.
    #[error("the job is only {0}")]
    JobNotThere(JobStatus),
    /// The devbox has ended; the word says how.
    #[error("the devbox has ended: it is {0}")]
    DevboxOver(&'static str),
    /// The devbox is not in a state for this; the word says in which it is.
    #[error("the devbox is {0}; it must be {1}")]
    DevboxNot(&'static str, &'static str),
}
