//! Answers about things that may not be there, or may not be the caller's: the same 404.

use http::StatusCode;
use proctor_core::id::{Id, Kind};

use crate::error::ApiError;

/// The refusal that names what is not there.
pub(super) fn not_found<K: Kind>(id: Id<K>) -> ApiError {
    ApiError::not_found(format!("no {} '{id}'", K::NOUN))
}

/// What was looked for under `id`.
pub(super) fn found<K: Kind, T>(id: Id<K>, thing: Option<T>) -> Result<T, ApiError> {
    thing.ok_or_else(|| not_found(id))
}

/// The answer to a request to remove what has this `id`.
pub(super) fn removed<K: Kind>(id: Id<K>, was_there: bool) -> Result<StatusCode, ApiError> {
    if was_there {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(not_found(id))
    }
}
