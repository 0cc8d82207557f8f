//! How much is kept of commands that have ended: a number of them, and a number of bytes that they wrote.
//!
//! A devbox may live for days and run something every second. The oldest that ended are let go first, with their output; the log keeps
//! what it has of them, and their names stay known for a while, so that none is run a second time or taken for one that never was.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use uuid::Uuid;

use super::Command;
use crate::{error::FleetError, fleet::Fleet, live::Live};
use proctor_core::causes::with_causes;

/// How many names of commands that were let go are remembered.
const MOST_REMEMBERED: usize = 10_000;

/// What is kept of the commands of a devbox that have ended. The last one is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// How many commands.
    pub commands: usize,
    /// How many bytes of their output.
    pub output_bytes: u64,
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            commands: 1000,
            output_bytes: 512 << 20,
        }
    }
}

/// The commands of a devbox that have ended, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Those that are kept, in the order in which they ended, with the bytes they wrote.
    ended: VecDeque<(Uuid, u64)>,
    output_bytes: u64,
    /// Those that were let go, in that order.
    gone: VecDeque<Uuid>,
    gone_names: HashSet<Uuid>,
}

impl Kept {
    /// Notes that a command has ended.
    pub(crate) fn note_ended(&mut self, id: Uuid, output_bytes: u64) {
        self.ended.push_back((id, output_bytes));
        self.output_bytes += output_bytes;
    }

    /// Those that are beyond what is to be kept, the oldest first. They are gone from here on.
    fn let_go(&mut self, keeping: Keeping) -> Vec<Uuid> {
        let mut let_go = Vec::new();
        while self.ended.len() > 1
            && (self.ended.len() > keeping.commands || self.output_bytes > keeping.output_bytes)
        {
            let Some((id, bytes)) = self.ended.pop_front() else {
                break;
            };
            self.output_bytes -= bytes;
            let_go.push(id);
        }
        self.remember_gone(let_go.iter().copied());
        let_go
    }

    /// Remembers the names of commands that were let go.
    pub(crate) fn remember_gone(&mut self, names: impl IntoIterator<Item = Uuid>) {
        for name in names {
            if self.gone_names.insert(name) {
                self.gone.push_back(name);
            }
        }
        while self.gone.len() > MOST_REMEMBERED {
            if let Some(oldest) = self.gone.pop_front() {
                self.gone_names.remove(&oldest);
            }
        }
    }

    /// Refuses a command that was let go.
    pub(crate) fn must_not_be_gone(&self, id: Uuid) -> Result<(), FleetError> {
        if self.gone_names.contains(&id) {
            return Err(FleetError::Gone {
                noun: "execution",
                id: id.to_string(),
                instead: "the devbox's log has what is left of it",
            });
        }
        Ok(())
    }
}

impl Fleet {
    /// Notes that a command has ended, and lets those go that are beyond what is kept.
    pub(crate) async fn keep(&self, live: &Arc<Live>, command: &Command) {
        live.kept().note_ended(command.id, command.output_bytes());
        self.let_old_ones_go(live).await;
    }

    /// Lets the oldest commands go that are beyond what is kept.
    pub(crate) async fn let_old_ones_go(&self, live: &Arc<Live>) {
        let old = live.kept().let_go(self.inner.keeping);
        for id in old {
            let command = live.commands().remove(&id);
            let Some(execution) = command.and_then(|command| command.ended_program()) else {
                continue;
            };
            if let Err(error) = execution.forget().await {
                tracing::warn!(devbox = %live.id, execution = %id, error = %with_causes(&error), "an old execution stays on disk");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[test]
    fn the_oldest_are_let_go_by_number_and_by_bytes_and_the_last_stays() {
        let keeping = Keeping {
            commands: 2,
            output_bytes: 100,
        };
        let mut kept = Kept::default();
        for (number, bytes) in [(1, 10), (2, 10), (3, 10)] {
            kept.note_ended(name(number), bytes);
        }
        assert_eq!(kept.let_go(keeping), [name(1)]);
        kept.note_ended(name(4), 500);
        assert_eq!(kept.let_go(keeping), [name(2), name(3)]);
        assert!(kept.must_not_be_gone(name(1)).is_err());
        assert!(kept.must_not_be_gone(name(4)).is_ok());
        assert!(kept.must_not_be_gone(name(9)).is_ok());
    }

    #[test]
    fn names_are_remembered_up_to_a_bound_and_each_once() {
        let mut kept = Kept::default();
        let names = |range: std::ops::Range<u128>| range.map(name);
        kept.remember_gone(names(0..10).chain(names(0..10)));
        assert_eq!(kept.gone.len(), 10);
        kept.remember_gone(names(10..MOST_REMEMBERED as u128 + 5));
        assert_eq!(kept.gone.len(), MOST_REMEMBERED);
        assert!(kept.must_not_be_gone(name(4)).is_ok());
        assert!(kept.must_not_be_gone(name(5)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_kept_is_always_within_its_bounds(sizes in prop::collection::vec(0..200u64, 1..60), commands in 1..8usize, output_bytes in 0..500u64) {
            let keeping = Keeping { commands, output_bytes };
            let mut kept = Kept::default();
            for (number, size) in sizes.into_iter().enumerate() {
                kept.note_ended(name(number as u128), size);
                kept.let_go(keeping);
                prop_assert_eq!(kept.output_bytes, kept.ended.iter().map(|(_, bytes)| bytes).sum::<u64>());
                prop_assert!(kept.ended.len() == 1 || kept.ended.len() <= commands && kept.output_bytes <= output_bytes);
                prop_assert!(kept.ended.back().is_some_and(|(last, _)| *last == name(number as u128)));
            }
        }
    }
}
