//! Why there is no judgement at all. A scorer that fails is no such reason: it is a result without a score.

use proctor_devbox::{Error as DevboxError, name::InvalidName};

/// Why a box could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The box ended while it was judged.
    #[error("the devbox ended while it was scored")]
    BoxLost,
    /// Whoever asked for the judgement wants it no more.
    #[error("the scoring was cancelled")]
    Cancelled,
    /// The order's name cannot be part of the names of boxes.
    #[error(transparent)]
    BadName(#[from] InvalidName),
    /// The platform failed.
    #[error("the devbox could not be scored")]
    Devbox(#[source] DevboxError),
}

impl From<DevboxError> for JudgeError {
    fn from(error: DevboxError) -> Self {
        match error {
            DevboxError::BoxEnded | DevboxError::NoSuchBox(_) => Self::BoxLost,
            other => Self::Devbox(other),
        }
    }
}
