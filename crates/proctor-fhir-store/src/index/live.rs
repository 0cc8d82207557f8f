//! A column that changes with every write: the part of the index that belongs to one playground.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::{Key, Row, probe::Probe};

/// The values of one parameter over the rows of an overlay.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LiveColumn {
    /// Keys are shared with the entries that have them.
    rows: BTreeMap<Arc<Key>, Vec<Row>>,
}

impl LiveColumn {
    /// Notes that `row` has `value`.
    pub(crate) fn add(&mut self, value: &Arc<Key>, row: Row) {
        if let Some(rows) = self.rows.get_mut(value) {
            if let Err(place) = rows.binary_search(&row) {
                rows.insert(place, row);
            }
        } else {
            self.rows.insert(Arc::clone(value), vec![row]);
        }
    }

    /// Forgets that `row` has `value`.
    pub(crate) fn remove(&mut self, value: &Key, row: Row) {
        let Some(rows) = self.rows.get_mut(value) else {
            return;
        };
        if let Ok(place) = rows.binary_search(&row) {
            rows.remove(place);
        }
        if rows.is_empty() {
            self.rows.remove(value);
        }
    }

    /// Whether no row has a value.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The values that a probe's matches are among, each with its rows.
    pub(crate) fn scan<'a>(
        &'a self,
        probe: &'a Probe,
    ) -> impl Iterator<Item = (&'a Key, &'a [Row])> {
        let from = match probe {
            Probe::From { from, .. } => Bound::Included(from),
            Probe::Everywhere | Probe::EndsAfter(_) => Bound::Unbounded,
        };
        self.rows
            .range::<Key, _>((from, Bound::Unbounded))
            .take_while(move |(value, _)| match probe {
                Probe::From { inside, .. } => inside.holds(value),
                Probe::Everywhere | Probe::EndsAfter(_) => true,
            })
            .map(|(value, rows)| (&**value, rows.as_slice()))
    }
}
