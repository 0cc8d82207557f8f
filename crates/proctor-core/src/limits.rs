//! How much an organization may have at once, and how often it may ask.
//!
//! The operator sets limits; the store checks them in the transaction that makes what they are about, so that two requests at once
//! cannot both take the last place.

use std::{fmt, num::NonZeroU32};

use serde::{Deserialize, Serialize};

/// The limits of an organization; what is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Devboxes that have not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devboxes: Option<u32>,
    /// Runs that are not over; a scenario run outside of any benchmark run counts as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// Bytes of objects and disk snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
    /// Requests per minute, of all credentials together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<NonZeroU32>,
}

impl Limits {
    /// How much there may be of something that is kept; none if it is not limited.
    pub fn of(&self, resource: Resource) -> Option<u64> {
        match resource {
            Resource::Devboxes => self.devboxes.map(u64::from),
            Resource::Runs => self.runs.map(u64::from),
            Resource::Storage => self.storage_bytes,
        }
    }
}

/// What an organization has of everything that can be limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Devboxes that have not ended.
    pub devboxes: u64,
    /// Runs that are not over.
    pub runs: u64,
    /// Bytes of objects and disk snapshots.
    pub storage_bytes: u64,
}

/// Something of which an organization may have only so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Devboxes that have not ended.
    Devboxes,
    /// Runs that are not over.
    Runs,
    /// Bytes of objects and disk snapshots.
    Storage,
}

/// An organization has as much of something as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// Of what.
    pub resource: Resource,
    /// How much it may have.
    pub limit: u64,
    /// How much it has.
    pub used: u64,
}

impl LimitReached {
    /// Refuses `more` of a resource of which an organization has `used`, if that is more than it may have.
    pub fn check(limits: &Limits, resource: Resource, used: u64, more: u64) -> Result<(), Self> {
        match limits.of(resource) {
            Some(limit) if used.saturating_add(more) > limit => Err(Self {
                resource,
                limit,
                used,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, used, .. } = self;
        match self.resource {
            Resource::Devboxes => write!(
                f,
                "this organization may have {limit} devboxes at once and has {used}; shut one down first"
            ),
            Resource::Runs => write!(
                f,
                "this organization may have {limit} runs at once and has {used}; complete or cancel one first"
            ),
            Resource::Storage => write!(
                f,
                "this organization may store {limit} bytes and stores {used}; delete objects or snapshots first"
            ),
        }
    }
}

impl std::error::Error for LimitReached {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_limited_is_never_refused() {
        let none = Limits::default();
        for resource in [Resource::Devboxes, Resource::Runs, Resource::Storage] {
            assert_eq!(LimitReached::check(&none, resource, u64::MAX, 1), Ok(()));
        }
    }

    #[test]
    fn the_last_place_can_be_taken_and_none_after_it() {
        let limits = Limits {
            devboxes: Some(2),
            storage_bytes: Some(10),
            ..Limits::default()
        };
        let check = |resource, used, more| LimitReached::check(&limits, resource, used, more);
        assert_eq!(check(Resource::Devboxes, 1, 1), Ok(()));
        let refused = check(Resource::Devboxes, 2, 1).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this organization may have 2 devboxes at once and has 2; shut one down first"
        );
        assert_eq!(check(Resource::Storage, 4, 6), Ok(()));
        assert!(check(Resource::Storage, 4, 7).is_err());
        assert_eq!(check(Resource::Runs, 1_000, 1), Ok(()));
    }
}
