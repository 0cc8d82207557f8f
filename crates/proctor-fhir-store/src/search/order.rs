//! The order of matches, and the page that is cut out of it.

use std::cmp::Ordering;

use proctor_fhir::definitions::{ParameterId, SearchDefinitions};

use super::{
    Found,
    page::{Position, Side},
};
use crate::{
    index::{Key, Row, frozen::FrozenColumn, keys_of},
    kind::ResourceKind,
    overlay::KindView,
    resource::parse_json,
    state::State,
};

/// One of the things that matches are sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortField {
    pub(crate) code: Box<str>,
    pub(crate) descending: bool,
}

/// Cuts one page of at most `count` out of the matches, and tells whether more lie beyond it.
///
/// Only the page is sorted; the rest is merely found to lie beyond it.
pub(super) fn cut_page(
    state: &State,
    fields: &[SortField],
    matches: Vec<Found>,
    position: Option<Position>,
    count: usize,
) -> (Vec<Found>, bool) {
    let backwards = position.is_some_and(|position| position.side == Side::Before);
    if fields.is_empty() {
        return cut_unsorted(&matches, position, count);
    }
    let sorter = Sorter::new(state, fields, &matches);
    if position.is_none()
        && let Some(page) = sorter.walk(&matches, count)
    {
        return (page, matches.len() > count);
    }
    let candidates = match position {
        None => matches,
        Some(position) => {
            let place = Place::of(state, &sorter, position);
            let wanted = if backwards {
                Ordering::Less
            } else {
                Ordering::Greater
            };
            let mut beyond = matches;
            beyond.retain(|found| sorter.compare_to_place(*found, &place) == wanted);
            beyond
        }
    };
    let more = candidates.len() > count;
    let mut ranked: Vec<(u32, Found)> = candidates
        .into_iter()
        .map(|found| (sorter.rank(found), found))
        .collect();
    let in_order = |left: &(u32, Found), right: &(u32, Found)| {
        let order = left.0.cmp(&right.0).then_with(|| {
            let settled = usize::from(is_exact(left.0));
            sorter.compare(left.1, right.1, settled)
        });
        if backwards { order.reverse() } else { order }
    };
    if more {
        keep_nearest(&mut ranked, count, backwards);
        if ranked.len() > count && count > 0 {
            ranked.select_nth_unstable_by(count - 1, in_order);
        }
        ranked.truncate(count);
    }
    ranked.sort_unstable_by(in_order);
    if backwards {
        ranked.reverse();
    }
    (ranked.into_iter().map(|(_, found)| found).collect(), more)
}

/// Drops what cannot be among the first `count`: ranks are compared alone, so ties stay.
fn keep_nearest(ranked: &mut Vec<(u32, Found)>, count: usize, backwards: bool) {
    let Some(last) = count.checked_sub(1) else {
        ranked.clear();
        return;
    };
    let mut ranks: Vec<u32> = ranked.iter().map(|(rank, _)| *rank).collect();
    let last = if backwards { ranks.len() - count } else { last };
    let bound = *ranks.select_nth_unstable(last).1;
    if backwards {
        ranked.retain(|(rank, _)| *rank >= bound);
    } else {
        ranked.retain(|(rank, _)| *rank <= bound);
    }
}

/// Whether equal ranks mean equal values of the first field: ranks between places do not.
fn is_exact(rank: u32) -> bool {
    rank % 2 == 1
}

/// Without sort fields, matches are in the order of their making, type by type.
fn cut_unsorted(matches: &[Found], position: Option<Position>, count: usize) -> (Vec<Found>, bool) {
    match position {
        None => (
            matches[..count.min(matches.len())].to_vec(),
            matches.len() > count,
        ),
        Some(position) if position.side == Side::After => {
            let start = matches.partition_point(|found| *found <= position.at);
            let end = (start + count).min(matches.len());
            (matches[start..end].to_vec(), end < matches.len())
        }
        Some(position) => {
            let end = matches.partition_point(|found| *found < position.at);
            let start = end.saturating_sub(count);
            (matches[start..end].to_vec(), start > 0)
        }
    }
}

/// Compares matches by what a search sorts by.
struct Sorter<'a> {
    fields: &'a [SortField],
    kinds: Vec<SortedKind<'a>>,
    /// Whether ranks can be compared: all matches are of one type.
    is_ranked: bool,
}

struct SortedKind<'a> {
    view: KindView<'a>,
    columns: Vec<SortColumn<'a>>,
}

