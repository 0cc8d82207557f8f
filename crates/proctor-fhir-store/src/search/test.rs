//! What a row must satisfy, prepared for one type of one playground.

use proctor_fhir::{
    definitions::ParameterId,
    index::{IndexValue, ReferenceTarget},
    query::{Condition, Criterion, Filter},
};

use crate::{
    index::{
        Row,
        frozen::Span,
        probe::{Probe, probes, target_probe},
    },
    kind::ResourceKind,
    overlay::KindView,
    state::State,
};

/// What a row must satisfy.
#[derive(Debug)]
pub(crate) enum Test {
    /// Some value of a parameter answers one of the alternatives.
    Value(ValueTest),
    /// No value does.
    Not(ValueTest),
    /// The parameter has values, or has none.
    Present(ParameterId, bool),
    /// The row is one of these, ascending.
    Rows(Vec<Row>),
    /// The row is none of these, ascending.
    NotRows(Vec<Row>),
    /// A reference points at one of these.
    Refers(ReferenceTest),
    /// A reference points at a resource of this type, whichever, that exists.
    RefersToAny(ParameterId, ResourceKind),
    /// At least one of these holds.
    Any(Vec<Test>),
}

/// Values of one parameter that will do.
#[derive(Debug)]
pub(crate) struct ValueTest {
    parameter: ParameterId,
    alternatives: Vec<Alternative>,
}

#[derive(Debug)]
struct Alternative {
    criterion: Criterion,
    probes: Vec<Probe>,
    /// Where the probes lead in the base's column.
    spans: Vec<Span>,
}

/// Resources that a reference may point at.
#[derive(Debug)]
pub(crate) struct ReferenceTest {
    pub(crate) parameter: ParameterId,
    /// For each type the rows, ascending.
    pub(crate) targets: Vec<(ResourceKind, Vec<Row>)>,
}

impl Test {
    /// The test of a parameter's values, for rows of `view`.
    pub(crate) fn of_filter(filter: Filter, view: &KindView<'_>) -> Self {
        match filter.condition {
            Condition::Missing(missing) => Self::Present(filter.parameter, !missing),
            Condition::AnyOf(criteria) => {
                Self::Value(ValueTest::new(filter.parameter, criteria, view))
            }
            Condition::NoneOf(criteria) => {
                Self::Not(ValueTest::new(filter.parameter, criteria, view))
            }
        }
    }

    /// About how many rows satisfy it, as far as the index tells cheaply; nothing for a test that
    /// the index cannot enumerate.
    pub(crate) fn estimate(&self, view: &KindView<'_>) -> Option<usize> {
        match self {
            Self::Value(test) => Some(test.estimate(view)),
            Self::Rows(rows) => Some(rows.len()),
            Self::Refers(test) => Some(test.targets.iter().map(|(_, rows)| rows.len() * 4).sum()),
            Self::Any(tests) => tests.iter().map(|test| test.estimate(view)).sum(),
            Self::Not(_) | Self::NotRows(_) | Self::Present(..) | Self::RefersToAny(..) => None,
        }
    }

    /// The rows that satisfy it, ascending; only for tests with an estimate.
    pub(crate) fn enumerate(&self, state: &State, view: &KindView<'_>) -> Vec<Row> {
        let mut rows = Vec::new();
        self.collect(state, view, &mut rows);
        if !rows.is_sorted_by(|left, right| left < right) {
            rows.sort_unstable();
            rows.dedup();
        }
        rows
    }

    fn collect(&self, state: &State, view: &KindView<'_>, rows: &mut Vec<Row>) {
        match self {
            Self::Value(test) => test.collect(view, rows),
            Self::Rows(known) => rows.extend(known.iter().filter(|row| view.is_live(**row))),
            Self::Refers(test) => test.collect(state, view, rows),
            Self::Any(tests) => {
                for test in tests {
                    test.collect(state, view, rows);
                }
            }
            Self::Not(_) | Self::NotRows(_) | Self::Present(..) | Self::RefersToAny(..) => {}
        }
    }

    /// Whether a row satisfies it.
    pub(crate) fn holds(&self, state: &State, view: &KindView<'_>, row: Row) -> bool {
        match self {
            Self::Value(test) => test.holds(view, row),
            Self::Not(test) => !test.holds(view, row),
            Self::Present(parameter, present) => {
                view.any_value(row, *parameter, |_| true) == *present
            }
            Self::Rows(rows) => rows.binary_search(&row).is_ok(),
            Self::NotRows(rows) => rows.binary_search(&row).is_err(),
            Self::Refers(test) => test.holds(state, view, row),
            Self::RefersToAny(parameter, kind) => {
                let targets = state.view(*kind);
                view.any_value(row, *parameter, |key| {
                    let Some((name, id)) = local_target(state, &key.0) else {
                        return false;
                    };
                    let target = targets.row_of(id).filter(|_| name == kind.name());
                    target.is_some_and(|target| targets.is_live(target))
                })
            }
            Self::Any(tests) => tests.iter().any(|test| test.holds(state, view, row)),
        }
    }
}

