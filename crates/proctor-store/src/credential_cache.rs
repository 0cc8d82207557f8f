//! Credentials that were good a moment ago, so that a request costs no query.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::credentials::{Hash, Principal};

/// How long a credential is believed to be good without asking the database: the longest that a
/// key goes on working on other nodes after it was revoked on one.
pub const FRESHNESS: Duration = Duration::from_secs(2);
/// Beyond this many the cache starts anew, so that it cannot grow without bound.
const CAPACITY: usize = 10_000;

pub(crate) struct CredentialCache {
    entries: RwLock<HashMap<Hash, Entry>>,
    /// How long an entry is good, in milliseconds.
    freshness: AtomicU64,
    /// Counts revocations. What was read before one must not be put in after it.
    generation: AtomicU64,
}

struct Entry {
    principal: Arc<Principal>,
    until: Instant,
}

impl Default for CredentialCache {
    fn default() -> Self {
        let cache = Self {
            entries: RwLock::default(),
            freshness: AtomicU64::default(),
            generation: AtomicU64::default(),
        };
        cache.trust_for(FRESHNESS);
        cache
    }
}

impl CredentialCache {
    /// Trusts credentials that are read from now on for this long.
    pub(crate) fn trust_for(&self, freshness: Duration) {
        let millis = u64::try_from(freshness.as_millis()).unwrap_or(u64::MAX);
        self.freshness.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, hash: &Hash) -> Option<Arc<Principal>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries
            .get(hash)
            .filter(|entry| Instant::now() < entry.until)
            .map(|entry| Arc::clone(&entry.principal))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Remembers what was read from the database when the generation was `generation`.
    pub(crate) fn put(&self, hash: Hash, principal: Arc<Principal>, generation: u64) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if self.generation() != generation {
            return;
        }
        if entries.len() >= CAPACITY {
            entries.clear();
        }
        entries.insert(
            hash,
            Entry {
                principal,
                until: Instant::now()
                    + Duration::from_millis(self.freshness.load(Ordering::Relaxed)),
            },
        );
    }

    pub(crate) fn forget_all(&self) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        self.generation.fetch_add(1, Ordering::AcqRel);
        entries.clear();
    }
}