/// Where the values of a sort field are.
#[derive(Clone, Copy)]
enum SortColumn<'a> {
    Id,
    Parameter(ParameterId, Option<&'a FrozenColumn>),
    Nowhere,
}

/// A value to sort by.
#[derive(Clone, Copy)]
enum SortValue<'a> {
    Id(&'a str),
    Key(&'a Key),
}

/// From this many matches on, the order of the base's column is tried first.
const WORTH_WALKING: usize = 512;

/// The rank of a value that is missing: after all others, whatever the direction. It is odd, as
/// ranks of exact places are; turning a rank round for a descending order keeps that.
const MISSING: u32 = u32::MAX;

impl<'a> Sorter<'a> {
    fn new(state: &'a State, fields: &'a [SortField], matches: &[Found]) -> Self {
        let mut names: Vec<ResourceKind> = Vec::new();
        for found in matches {
            // Matches come type by type.
            if names.last() != Some(&found.kind) {
                names.push(found.kind);
            }
        }
        let kinds = names
            .into_iter()
            .map(|kind| {
                let view = state.view(kind);
                let columns = fields.iter().map(|field| sort_column(&view, &field.code));
                SortedKind {
                    view,
                    columns: columns.collect(),
                }
            })
            .collect::<Vec<_>>();
        Self {
            fields,
            is_ranked: kinds.len() == 1,
            kinds,
        }
    }

    fn kind(&self, kind: ResourceKind) -> Option<&SortedKind<'a>> {
        self.kinds.iter().find(|known| known.view.kind == kind)
    }

    /// A number that orders matches by the first field as far as the base's column can tell.
    fn rank(&self, found: Found) -> u32 {
        if !self.is_ranked {
            return 0;
        }
        let sorted = &self.kinds[0];
        let SortColumn::Parameter(parameter, Some(column)) = sorted.columns[0] else {
            return 0;
        };
        let descending = self.fields[0].descending;
        let rank = match sorted.view.changed(found.row) {
            None => {
                let places = column.places_of(found.row);
                let place = if descending {
                    places.last()
                } else {
                    places.first()
                };
                place.map(|place| place * 2 + 1)
            }
            Some(entry) => {
                let values = entry.values_of(parameter);
                let value = if descending {
                    values.last()
                } else {
                    values.first()
                };
                value.map(|(_, key)| column.rank(key))
            }
        };
        match rank {
            None => MISSING,
            Some(rank) if descending => MISSING - 1 - rank,
            Some(rank) => rank,
        }
    }

    /// The first page, read off the base's column in its order and merged with what was changed
    /// here: worth it when so many rows match that the first ones are soon met. Nothing when the
    /// column does not tell the whole order, or not soon.
    fn walk(&self, matches: &[Found], count: usize) -> Option<Vec<Found>> {
        let [sorted] = self.kinds.as_slice() else {
            return None;
        };
        let SortColumn::Parameter(_, Some(column)) = sorted.columns[0] else {
            return None;
        };
        let patience = matches.len() / 4;
        let mut visits = sorted.view.changed_count();
        if matches.len() < WORTH_WALKING || visits > patience {
            return None;
        }
        let is_match = |found: &Found| matches.binary_search(found).is_ok();
        let kind = sorted.view.kind;
        let descending = self.fields[0].descending;
        let mut page: Vec<Found> = Vec::with_capacity(count + 16);
        for step in 0..column.value_count() {
            let place = if descending {
                column.value_count() - 1 - step
            } else {
                step
            };
            for row in column.rows_at(place) {
                let own = column.places_of(*row);
                let first = if descending { own.last() } else { own.first() };
                let found = Found { kind, row: *row };
                // A row stands where its least value is, or its greatest when descending; where the
                // base no longer tells, not here.
                if first == Some(&place) && !sorted.view.is_covered(*row) && is_match(&found) {
                    page.push(found);
                }
            }
            visits += column.rows_at(place).len();
            // Rows of one value are taken together: the other fields order them.
            if page.len() >= count {
                let changed = sorted.view.changed_rows().map(|row| Found { kind, row });
                page.extend(changed.filter(is_match));
                let in_order = |left: &Found, right: &Found| self.compare(*left, *right, 0);
                if count > 0 && page.len() > count {
                    page.select_nth_unstable_by(count - 1, in_order);
                }
                page.truncate(count);
                page.sort_unstable_by(in_order);
                return Some(page);
            }
            if visits > patience {
                return None;
            }
        }
        None
    }

    /// Compares by the fields after the first `settled`, which are equal.
    fn compare(&self, left: Found, right: Found, settled: usize) -> Ordering {
        let (Some(left_kind), Some(right_kind)) = (self.kind(left.kind), self.kind(right.kind))
        else {
            return left.cmp(&right);
        };
        for (place, field) in self.fields.iter().enumerate().skip(settled) {
            let left = left_kind.value(place, left.row, field.descending);
            let right = right_kind.value(place, right.row, field.descending);
            let order = compare_values(left, right, field.descending);
            if order.is_ne() {
                return order;
            }
        }
        left.cmp(&right)
    }

    fn compare_to_place(&self, found: Found, place: &Place) -> Ordering {
        let Some(kind) = self.kind(found.kind) else {
            return found.cmp(&place.at);
        };
        for ((number, field), there) in self.fields.iter().enumerate().zip(&place.values) {
            let here = kind.value(number, found.row, field.descending);
            let there = there.as_ref().map(PlaceValue::borrow);
            let order = compare_values(here, there, field.descending);
            if order.is_ne() {
                return order;
            }
        }
        found.cmp(&place.at)
    }
}

