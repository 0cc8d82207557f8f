//! One execution of an attempt: one agent with one scenario, once.

use serde::{Deserialize, Serialize};

use crate::{
    id::kinds::{RunId, TaskId, TaskRunId},
    results::{TryResult, not_scored},
    scoring::{CriticalMiss, Score},
    task_run::{Cause, Fault, Outcome, TaskRun, TaskRunState},
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
    /// How the agent failed, if it did and what it left is judged all the same.
    pub agent_failure: Option<Failure>,
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
        /// The critical criteria that were missed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        critical_misses: Vec<CriticalMiss>,
        /// Why the score says nothing about the agent, if it does not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What broke.
    pub kind: FailureKind,
    /// What happened, for people.
    pub message: String,
    /// Why the try was not judged; none in records of before, where [`Failure::fault`] knows it by the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// What the failure is called, where that is more than its kind says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// What the agent's work was found to be worth although it failed: it counts with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Score>,
    /// The critical criteria that what the agent left misses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_misses: Vec<CriticalMiss>,
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

impl Failure {
    /// The platform broke.
    pub fn infrastructure(message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind: FailureKind::Infrastructure,
            fault: Some(Fault::new(Cause::Infrastructure, message.as_str())),
            message,
            exception: None,
            verified: None,
            critical_misses: Vec::new(),
        }
    }

    /// The scenario could not be set up.
    pub const fn setup(message: String, fault: Fault) -> Self {
        Self {
            kind: FailureKind::Setup,
            message,
            fault: Some(fault),
            exception: None,
            verified: None,
            critical_misses: Vec::new(),
        }
    }

    /// The agent failed.
    pub fn of_agent(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind,
            fault: Some(Fault::new(kind.cause(), message.as_str())),
            message,
            exception: None,
            verified: None,
            critical_misses: Vec::new(),
        }
    }

    /// What a try came to that ended with this failure: a clock ran out if its name says so.
    pub fn outcome(self) -> TryOutcome {
        let ran_out = match &self.exception {
            Some(exception) => exception.ends_with("TimeoutError"),
            None => self.kind == FailureKind::AgentTimeout,
        };
        match ran_out {
            true => TryOutcome::TimedOut(self),
            false => TryOutcome::Failed(self),
        }
    }

    /// The same failure by the name that it has elsewhere.
    #[must_use]
    pub fn called(self, exception: impl Into<String>) -> Self {
        Self {
            exception: Some(exception.into()),
            ..self
        }
    }

    /// What the failure is called.
    pub fn exception_type(&self) -> &str {
        let usual = match self.kind {
            FailureKind::Setup => "SetupError",
            FailureKind::AgentCrash => "AgentCrashError",
            FailureKind::AgentTimeout => "AgentTimeoutError",
            FailureKind::Scorer => "ScorerError",
            FailureKind::Infrastructure => "InfrastructureError",
        };
        self.exception.as_deref().unwrap_or(usual)
    }

    /// Why the try was not judged.
    pub fn fault(&self) -> Fault {
        match (&self.fault, self.kind) {
            (Some(fault), _) => fault.clone(),
            (None, FailureKind::Setup) => Fault::setup(),
            (None, kind) => Fault::new(kind.cause(), self.message.as_str()),
        }
    }
}

impl FailureKind {
    /// What the end of a task run means that was not judged. A box whose launch commands fail was not set up.
    fn of(task_run: &TaskRun, cause: Cause) -> Self {
        match cause {
            _ if task_run.timed_out_in_scoring() => Self::Scorer,
            _ if task_run.fault().is_some_and(|fault| fault.is_setup()) => Self::Setup,
            Cause::AgentTimeout => Self::AgentTimeout,
            Cause::AgentCrash => Self::AgentCrash,
            Cause::ScorerError => Self::Scorer,
            Cause::Infrastructure | Cause::Cancelled => Self::Infrastructure,
        }
    }

