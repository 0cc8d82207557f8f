//! Finding the rows that satisfy all tests.

use super::test::Test;
use crate::{index::Row, overlay::KindView, state::State};

/// The rows of `view` that satisfy all `tests`, ascending.
pub(super) fn matching_rows(state: &State, view: &KindView<'_>, tests: &[Test]) -> Vec<Row> {
    let driver = tests
        .iter()
        .enumerate()
        .filter_map(|(place, test)| Some((test.estimate(view)?, place)))
        .min();
    let rest = |skip: Option<usize>| {
        let others = tests.iter().enumerate();
        others.filter(move |(place, _)| Some(*place) != skip)
    };
    let mut rows = match driver {
        Some((_, place)) => tests[place].enumerate(state, view),
        None => all_rows(view),
    };
    let others: Vec<&Test> = rest(driver.map(|(_, place)| place))
        .map(|(_, test)| test)
        .collect();
    if !others.is_empty() {
        rows.retain(|row| others.iter().all(|test| test.holds(state, view, *row)));
    }
    rows
}

fn all_rows(view: &KindView<'_>) -> Vec<Row> {
    let everything = 0..view.row_end();
    if view.live_count() == view.row_end() as usize {
        return everything.collect();
    }
    everything.filter(|row| view.is_live(*row)).collect()
}
