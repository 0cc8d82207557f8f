//! Index values in an order in which what a search asks for lies together.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    sync::LazyLock,
};

use proctor_fhir::{
    definitions::{ParameterId, SearchDefinitions},
    index::{IndexValue, NumberValue, ReferenceTarget, ReferenceValue, TokenValue, extract},
};
use serde_json::Value;

/// A value of a search parameter, ordered for searching:
///
/// * tokens by code, then system: a bare code is one stretch;
/// * text by its folded form: a prefix is one stretch;
/// * dates by where they start; numbers and quantities by their lower bound;
/// * references by id, then type: a bare id is one stretch; URLs, canonicals and logical references
///   each by their text;
/// * composites by the order of their parts, the first part being one value.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub(crate) IndexValue);

/// `_id`, which needs no index: rows are found by id.
static ID: LazyLock<ParameterId> = LazyLock::new(|| {
    let parameter = SearchDefinitions::r4().find("Patient", "_id");
    parameter.expect("R4 defines _id for every type").id
});

/// The keys that a resource is found by, ordered by parameter and without repetitions.
pub(crate) fn keys_of(resource: &Value) -> Vec<(ParameterId, Key)> {
    let mut keys = Vec::with_capacity(32);
    for (parameter, value) in extract(SearchDefinitions::r4(), resource) {
        if parameter == *ID {
            continue;
        }
        match value {
            IndexValue::Composite(parts) => {
                let first: &[IndexValue] = parts.first().map_or(&[], |part| part);
                for value in first {
                    let mut own = parts.clone();
                    own[0] = Box::new([value.clone()]);
                    keys.push((parameter, Key(IndexValue::Composite(own))));
                }
            }
            value => keys.push((parameter, Key(value))),
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl Key {
    /// The upper bound of a date or number, as a number that orders alike; the greatest for
    /// everything else.
    pub(crate) fn end(&self) -> i64 {
        match &self.0 {
            IndexValue::Date(span) => span.end,
            IndexValue::Number(number) => ordered_bits(number.high),
            IndexValue::Quantity(quantity) => ordered_bits(quantity.number.high),
            _ => i64::MAX,
        }
    }

    /// Whether [`Key::end`] says anything.
    pub(crate) fn has_end(&self) -> bool {
        matches!(
            self.0,
            IndexValue::Date(_) | IndexValue::Number(_) | IndexValue::Quantity(_)
        )
    }
}

/// A number as bits that order as the number does.
pub(crate) fn ordered_bits(number: f64) -> i64 {
    // Both zeros are one number.
    let bits = (number + 0.0).to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// Hashes what tells most keys apart; equal keys have equal hashes.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_value(&self.0, state);
    }
}

fn hash_value<H: Hasher>(value: &IndexValue, state: &mut H) {
    match value {
        IndexValue::Token(token) => token.code.hash(state),
        IndexValue::String(text) => text.original.hash(state),
        IndexValue::Date(span) => (span.start, span.end).hash(state),
        IndexValue::Reference(reference) => match &reference.target {
            ReferenceTarget::Literal { id, .. } => id.hash(state),
            ReferenceTarget::Canonical { url, .. } | ReferenceTarget::Url(url) => url.hash(state),
            ReferenceTarget::Contained | ReferenceTarget::Unresolved => 0.hash(state),
        },
        IndexValue::Quantity(quantity) => hash_number(&quantity.number, state),
        IndexValue::Number(number) => hash_number(number, state),
        IndexValue::Uri(uri) => uri.hash(state),
        IndexValue::Composite(parts) => {
            for part in parts {
                for value in part {
                    hash_value(value, state);
                }
            }
        }
        IndexValue::Position(position) => position.latitude.to_bits().hash(state),
    }
}

fn hash_number<H: Hasher>(number: &NumberValue, state: &mut H) {
    (number.low.to_bits(), number.high.to_bits()).hash(state);
}

fn compare(left: &IndexValue, right: &IndexValue) -> Ordering {
    match (left, right) {
        (IndexValue::Token(left), IndexValue::Token(right)) => compare_tokens(left, right),
        (IndexValue::String(left), IndexValue::String(right)) => left
            .folded
            .cmp(&right.folded)
            .then_with(|| left.original.cmp(&right.original)),
        (IndexValue::Date(left), IndexValue::Date(right)) => {
            (left.start, left.end).cmp(&(right.start, right.end))
        }
        (IndexValue::Reference(left), IndexValue::Reference(right)) => {
            compare_references(left, right)
        }
        (IndexValue::Quantity(left), IndexValue::Quantity(right)) => {
            compare_numbers(&left.number, &right.number).then_with(|| {
                (&left.code, &left.system, &left.unit).cmp(&(
                    &right.code,
                    &right.system,
                    &right.unit,
                ))
            })
        }
        (IndexValue::Number(left), IndexValue::Number(right)) => compare_numbers(left, right),
        (IndexValue::Uri(left), IndexValue::Uri(right)) => left.cmp(right),
        (IndexValue::Composite(left), IndexValue::Composite(right)) => {
            compare_lists(left, right, |left, right| {
                compare_lists(left, right, compare)
            })
        }
        (IndexValue::Position(left), IndexValue::Position(right)) => left
            .latitude
            .total_cmp(&right.latitude)
            .then_with(|| left.longitude.total_cmp(&right.longitude)),
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

fn compare_tokens(left: &TokenValue, right: &TokenValue) -> Ordering {
    let types = |token: &TokenValue| -> Vec<(Box<str>, Box<str>)> {
        let types = token.identifier_types.iter();
        types
            .map(|kind| (kind.system.clone(), kind.code.clone()))
            .collect()
    };
    left.code
        .cmp(&right.code)
        .then_with(|| left.system.as_str().cmp(&right.system.as_str()))
        .then_with(|| left.text.cmp(&right.text))
        .then_with(|| is_implied(left).cmp(&is_implied(right)))
        .then_with(|| {
            if left.identifier_types.is_empty() && right.identifier_types.is_empty() {
                return Ordering::Equal;
            }
            types(left).cmp(&types(right))
        })
}

fn is_implied(token: &TokenValue) -> bool {
    matches!(token.system, proctor_fhir::index::TokenSystem::Implied(_))
}

fn compare_numbers(left: &NumberValue, right: &NumberValue) -> Ordering {
    left.low
        .total_cmp(&right.low)
        .then_with(|| left.high.total_cmp(&right.high))
}

fn compare_references(left: &ReferenceValue, right: &ReferenceValue) -> Ordering {
    compare_targets(&left.target, &right.target).then_with(|| {
        match (&left.identifier, &right.identifier) {
            (Some(left), Some(right)) => compare_tokens(left, right),
            (left, right) => left.is_some().cmp(&right.is_some()),
        }
    })
}

fn compare_targets(left: &ReferenceTarget, right: &ReferenceTarget) -> Ordering {
    use ReferenceTarget::{Canonical, Contained, Literal, Unresolved, Url};
    fn rank(target: &ReferenceTarget) -> u8 {
        match target {
            Literal { .. } => 0,
            Canonical { .. } => 1,
            Url(_) => 2,
            Contained => 3,
            Unresolved => 4,
        }
    }
    match (left, right) {
        (
            Literal {
                base,
                kind,
                id,
                version,
            },
            Literal {
                base: other_base,
                kind: other_kind,
                id: other_id,
                version: other_version,
            },
        ) => (id, kind, base, version).cmp(&(other_id, other_kind, other_base, other_version)),
        (
            Canonical { url, version },
            Canonical {
                url: other_url,
                version: other_version,
            },
        ) => (url, version).cmp(&(other_url, other_version)),
        (Url(left), Url(right)) => left.cmp(right),
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

fn compare_lists<T>(left: &[T], right: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    let differing = left
        .iter()
        .zip(right)
        .map(|(left, right)| compare(left, right))
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn rank(value: &IndexValue) -> u8 {
    match value {
        IndexValue::Token(_) => 0,
        IndexValue::String(_) => 1,
        IndexValue::Date(_) => 2,
        IndexValue::Reference(_) => 3,
        IndexValue::Quantity(_) => 4,
        IndexValue::Number(_) => 5,
        IndexValue::Uri(_) => 6,
        IndexValue::Composite(_) => 7,
        IndexValue::Position(_) => 8,
    }
}