    /// The cause behind a failure of which nothing more is on record.
    const fn cause(self) -> Cause {
        match self {
            Self::Setup | Self::Scorer => Cause::ScorerError,
            Self::AgentCrash => Cause::AgentCrash,
            Self::AgentTimeout => Cause::AgentTimeout,
            Self::Infrastructure => Cause::Infrastructure,
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
            let kind = FailureKind::of(task_run, cause);
            Failure {
                kind,
                message: details.unwrap_or_else(|| kind.told().to_owned()),
                fault: task_run.fault(),
                exception: None,
                verified: None,
                critical_misses: task_run.misses_without_score().to_vec(),
            }
        };
        Some(match outcome {
            Outcome::Completed { card, fault } => Self::Completed {
                fault: fault.clone(),
                score: card.as_ref().map(|card| card.score),
                critical_misses: card
                    .as_ref()
                    .map_or_else(Vec::new, |card| card.critical_misses.clone()),
            },
            Outcome::TimedOut { cause, .. } => Self::TimedOut(failure(*cause)),
            Outcome::Failed { cause, .. } => Self::Failed(failure(*cause)),
            Outcome::Cancelled { .. } => Self::Cancelled,
        })
    }

    /// The scenario could not be set up, by the fault of its author or of whoever started it.
    pub fn not_set_up(message: String) -> Self {
        Self::Failed(Failure::setup(message, Fault::setup()))
    }

