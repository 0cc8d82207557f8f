//! Ids as this dialect writes them, and the answer when one names nothing.

use proctor_core::id::{Dialect, Id, Kind};

use crate::{
    error::{ApiError, ApiErrorKind},
    extract::{Checks, shortened},
};

/// The id as clients of this dialect know it.
pub(super) fn wire<K: Kind>(id: Id<K>) -> String {
    id.wire(Dialect::Runloop)
}

/// What was looked for under `id`.
pub(super) fn found<K: Kind, T>(id: Id<K>, thing: Option<T>) -> Result<T, ApiError> {
    thing.ok_or_else(|| ApiError::not_found(format!("no {} '{}'", K::NOUN, wire(id))))
}

/// An id in a query or a body: what is no id is the client's mistake.
pub(super) fn read<K: Kind>(field: &str, text: &str) -> Result<Id<K>, ApiError> {
    Id::from_wire(text, Dialect::Runloop).map_err(|bad| ApiError::field(field, bad.to_string()))
}

/// An id in a query that may be missing or empty.
pub(super) fn read_optional<K: Kind>(
    field: &str,
    text: Option<&str>,
) -> Result<Option<Id<K>>, ApiError> {
    match text {
        None | Some("") => Ok(None),
        Some(text) => read(field, text).map(Some),
    }
}

/// An id in a body that may be missing; what is none is named.
pub(super) fn checked<K: Kind>(
    checks: &mut Checks,
    field: &str,
    text: Option<String>,
) -> Option<Id<K>> {
    let read = Id::from_wire(&text?, Dialect::Runloop);
    read.map_err(|bad| checks.refuse(field, bad.to_string()))
        .ok()
}

/// Several ids; each that is none is named.
pub(super) fn read_all<K: Kind>(checks: &mut Checks, field: &str, texts: &[String]) -> Vec<Id<K>> {
    let mut ids = Vec::with_capacity(texts.len());
    for (number, text) in texts.iter().enumerate() {
        match Id::from_wire(text, Dialect::Runloop) {
            Ok(id) if ids.contains(&id) => {}
            Ok(id) => ids.push(id),
            Err(bad) => checks.refuse(
                &format!("{field}.{number}"),
                format!("'{}' is {bad}", shortened(text)),
            ),
        }
    }
    ids
}

/// The refusal to change what is open to everybody.
pub(super) fn public<K: Kind>(id: Id<K>) -> ApiError {
    ApiError::new(
        ApiErrorKind::Forbidden,
        format!(
            "the {} '{}' is public: everybody may read and run it, and nobody may change it",
            K::NOUN,
            wire(id)
        ),
    )
}

/// The refusal to change or run what is put away.
pub(super) fn archived<K: Kind>(id: Id<K>) -> ApiError {
    ApiError::new(
        ApiErrorKind::IllegalState,
        format!(
            "the {} '{}' is archived; unarchive it first",
            K::NOUN,
            wire(id)
        ),
    )
}
