//! One execution of an attempt: one agent with one scenario, once.

use serde::{Deserialize, Serialize};

use crate::{
    id::kinds::{RunId, TaskId, TaskRunId},
    scoring::Score,
    task_run::{Cause, Outcome, TaskRun, TaskRunState},
    time::Timestamp,
};

/// One execution of an attempt: one agent with one scenario, once. It is written down before anything is done about it, so that nothing is done twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    /// The agent's run.
    pub run: RunId,
    /// The scenario.
    pub task: TaskId,
    /// The first, second, … try.
    pub number: u32,
    /// The task run; none if it never came to be.
    pub task_run: Option<TaskRunId>,
    /// When it began.
    pub began_at: Timestamp,
    /// When the agent itself began, if it did.
    pub agent_began_at: Option<Timestamp>,
    /// How it ended, if it has.
    pub end: Option<TryEnd>,
}

/// The end of a try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TryEnd {
    /// When.
    pub at: Timestamp,
    /// How.
    pub outcome: TryOutcome,
}

/// How a try ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TryOutcome {
    /// The agent came to its end and was judged, however well it did.
    Completed {
        /// The score; none if somebody completed the task run before it was scored.
        score: Option<Score>,
    },
    /// Something broke.
    Failed(Failure),
    /// A clock ran out.
    TimedOut(Failure),
    /// Somebody stopped it.
    Cancelled,
    /// The server itself ended in the middle of it, and it could not go on. That is nobody's failure: it is tried again.
    Interrupted(Failure),
}

/// Why a try has no score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What broke.
    pub kind: FailureKind,
    /// What happened, for people.
    pub message: String,
}

/// What broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The scenario could not be set up.
    Setup,
    /// The agent ended without finishing.
    AgentCrash,
    /// The agent took too long.
    AgentTimeout,
    /// The scorers took too long, or cannot be run.
    Scorer,
    /// The platform.
    Infrastructure,
}

impl FailureKind {
    /// What a cause on a task run means.
    const fn of(cause: Cause) -> Self {
        match cause {
            Cause::AgentTimeout => Self::AgentTimeout,
            Cause::AgentCrash => Self::AgentCrash,
            Cause::ScorerError => Self::Scorer,
            Cause::Infrastructure | Cause::Cancelled => Self::Infrastructure,
        }
    }

    /// What happened, where nobody can say more.
    const fn told(self) -> &'static str {
        match self {
            Self::Setup => "the scenario could not be set up",
            Self::AgentCrash => "the agent or its devbox ended before it was done",
            Self::AgentTimeout => "the agent took longer than it may",
            Self::Scorer => "the scorers took longer than they may, or cannot be run",
            Self::Infrastructure => "the devbox broke or never came to be",
        }
    }
}

impl TryOutcome {
    /// What the end of a task run means for its try; `details` say more than the record does. None while it is not over.
    pub fn of(task_run: &TaskRun, details: Option<String>) -> Option<Self> {
        let TaskRunState::Ended { outcome, .. } = &task_run.state else {
            return None;
        };
        let failure = |cause: Cause| {
            let kind = FailureKind::of(cause);
            Failure {
                kind,
                message: details.unwrap_or_else(|| kind.told().to_owned()),
            }
        };
        Some(match outcome {
            Outcome::Completed { card } => Self::Completed {
                score: card.as_ref().map(|card| card.score),
            },
            Outcome::TimedOut { cause } => Self::TimedOut(failure(*cause)),
            Outcome::Failed { cause } => Self::Failed(failure(*cause)),
            Outcome::Cancelled { .. } => Self::Cancelled,
        })
    }

    /// The scenario could not be set up.
    pub const fn not_set_up(message: String) -> Self {
        Self::Failed(Failure {
            kind: FailureKind::Setup,
            message,
        })
    }

    /// The same, if the server ended in the middle of the try: what the platform broke then is no failure.
    #[must_use]
    pub fn after_interruption(self) -> Self {
        match self {
            Self::Failed(failure) if failure.kind == FailureKind::Infrastructure => {
                Self::Interrupted(failure)
            }
            other => other,
        }
    }
}

impl Try {
    /// The same try, ended.
    #[must_use]
    pub fn ended(self, at: Timestamp, outcome: TryOutcome) -> Self {
        Self {
            end: Some(TryEnd { at, outcome }),
            ..self
        }
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&TryOutcome> {
        self.end.as_ref().map(|end| &end.outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::task_run::tests::{at, card, task_run};

    fn started() -> TaskRun {
        let limit = Some(Duration::from_secs(10));
        task_run(1).start(at(1), limit).unwrap().into_inner()
    }

    #[test]
    fn a_task_run_that_goes_on_has_no_outcome() {
        assert_eq!(TryOutcome::of(&started(), None), None);
    }

    #[test]
    fn the_end_of_a_task_run_says_what_came_of_the_try() {
        let completed = started().complete(at(2), at(2), card(0.0)).unwrap();
        assert_eq!(
            TryOutcome::of(&completed.into_inner(), Some("ignored".to_owned())),
            Some(TryOutcome::Completed {
                score: Some(Score::ZERO)
            }),
            "a low score is no failure"
        );
        let cancelled = started().cancel(at(2)).into_inner();
        let outcome = TryOutcome::of(&cancelled, None);
        assert_eq!(outcome, Some(TryOutcome::Cancelled));
        let out_of_time = started().expire(at(100)).into_inner();
        let Some(TryOutcome::TimedOut(failure)) = TryOutcome::of(&out_of_time, None) else {
            panic!("a clock ran out");
        };
        assert_eq!(failure.kind, FailureKind::AgentTimeout);
        let crashed = started().fail(at(2), Cause::AgentCrash).into_inner();
        let outcome = TryOutcome::of(&crashed, Some("status 3".to_owned()));
        let failure = Failure {
            kind: FailureKind::AgentCrash,
            message: "status 3".to_owned(),
        };
        assert_eq!(outcome, Some(TryOutcome::Failed(failure)));
    }

    #[test]
    fn only_what_the_platform_broke_counts_as_interrupted() {
        let failed = |cause| {
            let over = started().fail(at(2), cause).into_inner();
            TryOutcome::of(&over, None).unwrap().after_interruption()
        };
        assert!(matches!(
            failed(Cause::Infrastructure),
            TryOutcome::Interrupted(_)
        ));
        assert!(matches!(failed(Cause::AgentCrash), TryOutcome::Failed(_)));
    }
}
