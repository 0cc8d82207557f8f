//! What the store's errors mean to a client.

use std::time::Duration;

use proctor_store::{StoreError, Unavailability};

use super::{ApiError, ApiErrorKind};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable { reason, .. } => unavailable(reason).because(error),
            StoreError::Taken(what) => {
                Self::new(ApiErrorKind::Taken, format!("{what} exists already"))
            }
            StoreError::InUse(why) => Self::new(
                ApiErrorKind::IllegalState,
                format!("it is still needed: {why}"),
            ),
            StoreError::Limit(limit) => Self::new(ApiErrorKind::LimitReached, limit.to_string()),
            StoreError::Stale => Self::new(
                ApiErrorKind::Conflict,
                "it was changed in the meantime; read it again and decide anew",
            ),
            StoreError::Blob(_) => Self::unavailable(
                "what keeps large bytes is not available; nothing was changed",
                patience(Unavailability::Gone),
            )
            .because(error),
            StoreError::Corrupt(_) | StoreError::Configuration(_) | StoreError::Internal(_) => {
                Self::internal(error)
            }
        }
    }
}

/// The database is away for now.
pub(super) fn unavailable(reason: Unavailability) -> ApiError {
    ApiError::unavailable(
        format!("the database is not available: {reason}; nothing was changed"),
        patience(reason),
    )
}

/// How long a client should wait before it tries again.
fn patience(reason: Unavailability) -> Duration {
    Duration::from_secs(match reason {
        Unavailability::Busy => 1,
        Unavailability::Gone => 5,
        // Somebody has to make room first.
        Unavailability::Full => 30,
    })
}
