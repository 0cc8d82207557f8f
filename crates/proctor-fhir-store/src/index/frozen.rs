//! A column that never changes: compact arrays, made once.

use std::ops::Range;

use hashbrown::HashMap;

use super::{Key, Row, probe::Probe};

/// The values of one parameter over all rows of a base, in both directions.
///
/// Distinct values are kept once, sorted; their place in that order stands for them everywhere
/// else. So comparing two rows by this parameter is comparing two numbers.
#[derive(Debug)]
pub(crate) struct FrozenColumn {
    values: Box<[Key]>,
    /// `rows[starts[place]..starts[place + 1]]` have the value at `place`.
    starts: Box<[u32]>,
    rows: Box<[Row]>,
    /// `places[row_starts[row]..row_starts[row + 1]]` are the values of `row`.
    row_starts: Box<[u32]>,
    places: Box<[u32]>,
    /// The places of dates and numbers ordered by their upper bound.
    by_end: Box<[u32]>,
}

impl FrozenColumn {
    /// The value at a place.
    pub(crate) fn value(&self, place: u32) -> &Key {
        &self.values[place as usize]
    }

    /// The rows that have the value at a place, ascending.
    pub(crate) fn rows_at(&self, place: u32) -> &[Row] {
        let place = place as usize;
        &self.rows[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// The places of a row's values, ascending.
    pub(crate) fn places_of(&self, row: Row) -> &[u32] {
        let row = row as usize;
        &self.places[self.row_starts[row] as usize..self.row_starts[row + 1] as usize]
    }

    /// Where in the order of values (or of ends) a probe's matches lie.
    pub(crate) fn span(&self, probe: &Probe) -> Span {
        match probe {
            Probe::Everywhere => Span::Values(0..self.value_count()),
            Probe::From { from, inside } => {
                let start = self.values.partition_point(|value| value < from);
                let length = self.values[start..].partition_point(|value| inside.holds(value));
                Span::Values(to_u32(start)..to_u32(start + length))
            }
            Probe::EndsAfter(instant) => {
                let start = self
                    .by_end
                    .partition_point(|place| self.value(*place).end() <= *instant);
                Span::Ends(to_u32(start)..to_u32(self.by_end.len()))
            }
        }
    }

    /// How many entries a span has: at least as many as rows.
    pub(crate) fn weight(&self, span: &Span) -> usize {
        match span {
            Span::Values(range) => {
                (self.starts[range.end as usize] - self.starts[range.start as usize]) as usize
            }
            // Ends are not laid out in row order; assume that values have one row on average.
            Span::Ends(range) => {
                let share = self.rows.len().div_ceil(self.values.len().max(1));
                range.len() * share
            }
        }
    }

    /// The places of a span.
    pub(crate) fn places<'a>(&'a self, span: &Span) -> impl Iterator<Item = u32> + 'a {
        let (direct, by_end) = match span {
            Span::Values(range) => (range.clone(), 0..0),
            Span::Ends(range) => (0..0, range.start as usize..range.end as usize),
        };
        direct.chain(self.by_end[by_end].iter().copied())
    }

    /// Where a key stands among the values: twice the place of its equal plus one, or between.
    pub(crate) fn rank(&self, key: &Key) -> u32 {
        match self.values.binary_search(key) {
            Ok(place) => to_u32(place) * 2 + 1,
            Err(place) => to_u32(place) * 2,
        }
    }

    /// Bytes of memory that the arrays take, not counting what values own on the heap.
    pub(crate) fn array_bytes(&self) -> usize {
        size_of_val(&*self.values)
            + size_of_val(&*self.starts)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.row_starts)
            + size_of_val(&*self.places)
            + size_of_val(&*self.by_end)
    }

    /// How many distinct values there are.
    pub(crate) fn value_count(&self) -> u32 {
        to_u32(self.values.len())
    }
}

/// A contiguous part of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// In the order of values.
    Values(Range<u32>),
    /// In the order of ends.
    Ends(Range<u32>),
}

impl Span {
    /// Whether the value at `place` may match; certain only for spans of values.
    pub(crate) fn may_hold(&self, place: u32) -> bool {
        match self {
            Self::Values(range) => range.contains(&place),
            Self::Ends(_) => true,
        }
    }
}

/// Collects the values of a column.
#[derive(Debug, Default)]
pub(crate) struct ColumnBuilder {
    seen: HashMap<Key, u32>,
    pairs: Vec<(u32, Row)>,
}

impl ColumnBuilder {
    /// Notes that `row` has `value`.
    pub(crate) fn add(&mut self, value: Key, row: Row) {
        let next = to_u32(self.seen.len());
        let provisional = *self.seen.entry(value).or_insert(next);
        self.pairs.push((provisional, row));
    }

    /// The finished column over `row_count` rows.
    pub(crate) fn freeze(self, row_count: usize) -> FrozenColumn {
        let mut values: Vec<(Key, u32)> = self.seen.into_iter().collect();
        values.sort_unstable();
        let mut final_place = vec![0; values.len()];
        for (place, (_, provisional)) in values.iter().enumerate() {
            final_place[*provisional as usize] = to_u32(place);
        }
        let mut pairs = self.pairs;
        for (place, _) in &mut pairs {
            *place = final_place[*place as usize];
        }
        pairs.sort_unstable();
        pairs.dedup();
        let values: Box<[Key]> = values.into_iter().map(|(value, _)| value).collect();
        let starts = offsets(values.len(), pairs.iter().map(|(place, _)| *place));
        let rows = pairs.iter().map(|(_, row)| *row).collect();
        pairs.sort_unstable_by_key(|(place, row)| (*row, *place));
        let row_starts = offsets(row_count, pairs.iter().map(|(_, row)| *row));
        let places = pairs.iter().map(|(place, _)| *place).collect();
        let mut by_end: Vec<u32> = Vec::new();
        if values.first().is_some_and(Key::has_end) {
            by_end.extend(0..to_u32(values.len()));
            by_end.sort_by_key(|place| values[*place as usize].end());
        }
        FrozenColumn {
            values,
            starts,
            rows,
            row_starts,
            places,
            by_end: by_end.into(),
        }
    }
}

/// Where each of `count` groups starts, given the sorted group numbers of all members.
fn offsets(count: usize, members: impl Iterator<Item = u32>) -> Box<[u32]> {
    let mut starts = vec![0u32; count + 1];
    for group in members {
        starts[group as usize + 1] += 1;
    }
    for place in 1..starts.len() {
        starts[place] += starts[place - 1];
    }
    starts.into()
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).expect("a column has fewer than 2^32 values")
}