impl ValueTest {
    fn new(parameter: ParameterId, criteria: Vec<Criterion>, view: &KindView<'_>) -> Self {
        let column = view.frozen(parameter);
        let alternatives = criteria
            .into_iter()
            .map(|criterion| {
                let probes = probes(&criterion);
                let spans = match column {
                    Some(column) => probes.iter().map(|probe| column.span(probe)).collect(),
                    None => Vec::new(),
                };
                Alternative {
                    criterion,
                    probes,
                    spans,
                }
            })
            .collect();
        Self {
            parameter,
            alternatives,
        }
    }

    fn estimate(&self, view: &KindView<'_>) -> usize {
        let frozen: usize = match view.frozen(self.parameter) {
            Some(column) => self
                .alternatives
                .iter()
                .flat_map(|alternative| &alternative.spans)
                .map(|span| column.weight(span))
                .sum(),
            None => 0,
        };
        let live: usize = match view.live(self.parameter) {
            // A look at the beginning tells a selective test from others.
            Some(column) => self
                .alternatives
                .iter()
                .flat_map(|alternative| &alternative.probes)
                .map(|probe| {
                    let stretch = column.scan(probe).take(64);
                    stretch.map(|(_, rows)| rows.len()).sum::<usize>()
                })
                .sum(),
            None => 0,
        };
        frozen + live
    }

    fn collect(&self, view: &KindView<'_>, rows: &mut Vec<Row>) {
        if let Some(column) = view.frozen(self.parameter) {
            for alternative in &self.alternatives {
                for span in &alternative.spans {
                    for place in column.places(span) {
                        if alternative.criterion.matches(&column.value(place).0) {
                            let found = column.rows_at(place).iter();
                            rows.extend(found.filter(|row| !view.is_covered(**row)));
                        }
                    }
                }
            }
        }
        if let Some(column) = view.live(self.parameter) {
            for alternative in &self.alternatives {
                for probe in &alternative.probes {
                    for (key, found) in column.scan(probe) {
                        if alternative.criterion.matches(&key.0) {
                            rows.extend(found);
                        }
                    }
                }
            }
        }
    }

    fn holds(&self, view: &KindView<'_>, row: Row) -> bool {
        if let Some(entry) = view.changed(row) {
            return entry.values_of(self.parameter).iter().any(|(_, key)| {
                let mut alternatives = self.alternatives.iter();
                alternatives.any(|alternative| alternative.criterion.matches(&key.0))
            });
        }
        let Some(column) = view.frozen(self.parameter) else {
            return false;
        };
        column.places_of(row).iter().any(|place| {
            self.alternatives.iter().any(|alternative| {
                alternative.spans.iter().any(|span| span.may_hold(*place))
                    && alternative.criterion.matches(&column.value(*place).0)
            })
        })
    }
}

impl ReferenceTest {
    fn collect(&self, state: &State, view: &KindView<'_>, rows: &mut Vec<Row>) {
        for (kind, targets) in &self.targets {
            let target_view = state.view(*kind);
            for target in targets {
                let id = target_view.id(*target);
                collect_referrers(state, view, self.parameter, *kind, id, rows);
            }
        }
    }

    fn holds(&self, state: &State, view: &KindView<'_>, row: Row) -> bool {
        view.any_value(row, self.parameter, |key| {
            let Some((kind, id)) = local_target(state, &key.0) else {
                return false;
            };
            let targets = self.targets.iter().find(|(known, _)| known.name() == kind);
            targets.is_some_and(|(kind, rows)| {
                let target = state.view(*kind).row_of(id);
                target.is_some_and(|target| rows.binary_search(&target).is_ok())
            })
        })
    }
}

/// Adds the rows of `view` whose `parameter` refers to `kind/id`.
pub(super) fn collect_referrers(
    state: &State,
    view: &KindView<'_>,
    parameter: ParameterId,
    kind: ResourceKind,
    id: &str,
    rows: &mut Vec<Row>,
) {
    let probe = target_probe(Some(kind.name()), id);
    if let Some(column) = view.frozen(parameter) {
        let span = column.span(&probe);
        for place in column.places(&span) {
            if local_target(state, &column.value(place).0).is_some() {
                let found = column.rows_at(place).iter();
                rows.extend(found.filter(|row| !view.is_covered(**row)));
            }
        }
    }
    if let Some(column) = view.live(parameter) {
        for (key, found) in column.scan(&probe) {
            if local_target(state, &key.0).is_some() {
                rows.extend(found);
            }
        }
    }
}

/// The type and id that a reference names, if it points into this store.
pub(super) fn local_target<'a>(state: &State, value: &'a IndexValue) -> Option<(&'a str, &'a str)> {
    let IndexValue::Reference(reference) = value else {
        return None;
    };
    match &reference.target {
        ReferenceTarget::Literal { base, kind, id, .. } => {
            let is_ours = match base {
                None => true,
                Some(base) => **base == *state.settings().base_url,
            };
            is_ours.then_some((&**kind, &**id))
        }
        ReferenceTarget::Canonical { .. }
        | ReferenceTarget::Url(_)
        | ReferenceTarget::Contained
        | ReferenceTarget::Unresolved => None,
    }
}
