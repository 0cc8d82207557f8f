//! Limits on how often somebody may ask: one credential, if that is wanted, and an address that shows wrong ones.

use std::{
    collections::HashMap,
    hash::Hash,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use governor::{
    DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use proctor_core::id::kinds::{CredentialId, OrganizationId};
use proctor_store::organizations::Organization;

use crate::error::{ApiError, ApiErrorKind};

/// How often one credential may ask: a steady rate, and how far it may run ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per minute in the long run.
    pub per_minute: NonZeroU32,
    /// Requests at once after a pause.
    pub burst: NonZeroU32,
}

/// Counts requests by who makes them.
pub(crate) struct Limiter<K: Hash + Eq + Clone = CredentialId> {
    limit: RateLimit,
    limiter: DefaultKeyedRateLimiter<K>,
    clock: DefaultClock,
    checks: AtomicU32,
    /// What is said to whoever asks too often, before how often would be right.
    whose: &'static str,
}

/// After so many checks, credentials that rested long enough are forgotten.
const CHECKS_BETWEEN_SWEEPS: u32 = 8192;

impl Limiter {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self::of(limit, "this key may ask")
    }
}

impl<K: Hash + Eq + Clone> Limiter<K> {
    pub(crate) fn of(limit: RateLimit, whose: &'static str) -> Self {
        let quota = Quota::per_minute(limit.per_minute).allow_burst(limit.burst);
        Self {
            limit,
            limiter: RateLimiter::keyed(quota),
            clock: DefaultClock::default(),
            checks: AtomicU32::new(0),
            whose,
        }
    }

    /// Counts one request, or refuses it with the time to wait.
    pub(crate) fn check(&self, key: &K) -> Result<(), ApiError> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_BETWEEN_SWEEPS
            == CHECKS_BETWEEN_SWEEPS - 1
        {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(key).map_err(|refusal| {
            let wait = refusal.wait_time_from(self.clock.now());
            refused(self.whose, self.limit.per_minute, wait)
        })
    }
}

fn refused(whose: &str, per_minute: NonZeroU32, retry_after: Duration) -> ApiError {
    ApiError::new(
        ApiErrorKind::RateLimited { retry_after },
        format!("{whose} {per_minute} times per minute; wait as long as Retry-After says"),
    )
}

/// Counts the requests of organizations that may ask only so often, all their credentials together.
#[derive(Default)]
pub(crate) struct OrganizationLimiter {
    counted: Mutex<HashMap<OrganizationId, Counted>>,
    clock: DefaultClock,
}

struct Counted {
    per_minute: NonZeroU32,
    limiter: Arc<DefaultDirectRateLimiter>,
}

impl OrganizationLimiter {
    /// Counts one request, or refuses it with the time to wait.
    pub(crate) fn check(&self, organization: &Organization) -> Result<(), ApiError> {
        let Some(per_minute) = organization.limits.requests_per_minute else {
            return Ok(());
        };
        let limiter = {
            let mut all = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Counted {
                per_minute,
                limiter: Arc::new(RateLimiter::direct(Quota::per_minute(per_minute))),
            };
            let counted = all.entry(organization.id).or_insert_with(new);
            if counted.per_minute != per_minute {
                *counted = new();
            }
            Arc::clone(&counted.limiter)
        };
        limiter.check().map_err(|refusal| {
            let wait = refusal.wait_time_from(self.clock.now());
            refused("this organization may ask", per_minute, wait)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_credential_has_its_own_burst_and_then_must_wait() {
        let limiter = Limiter::new(RateLimit {
            per_minute: NonZeroU32::new(1).unwrap(),
            burst: NonZeroU32::new(2).unwrap(),
        });
        let [first, second] = [1, 2].map(|n| CredentialId::from_uuid(Uuid::from_u128(n)));
        limiter.check(&first).unwrap();
        limiter.check(&first).unwrap();
        let refusal = limiter.check(&first).unwrap_err();
        let ApiErrorKind::RateLimited { retry_after } = refusal.kind() else {
            panic!("{refusal:?}");
        };
        assert!(*retry_after > Duration::ZERO && *retry_after <= Duration::from_secs(60));
        limiter.check(&second).unwrap();
    }
}
