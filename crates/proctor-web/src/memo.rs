//! What was computed from runs that are over, and is asked for again and again: they do not change, so neither does this.

use std::sync::{Arc, Mutex, PoisonError};

use proctor_core::id::kinds::{BenchmarkId, OrganizationId, RunId};
use proctor_engine::comparisons::TaskOutcome;

use crate::pages::{
    compare::sides::{Compared, Question},
    leaderboard::Board,
};

/// How many comparisons are kept; one of 10,000 tasks takes about 5 MB.
const COMPARISONS: usize = 16;
/// Of how many runs the outcomes of tasks are kept; one of 10,000 tasks takes about 2 MB.
const OUTCOMES: usize = 32;
/// How many leaderboards are kept.
const BOARDS: usize = 32;

/// Everything that is kept.
pub(crate) struct Memos {
    /// Comparisons.
    pub(crate) comparisons: Memo<Question, Compared>,
    /// What came of the tasks of runs.
    pub(crate) outcomes: Memo<RunId, Vec<TaskOutcome>>,
    /// Leaderboards, by who looks and which runs are on them.
    pub(crate) boards: Memo<(OrganizationId, BenchmarkId, Vec<RunId>), Board>,
}

impl Default for Memos {
    fn default() -> Self {
        Self {
            comparisons: Memo::of(COMPARISONS),
            outcomes: Memo::of(OUTCOMES),
            boards: Memo::of(BOARDS),
        }
    }
}

/// The newest of what was computed, by what it was computed from.
pub(crate) struct Memo<K, V> {
    kept: Mutex<Vec<(K, Arc<V>)>>,
    most: usize,
}

impl<K: PartialEq, V> Memo<K, V> {
    /// Keeps at most so many.
    pub(crate) const fn of(most: usize) -> Self {
        Self {
            kept: Mutex::new(Vec::new()),
            most,
        }
    }

    /// What was computed from this, if it is still known.
    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| known == key)?;
        let found = kept.remove(place);
        let value = Arc::clone(&found.1);
        kept.push(found);
        Some(value)
    }

    /// Keeps what was computed from this.
    pub(crate) fn put(&self, key: K, value: V) -> Arc<V> {
        let value = Arc::new(value);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        if kept.len() >= self.most {
            kept.remove(0);
        }
        kept.push((key, Arc::clone(&value)));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_is_forgotten() {
        let memo = Memo::of(2);
        memo.put(1, "a");
        memo.put(2, "b");
        assert_eq!(memo.get(&1).as_deref(), Some(&"a"));
        memo.put(3, "c");
        assert_eq!(memo.get(&2), None);
        assert_eq!(memo.get(&1).as_deref(), Some(&"a"));
        memo.put(1, "d");
        assert_eq!(memo.get(&1).as_deref(), Some(&"d"));
        assert_eq!(memo.get(&3).as_deref(), Some(&"c"));
    }
}
