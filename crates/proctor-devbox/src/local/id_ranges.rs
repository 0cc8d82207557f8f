//! Which user ids outside belong to which box: 65,536 for each, no two boxes the same.

use std::{
    collections::HashSet,
    sync::{Mutex, OnceLock, PoisonError},
};

/// The first id that is given out: above what accounts, subordinate ids and other container tools use.
const FIRST: u32 = 0x7000_0000;
/// How many ids a box has.
const EACH: u32 = 65_536;
/// How many ranges there are.
const RANGES: u32 = 4096;

/// Whether this process may give out ranges: it is root of the machine, not only of a user namespace that has few ids.
pub(super) fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        let whole = |path| fs_err::read_to_string(path).is_ok_and(|map| is_whole(&map));
        rustix::process::geteuid().is_root()
            && whole("/proc/self/uid_map")
            && whole("/proc/self/gid_map")
    })
}

/// Whether every id of every range means itself according to this map of a user namespace.
fn is_whole(map: &str) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(inside)), Some(Ok(outside)), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return false;
        };
        let end = u64::from(FIRST) + u64::from(EACH) * u64::from(RANGES);
        inside == outside && inside <= u64::from(FIRST) && inside + count >= end
    })
}

/// The ranges that are in use.
#[derive(Debug)]
pub(super) struct IdRanges {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    taken: HashSet<u32>,
    /// Where to look next. It begins elsewhere for every data directory, so that two servers seldom give out the same
    /// range, and goes on from there, so that a range rests before it is given out again.
    next: u32,
}

impl IdRanges {
    pub(super) fn new(begin: u32, taken: impl IntoIterator<Item = u32>) -> Self {
        Self {
            state: Mutex::new(State {
                taken: taken.into_iter().collect(),
                next: begin % RANGES,
            }),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first id of a free range.
    pub(super) fn take(&self) -> Option<u32> {
        let mut state = self.lock();
        for _ in 0..RANGES {
            let first = FIRST + state.next * EACH;
            state.next = (state.next + 1) % RANGES;
            if state.taken.insert(first) {
                return Some(first);
            }
        }
        None
    }

    pub(super) fn give_back(&self, first: u32) {
        self.lock().taken.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_of_the_whole_machine_has_ranges() {
        assert!(is_whole("         0          0 4294967295\n"));
        assert!(!is_whole("         0       1000          1\n"));
        assert!(!is_whole("0 100000 65536\n"));
        assert!(!is_whole("0 100000 4294867295\n"));
        assert!(!is_whole("0 0\n"));
        assert!(!is_whole(""));
    }

    #[test]
    fn every_range_is_given_out_once_and_can_be_had_again() {
        let ranges = IdRanges::new(4095, [FIRST]);
        let mut seen = HashSet::from([FIRST]);
        while let Some(first) = ranges.take() {
            assert!(seen.insert(first));
        }
        assert_eq!(seen.len(), RANGES as usize);
        ranges.give_back(FIRST + EACH);
        assert_eq!(ranges.take(), Some(FIRST + EACH));
    }
}
