//! Why a task run was not judged: a closed list of causes, and what happened in words.
//!
//! | what was observed | cause | counts |
//! |---|---|---|
//! | the agent ended itself with a failure, reached the limits of its box, or shut it down | [`Cause::AgentCrash`] | 0 |
//! | the agent's time or keep-alive was over; a task was never started when its run ended; scorers took too long in a box that works | [`Cause::AgentTimeout`] | 0 |
//! | the judge failed; the task is broken by its author's fault ([`Fault::setup`]); scorers are known not to start, or to take too long, on the reference; a scorer can be run nowhere | [`Cause::ScorerError`] | void |
//! | the box or the node broke, or the box never came to be by no fault of the author's | [`Cause::Infrastructure`] | void |
//! | somebody stopped it | [`Cause::Cancelled`] | void |
//!
//! A cause is what *we* observed, never what an agent says of itself: that is a reason, shown beside a 0.

use serde::{Deserialize, Serialize};

/// The most characters that are kept of a reason.
const LONGEST_REASON: usize = 1000;
/// The word for [`Reason::Setup`] on the wire and in the store.
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
    /// What happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// What happened, beside a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Reason {
    /// The task is broken by its author's fault.
    Setup,
    /// This, in words that nothing is decided by.
    Told(String),
}

impl Reason {
    /// The words.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Setup => SETUP,
            Self::Told(words) => words,
        }
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        match words.as_str() {
            SETUP => Self::Setup,
            _ => Self::Told(words),
        }
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Setup => SETUP.to_owned(),
            Reason::Told(words) => words,
        }
    }
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
            reason: Some(Reason::Told(reason)),
        }
    }

    /// The task is broken by its author's fault. It is not tried again by itself: that would not help.
    pub const fn setup() -> Self {
        Self {
            cause: Cause::ScorerError,
            reason: Some(Reason::Setup),
        }
    }

    /// Whether the task is broken by its author's fault.
    pub const fn is_setup(&self) -> bool {
        matches!(
            (self.cause, &self.reason),
            (Cause::ScorerError, Some(Reason::Setup))
        )
    }

    /// What happened, in words.
    pub fn told(&self) -> Option<&str> {
        self.reason.as_ref().map(Reason::as_str)
    }

    /// Scorers of these names did not run, and would not have run on the reference either.
    pub fn scorers_not_run(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let names = names.join(", ");
        let told = format!("these scorers cannot be run, not even on the reference: {names}");
        Self::new(Cause::ScorerError, told)
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
        assert_eq!(fault.told(), Some("é".repeat(LONGEST_REASON).as_str()));
    }

    #[test]
    fn only_what_is_written_down_as_set_up_is_read_as_such() {
        let read = |text: &str| serde_json::from_str::<Fault>(text).unwrap();
        let stored = r#"{"cause":"scorer_error","reason":"setup"}"#;
        assert_eq!(serde_json::to_string(&Fault::setup()).unwrap(), stored);
        assert_eq!(read(stored), Fault::setup());
        assert!(read(stored).is_setup());
        let told = Fault::new(Cause::ScorerError, "setup");
        assert!(!told.is_setup(), "words decide nothing");
        assert!(!read(r#"{"cause":"scorer_error"}"#).is_setup());
        assert!(!read(r#"{"cause":"agent_crash","reason":"setup"}"#).is_setup());
    }

    #[test]
    fn scorers_that_do_not_start_on_the_reference_either_are_named() {
        let fault = Fault::scorers_not_run(&["tests", "style"]);
        assert!(fault.cause.is_void());
        assert_eq!(
            fault.told(),
            Some("these scorers cannot be run, not even on the reference: 'tests', 'style'")
        );
    }

    #[test]
    fn scorers_that_take_too_long_are_the_agents_unless_they_do_on_the_reference() {
        assert_eq!(SlowScoring::Scorers.fault().cause, Cause::AgentTimeout);
        let known = SlowScoring::ScorersOfReference.fault();
        assert!(known.cause.is_void());
        assert_eq!(SlowScoring::Box.fault().cause, Cause::Infrastructure);
        assert_eq!(Fault::setup().cause, Cause::ScorerError);
        assert_eq!(Fault::setup().told(), Some("setup"));
    }
}