impl<'a> SortedKind<'a> {
    fn value(&self, field: usize, row: Row, descending: bool) -> Option<SortValue<'a>> {
        match self.columns[field] {
            SortColumn::Id => Some(SortValue::Id(self.view.id(row))),
            SortColumn::Nowhere => None,
            SortColumn::Parameter(parameter, column) => {
                let key = match self.view.changed(row) {
                    Some(entry) => {
                        let values = entry.values_of(parameter);
                        let value = if descending {
                            values.last()
                        } else {
                            values.first()
                        };
                        value.map(|(_, key)| &**key)
                    }
                    None => column.and_then(|column| {
                        let places = column.places_of(row);
                        let place = if descending {
                            places.last()
                        } else {
                            places.first()
                        };
                        place.map(|place| column.value(*place))
                    }),
                };
                key.map(SortValue::Key)
            }
        }
    }
}

fn sort_column<'a>(view: &KindView<'a>, code: &str) -> SortColumn<'a> {
    if code == "_id" {
        return SortColumn::Id;
    }
    match SearchDefinitions::r4().find(view.kind.name(), code) {
        Some(parameter) => SortColumn::Parameter(parameter.id, view.frozen(parameter.id)),
        None => SortColumn::Nowhere,
    }
}

fn compare_values(
    left: Option<SortValue<'_>>,
    right: Option<SortValue<'_>>,
    descending: bool,
) -> Ordering {
    let order = match (left, right) {
        (None, None) => return Ordering::Equal,
        (None, Some(_)) => return Ordering::Greater,
        (Some(_), None) => return Ordering::Less,
        (Some(SortValue::Id(left)), Some(SortValue::Id(right))) => left.cmp(right),
        (Some(SortValue::Key(left)), Some(SortValue::Key(right))) => left.cmp(right),
        (Some(SortValue::Id(_)), Some(SortValue::Key(_))) => Ordering::Less,
        (Some(SortValue::Key(_)), Some(SortValue::Id(_))) => Ordering::Greater,
    };
    if descending { order.reverse() } else { order }
}

/// A place between pages with the values that it had when the link was made.
struct Place {
    at: Found,
    values: Vec<Option<PlaceValue>>,
}

enum PlaceValue {
    Id(String),
    Key(Key),
}

impl PlaceValue {
    fn borrow(&self) -> SortValue<'_> {
        match self {
            Self::Id(id) => SortValue::Id(id),
            Self::Key(key) => SortValue::Key(key),
        }
    }
}

impl Place {
    fn of(state: &State, sorter: &Sorter<'_>, position: Position) -> Self {
        let Found { kind, row } = position.at;
        let view = state.view(kind);
        let versions = view.versions(row);
        let body = versions
            .iter()
            .find(|version| version.number == position.version)
            .and_then(|version| version.body.as_deref());
        let keys = body
            .and_then(|body| parse_json(body).ok())
            .map(|value| keys_of(&value))
            .unwrap_or_default();
        let values = sorter
            .fields
            .iter()
            .map(|field| match sort_column(&view, &field.code) {
                SortColumn::Id => Some(PlaceValue::Id(view.id(row).to_string())),
                SortColumn::Nowhere => None,
                SortColumn::Parameter(parameter, _) => {
                    let mut own = keys.iter().filter(|(id, _)| *id == parameter);
                    let key = if field.descending {
                        own.next_back()
                    } else {
                        own.next()
                    };
                    key.map(|(_, key)| PlaceValue::Key(key.clone()))
                }
            })
            .collect();
        Self {
            at: position.at,
            values,
        }
    }
}