    /// The same, if nobody could work in the box yet: whatever failed then, the scenario was not set up.
    #[must_use]
    pub fn in_set_up(self) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(Failure {
                kind: FailureKind::Setup,
                ..failure
            }),
            other => other,
        }
    }

    /// The same, if the agent failed before what it left was judged: the score is kept beside the failure.
    #[must_use]
    pub fn after_agent_failure(self, failure: &Failure) -> Self {
        match self {
            Self::Completed {
                score,
                critical_misses,
                ..
            } => Failure {
                verified: score,
                critical_misses,
                ..failure.clone()
            }
            .outcome(),
            other => other,
        }
    }

    /// The same, if the server ended in the middle of the try: what says nothing about the agent then is no failure.
    #[must_use]
    pub fn after_interruption(self) -> Self {
        match self {
            Self::Failed(failure)
                if !failure.fault().is_setup() && failure.fault().cause.is_void() =>
            {
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

    /// Whether the scenario was set up: a task run came to be, and did not fail before anybody could work in its box.
    pub fn was_set_up(&self) -> bool {
        let is_setup = match self.outcome() {
            Some(TryOutcome::Failed(failure)) => failure.kind == FailureKind::Setup,
            _ => false,
        };
        self.task_run.is_some() && !is_setup
    }

    /// Whether anything was done about it: its run was not over before a task run came to be.
    pub fn was_begun(&self) -> bool {
        self.task_run.is_some() || !matches!(self.outcome(), Some(TryOutcome::Cancelled))
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&TryOutcome> {
        self.end.as_ref().map(|end| &end.outcome)
    }

    /// What it counts with in our own numbers.
    pub fn result(&self) -> TryResult {
        let faulted = |fault: Fault| TryResult::faulted(fault);
        match self.outcome() {
            None => TryResult::Pending,
            Some(TryOutcome::Completed {
                fault: Some(fault), ..
            }) => faulted(fault.clone()),
            Some(TryOutcome::Completed {
                score: Some(score),
                critical_misses,
                fault: None,
            }) => TryResult::Scored {
                score: *score,
                critical_misses: critical_misses.clone(),
            },
            Some(TryOutcome::Completed { score: None, .. }) => faulted(not_scored()),
            Some(TryOutcome::Cancelled) => faulted(Cause::Cancelled.into()),
            Some(TryOutcome::Failed(failure) | TryOutcome::TimedOut(failure))
                if failure.verified.is_some() =>
            {
                TryResult::Scored {
                    score: failure.verified.unwrap_or(Score::ZERO),
                    critical_misses: failure.critical_misses.clone(),
                }
            }
            // Before causes were on record: scorers that take too long are the agent's, unless more is known.
            Some(TryOutcome::TimedOut(failure)) if failure.fault.is_none() => {
                faulted(Fault::new(Cause::AgentTimeout, failure.message.as_str()))
            }
            Some(TryOutcome::Failed(failure) | TryOutcome::TimedOut(failure)) => {
                TryResult::Faulted {
                    fault: failure.fault(),
                    critical_misses: failure.critical_misses.clone(),
                }
            }
            Some(TryOutcome::Interrupted(failure)) => {
                faulted(Fault::new(Cause::Infrastructure, failure.message.as_str()))
            }
        }
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

    /// What a try counts with whose outcome was stored as this text.
    fn read(text: &str) -> TryResult {
        let outcome: TryOutcome = serde_json::from_str(text).unwrap();
        let run = RunId::from_uuid(uuid::Uuid::nil());
        Try {
            run,
            task: started().task,
            number: 1,
            task_run: None,
            began_at: at(1),
            agent_began_at: None,
            agent_failure: None,
            end: None,
        }
        .ended(at(2), outcome)
        .result()
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
                score: Some(Score::ZERO),
                critical_misses: Vec::new(),
                fault: None,
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
            fault: Some(Cause::AgentCrash.into()),
            exception: None,
            verified: None,
            critical_misses: Vec::new(),
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

    #[test]
    fn scorers_that_take_too_long_are_told_as_theirs_and_count_as_the_agents() {
        let limit = Duration::from_secs(10);
        let scoring = started().begin_scoring(at(2), limit).unwrap().into_inner();
        let slow = scoring.expire(at(12)).into_inner();
        let outcome = TryOutcome::of(&slow, None).unwrap();
        let TryOutcome::TimedOut(failure) = &outcome else {
            panic!("a clock ran out");
        };
        assert_eq!(failure.kind, FailureKind::Scorer);
        assert_eq!(failure.fault().cause, Cause::AgentTimeout);
    }

    #[test]
    fn a_score_that_says_nothing_about_the_agent_is_shown_and_not_counted() {
        let limit = Duration::from_secs(10);
        let scoring = started().begin_scoring(at(2), limit).unwrap().into_inner();
        let fault = Fault::scorers_not_run(&["tests"]);
        let scored = scoring.record_score(at(3), card(0.0), Some(fault.clone()));
        let done = scored.unwrap().into_inner().finish(at(4)).unwrap();
        let outcome = TryOutcome::of(&done.into_inner(), None).unwrap();
        assert!(matches!(
            outcome,
            TryOutcome::Completed {
                score: Some(Score::ZERO),
                ..
            }
        ));
        let stored = serde_json::to_string(&outcome).unwrap();
        assert_eq!(read(&stored), TryResult::faulted(fault));
    }

    #[test]
    fn failures_of_before_are_read_and_count_by_their_kind() {
        for (text, cause) in [
            (
                r#"{"failed":{"kind":"setup","message":"x"}}"#,
                Cause::ScorerError,
            ),
            (
                r#"{"failed":{"kind":"agent_crash","message":"x"}}"#,
                Cause::AgentCrash,
            ),
            (
                r#"{"timed_out":{"kind":"scorer","message":"x"}}"#,
                Cause::AgentTimeout,
            ),
            (
                r#"{"failed":{"kind":"scorer","message":"x"}}"#,
                Cause::ScorerError,
            ),
            (
                r#"{"interrupted":{"kind":"infrastructure","message":"x"}}"#,
                Cause::Infrastructure,
            ),
            (r#"{"completed":{"score":null}}"#, Cause::AgentTimeout),
            (r#""cancelled""#, Cause::Cancelled),
        ] {
            let TryResult::Faulted { fault, .. } = read(text) else {
                panic!("{text} is no score");
            };
            assert_eq!(fault.cause, cause, "{text}");
        }
        assert_eq!(
            read(r#"{"completed":{"score":0.0}}"#),
            TryResult::scored(Score::ZERO)
        );
    }
}
