//! Why a task run was not judged: a closed list of causes, and what happened in words.
//!
//! | what was observed | cause | counts |
//! |---|---|---|
//! | the agent ended itself with a failure, reached the limits of its box, or shut it down | [`Cause::AgentCrash`] | 0 |
//! | the agent's time or keep-alive was over; a task was never started when its run ended; scorers took too long in a box that works | [`Cause::AgentTimeout`] | 0 |
//! | scorers could not be started; the judge failed; the task is broken by its author's fault ([`Fault::setup`]); scorers are known to take too long on the reference | [`Cause::ScorerError`] | void |
//! | the box or the node broke, or the box never came to be by no fault of the author's | [`Cause::Infrastructure`] | void |
//! | somebody stopped it | [`Cause::Cancelled`] | void |
//!
//! A cause is what *we* observed, never what an agent says of itself: that is a reason, shown beside a 0.

use serde::{Deserialize, Serialize};

/// The most characters that are kept of a reason.
const LONGEST_REASON: usize = 1000;
/// The reason of a task that is broken by its author's fault.
const SETUP: &str = "setup";

/// What ended a task run that was not judged: kept apart from the agent's score, so that what the platform broke is never counted as
/// the agent's mistake, and what the agent broke never as the platform's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The platform: a lost world, a full disk, a crash of ours.
    Infrastructure,
    /// The agent took longer than the task allows, or its world took longer to judge than it may.
    AgentTimeout,
    /// The agent ended without finishing.
    AgentCrash,
    /// The judge failed, or the task is broken.
    ScorerError,
    /// It was stopped on request.
    Cancelled,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Infrastructure,
        Self::AgentTimeout,
        Self::AgentCrash,
        Self::ScorerError,
        Self::Cancelled,
    ];

    /// Whether it says nothing about the agent: what it ended is left out of means, and counted.
    pub const fn is_void(self) -> bool {
        match self {
            Self::Infrastructure | Self::ScorerError | Self::Cancelled => true,
            Self::AgentTimeout | Self::AgentCrash => false,
        }
    }

    /// Whether the agent itself ended it: that counts 0.
    pub const fn is_agent_fault(self) -> bool {
        !self.is_void()
    }

    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Infrastructure => "infrastructure",
            Self::AgentTimeout => "agent_timeout",
            Self::AgentCrash => "agent_crash",
            Self::ScorerError => "scorer_error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a task run was not judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// One of the five causes.
    pub cause: Cause,
    /// What happened, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Fault {
    /// A cause and what happened; of a long text its beginning is kept.
    pub fn new(cause: Cause, reason: impl Into<String>) -> Self {
        let mut reason: String = reason.into();
        if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
            reason.truncate(end);
        }
        Self {
            cause,
            reason: Some(reason),
        }
    }

    /// The task is broken by its author's fault. It is not tried again by itself: that would not help.
    pub fn setup() -> Self {
        Self::new(Cause::ScorerError, SETUP)
    }

    /// Whether the task is broken by its author's fault.
    pub fn is_setup(&self) -> bool {
        self.cause == Cause::ScorerError && self.reason.as_deref() == Some(SETUP)
    }
}

impl From<Cause> for Fault {
    fn from(cause: Cause) -> Self {
        Self {
            cause,
            reason: None,
        }
    }
}

/// Why judging in a box took longer than it may, as far as anybody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowScoring {
    /// The box works and the scorers came to no end in it: what the agent left makes them slow.
    Scorers,
    /// The scorers are known to take too long on the reference too.
    ScorersOfReference,
    /// The box never came to be.
    Box,
}

impl SlowScoring {
    /// What it means for the task run.
    pub fn fault(self) -> Fault {
        match self {
            Self::Scorers => {
                Fault::new(Cause::AgentTimeout, "the scorers took longer than they may")
            }
            Self::ScorersOfReference => Fault::new(
                Cause::ScorerError,
                "the scorers took longer than they may, as they do on the reference",
            ),
            Self::Box => Fault::new(
                Cause::Infrastructure,
                "the devbox took longer to come to be than scoring may take",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_void_or_the_agents() {
        let of = |is: fn(Cause) -> bool| -> Vec<&str> {
            let those = Cause::ALL.into_iter().filter(|cause| is(*cause));
            those.map(Cause::as_str).collect()
        };
        assert_eq!(
            of(Cause::is_void),
            ["infrastructure", "scorer_error", "cancelled"]
        );
        assert_eq!(of(Cause::is_agent_fault), ["agent_timeout", "agent_crash"]);
        for cause in Cause::ALL {
            let word = serde_json::to_value(cause).unwrap();
            assert_eq!(word, cause.as_str());
        }
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let fault = Fault::new(Cause::AgentCrash, "é".repeat(LONGEST_REASON + 1));
        assert_eq!(fault.reason, Some("é".repeat(LONGEST_REASON)));
    }

    #[test]
    fn scorers_that_take_too_long_are_the_agents_unless_they_do_on_the_reference() {
        assert_eq!(SlowScoring::Scorers.fault().cause, Cause::AgentTimeout);
        let known = SlowScoring::ScorersOfReference.fault();
        assert!(known.cause.is_void());
        assert_eq!(SlowScoring::Box.fault().cause, Cause::Infrastructure);
        assert_eq!(Fault::setup().cause, Cause::ScorerError);
        assert_eq!(Fault::setup().reason.as_deref(), Some("setup"));
    }
}
