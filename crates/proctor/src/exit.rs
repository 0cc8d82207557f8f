//! Exit codes: part of the interface, so that scripts can tell a "no" from a failure.

use std::process::ExitCode;

use proctor_store::StoreError;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Fine,
    /// Done, and the answer is no.
    No,
    /// It was asked for something that cannot be.
    WrongUse,
    /// The platform failed: a database, a port, a disk.
    PlatformFailed,
    /// Done, and the data do not say: a gate that is neither passed nor failed.
    Inconclusive,
    /// The provider of a model gave no answer: neither the agent nor the platform is at fault. `EX_TEMPFAIL` of sysexits.h.
    ProviderFailed,
}

impl Exit {
    /// The number that the system sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::No => 1,
            Self::WrongUse => 2,
            Self::PlatformFailed => 3,
            Self::Inconclusive => 4,
            Self::ProviderFailed => 75,
        }
    }

    /// How the program ends after a failure.
    pub(crate) fn of(failure: &anyhow::Error) -> Self {
        // Asked of the whole failure too: what was added as context is not a link of the chain.
        let wrong_use = failure.is::<WrongUse>()
            || failure.chain().any(|cause| {
                cause.is::<WrongUse>()
                    || matches!(cause.downcast_ref(), Some(StoreError::Configuration(_)))
            });
        if wrong_use {
            Self::WrongUse
        } else {
            Self::PlatformFailed
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Something the user can put right by asking differently.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUse(pub(crate) String);
