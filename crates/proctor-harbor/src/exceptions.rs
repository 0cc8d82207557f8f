//! The names of what can go wrong in a trial, and what each means: whether what the agent left is verified all the same, whether it is
//! tried again, and whose fault it is.

use std::fmt;

use proctor_core::task_run::Cause;
use serde::{Deserialize, Serialize};

macro_rules! exception_types {
    ($($name:ident: $doc:literal,)*) => {
        /// What went wrong in a trial, by Harbor's name, or by ours where Harbor has none.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ExceptionType {
            $(#[doc = $doc] $name,)*
        }

        impl ExceptionType {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in results.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

exception_types! {
    EnvironmentStartTimeoutError: "The environment took longer to build or to start than it may.",
    SandboxBuildFailedError: "A step of the environment's build failed.",
    HealthcheckError: "The environment was never healthy.",
    AgentSetupTimeoutError: "The agent took longer to install than it may.",
    AgentSetupError: "The agent's install script failed.",
    AgentTimeoutError: "The agent took longer than it may.",
    NonZeroAgentExitCodeError: "The agent ended with a status that is not 0.",
    SandboxLikelyOutOfMemoryError: "The box used up its memory.",
    InfrastructureError: "The platform failed.",
    FileNotFoundError: "The oracle has no solution to run.",
    VerifierTimeoutError: "The verifier took longer than it may.",
    AddTestsDirError: "The tests could not be put into the box.",
    DownloadVerifierDirError: "What the verifier wrote could not be read.",
    RewardFileNotFoundError: "The verifier left no reward.",
    RewardFileEmptyError: "The verifier left an empty reward file.",
    VerifierOutputParseError: "The verifier left a reward file that cannot be read.",
    CancelledError: "Somebody stopped it.",
}

impl fmt::Display for ExceptionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ExceptionType {
    /// The exception of this name, if it is one that Proctor itself finds.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.as_str() == name)
    }

    /// Whether what the agent left is verified all the same.
    pub const fn is_verified(self) -> bool {
        matches!(
            self,
            Self::AgentTimeoutError
                | Self::NonZeroAgentExitCodeError
                | Self::SandboxLikelyOutOfMemoryError
        )
    }

    /// Whether its name says that a clock ran out.
    pub fn is_timeout(self) -> bool {
        self.as_str().ends_with("TimeoutError")
    }

    /// Whose fault it is. `happens_to_oracle`: a reference attempt at the same task is known to meet the same.
    pub const fn cause(self, happens_to_oracle: bool) -> Cause {
        match self {
            Self::EnvironmentStartTimeoutError
            | Self::AgentSetupTimeoutError
            | Self::AgentSetupError
            | Self::DownloadVerifierDirError
            | Self::InfrastructureError => Cause::Infrastructure,
            Self::SandboxBuildFailedError | Self::HealthcheckError | Self::FileNotFoundError => {
                Cause::ScorerError
            }
            // An agent that takes the shell out of its box keeps the tests from it: it must not be able to void itself.
            Self::AddTestsDirError
            | Self::RewardFileNotFoundError
            | Self::RewardFileEmptyError
            | Self::VerifierOutputParseError => match happens_to_oracle {
                true => Cause::ScorerError,
                false => Cause::AgentCrash,
            },
            Self::VerifierTimeoutError => match happens_to_oracle {
                true => Cause::ScorerError,
                false => Cause::AgentTimeout,
            },
            Self::AgentTimeoutError => Cause::AgentTimeout,
            Self::NonZeroAgentExitCodeError | Self::SandboxLikelyOutOfMemoryError => {
                Cause::AgentCrash
            }
            Self::CancelledError => Cause::Cancelled,
        }
    }
}

/// The exceptions after which Harbor does not try again unless it is told to.
pub const NOT_RETRIED: [&str; 10] = [
    "AgentTimeoutError",
    "VerifierTimeoutError",
    "RewardFileNotFoundError",
    "RewardFileEmptyError",
    "VerifierOutputParseError",
    "ApiUsageLimitError",
    "AgentSafetyRefusalError",
    "AgentAuthenticationError",
    "ModelNotFoundError",
    "UnsupportedModelParametersError",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_as_what_it_names() {
        for one in ExceptionType::ALL {
            assert_eq!(ExceptionType::named(one.as_str()), Some(*one));
        }
        assert_eq!(ExceptionType::named("RuntimeError"), None);
    }

    #[test]
    fn what_the_agent_did_is_verified_and_what_the_platform_did_is_not_its_fault() {
        for one in ExceptionType::ALL {
            let cause = one.cause(false);
            if one.is_verified() {
                assert!(cause.is_agent_fault(), "{one}");
            }
            if cause == Cause::Infrastructure {
                assert!(!one.is_verified(), "{one}");
            }
        }
        assert!(ExceptionType::AgentTimeoutError.is_timeout());
        assert!(!ExceptionType::HealthcheckError.is_timeout());
    }

    #[test]
    fn a_verifier_that_fails_the_reference_too_is_at_fault_itself() {
        let missing = ExceptionType::RewardFileNotFoundError;
        assert_eq!(missing.cause(true), Cause::ScorerError);
        assert_eq!(missing.cause(false), Cause::AgentCrash);
        let slow = ExceptionType::VerifierTimeoutError;
        assert_eq!(slow.cause(true), Cause::ScorerError);
        assert_eq!(slow.cause(false), Cause::AgentTimeout);
    }
}
