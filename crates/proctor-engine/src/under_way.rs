//! What is being done on this node right now: each thing once, and everything can be told to stop.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

/// Work under way, by what it is about.
pub(crate) struct UnderWay<K>(Mutex<HashMap<K, CancellationToken>>);

impl<K> Default for UnderWay<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> UnderWay<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes work that `stop` stops; `false` if it is under way already.
    pub(crate) fn begin(&self, id: K, stop: CancellationToken) -> bool {
        match self.lock().entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(stop);
                true
            }
        }
    }

    /// Whether somebody is at work on it.
    pub(crate) fn is_under_way(&self, id: &K) -> bool {
        self.lock().contains_key(id)
    }

    /// Notes that work is over.
    pub(crate) fn end(&self, id: &K) {
        self.lock().remove(id);
    }

    /// Tells whoever is at work to stop, if anybody is.
    pub(crate) fn stop(&self, id: &K) {
        if let Some(stop) = self.lock().get(id) {
            stop.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_begun_once_until_it_is_over_and_can_be_stopped() {
        let (work, stop) = (UnderWay::default(), CancellationToken::new());
        assert!(work.begin("a", stop.clone()));
        assert!(!work.begin("a", CancellationToken::new()));
        assert!(work.begin("b", CancellationToken::new()));
        work.stop(&"b");
        assert!(!stop.is_cancelled());
        work.stop(&"a");
        assert!(stop.is_cancelled());
        work.end(&"a");
        work.stop(&"a");
        assert!(work.begin("a", CancellationToken::new()));
    }
}
