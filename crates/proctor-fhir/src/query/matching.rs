//! Whether one index value answers one criterion.

use super::criterion::{
    Criterion, DateCriterion, NumberCriterion, QuantityCriterion, ReferenceCriterion, StringMatch,
    SystemCriterion, TokenCriterion, UriMatch,
};
use super::{Prefix, near};
use crate::index::{
    IndexValue, NumberValue, QuantityValue, ReferenceTarget, TokenSystem, TokenValue,
};
use crate::primitive::moment::Span;
use crate::primitive::text::fold;
use crate::reference::Literal;

impl Criterion {
    /// Whether the value answers the criterion. A value of another kind never does.
    pub fn matches(&self, value: &IndexValue) -> bool {
        match (self, value) {
            (Self::Token(criterion), IndexValue::Token(value)) => criterion.matches(value),
            (Self::TokenText(text), IndexValue::Token(value)) => value
                .text
                .as_ref()
                .is_some_and(|known| known.starts_with(&**text)),
            (
                Self::OfType {
                    system,
                    code,
                    value: wanted,
                },
                IndexValue::Token(value),
            ) => {
                value.code.as_ref() == Some(wanted)
                    && value
                        .identifier_types
                        .iter()
                        .any(|kind| kind.system == *system && kind.code == *code)
            }
            (Self::String(criterion), IndexValue::String(value)) => match criterion {
                StringMatch::StartsWith(text) => value.folded.starts_with(&**text),
                StringMatch::Contains(text) => value.folded.contains(&**text),
                StringMatch::Exactly(text) => value.original == *text,
            },
            (Self::Date(criterion), IndexValue::Date(value)) => criterion.matches(*value),
            (Self::Number(criterion), IndexValue::Number(value)) => criterion.matches(*value),
            (Self::Quantity(criterion), IndexValue::Quantity(value)) => criterion.matches(value),
            (Self::Reference(criterion), IndexValue::Reference(value)) => {
                criterion.matches(&value.target)
            }
            (Self::ReferenceIdentifier(criterion), IndexValue::Reference(value)) => value
                .identifier
                .as_ref()
                .is_some_and(|identifier| criterion.matches(identifier)),
            (Self::Uri(criterion), IndexValue::Uri(value)) => criterion.matches(value),
            (Self::Composite(criteria), IndexValue::Composite(parts)) => {
                criteria.len() == parts.len()
                    && criteria.iter().zip(parts).all(|(criterion, values)| {
                        values.iter().any(|value| criterion.matches(value))
                    })
            }
            (Self::Near(criterion), IndexValue::Position(value)) => {
                near::matches(criterion, *value)
            }
            _ => false,
        }
    }
}

impl TokenCriterion {
    /// Whether a token has the code and the system that are asked for.
    pub fn matches(&self, value: &TokenValue) -> bool {
        let code_fits = self.code.is_none() || self.code == value.code;
        code_fits
            && match &self.system {
                SystemCriterion::Any => true,
                SystemCriterion::Absent => !matches!(value.system, TokenSystem::Stated(_)),
                SystemCriterion::Exactly(system) => value.system.as_str() == Some(system),
            }
    }
}

impl DateCriterion {
    /// Compares the searched span with that of a value, both of them as wide as they were written.
    pub fn matches(&self, value: Span) -> bool {
        let searched = self.span;
        let equal = searched.contains(value);
        match self.prefix {
            Prefix::Equal => equal,
            Prefix::NotEqual => !equal,
            Prefix::Greater => value.end > searched.end,
            Prefix::GreaterOrEqual => value.end > searched.end || equal,
            Prefix::Less => value.start < searched.start,
            Prefix::LessOrEqual => value.start < searched.start || equal,
            Prefix::StartsAfter => value.start >= searched.end,
            Prefix::EndsBefore => value.end <= searched.start,
            Prefix::Approximate => searched.overlaps(value),
        }
    }
}

impl NumberCriterion {
    /// Compares with a number or a range. Only `eq`, `ne` and `ap` regard how precisely the search was written.
    pub fn matches(&self, value: NumberValue) -> bool {
        let searched = self.number;
        let equal = searched.low <= value.low
            && (value.high < searched.high || is_exactly(searched.value, value));
        match self.prefix {
            Prefix::Equal => equal,
            Prefix::NotEqual => !equal,
            Prefix::Greater => value.high > searched.value,
            Prefix::GreaterOrEqual => value.high >= searched.value,
            Prefix::Less => value.low < searched.value,
            Prefix::LessOrEqual => value.low <= searched.value,
            Prefix::StartsAfter => value.low > searched.value,
            Prefix::EndsBefore => value.high < searched.value,
            Prefix::Approximate => value.low <= searched.high && searched.low <= value.high,
        }
    }
}

/// Numbers too long for an interval stand for themselves only.
fn is_exactly(number: f64, value: NumberValue) -> bool {
    value.low == number && value.high == number
}

impl QuantityCriterion {
    /// Compares the number, and the unit as far as the search gives one.
    pub fn matches(&self, value: &QuantityValue) -> bool {
        let unit_fits = match (&self.system, &self.code) {
            (_, None) => self.system.is_none() || self.system == value.system,
            (Some(system), Some(code)) => {
                value.system.as_ref() == Some(system) && value.code.as_ref() == Some(code)
            }
            (None, Some(code)) => {
                value.code.as_ref() == Some(code) || value.unit.as_ref() == Some(code)
            }
        };
        unit_fits && self.number.matches(value.number)
    }
}

impl ReferenceCriterion {
    /// Whether a link points where it should.
    pub fn matches(&self, target: &ReferenceTarget) -> bool {
        match (self, target) {
            (
                Self::Local {
                    kind,
                    id,
                    version,
                    own_bases,
                },
                ReferenceTarget::Literal {
                    base,
                    kind: value_kind,
                    id: value_id,
                    version: value_version,
                },
            ) => {
                id == value_id
                    && kind.as_ref().is_none_or(|kind| kind == value_kind)
                    && version
                        .as_ref()
                        .is_none_or(|version| value_version.as_ref() == Some(version))
                    && base.as_ref().is_none_or(|base| own_bases.contains(base))
            }
            (
                Self::Local {
                    kind: Some(kind),
                    id,
                    own_bases,
                    ..
                },
                ReferenceTarget::Canonical { url, .. },
            ) => Literal::parse(url).is_some_and(|literal| {
                let own = |base: &str| own_bases.iter().any(|own| **own == *base);
                literal.kind == &**kind && literal.id == &**id && literal.base.is_none_or(own)
            }),
            (
                Self::Absolute { url, version: None },
                ReferenceTarget::Literal {
                    base: Some(base),
                    kind,
                    id,
                    version,
                },
            ) => is_literal(url, base, kind, id, version.as_deref()),
            (
                Self::Absolute { url, version },
                ReferenceTarget::Canonical {
                    url: value_url,
                    version: value_version,
                },
            ) => url == value_url && (version.is_none() || version == value_version),
            (Self::Absolute { url, version: None }, ReferenceTarget::Url(value)) => url == value,
            _ => false,
        }
    }
}

/// Whether a URL is `base/kind/id`, with the version or without it.
fn is_literal(url: &str, base: &str, kind: &str, id: &str, version: Option<&str>) -> bool {
    let after = [base, "/", kind, "/", id]
        .into_iter()
        .try_fold(url, |rest, part| rest.strip_prefix(part));
    match after.map(|rest| (rest, rest.strip_prefix("/_history/"))) {
        Some(("", _)) => true,
        Some((_, Some(wanted))) => version == Some(wanted),
        Some((_, None)) | None => false,
    }
}

impl UriMatch {
    /// Whether a URI is the one that is asked for, has the text in it, or lies under or over it.
    pub fn matches(&self, value: &str) -> bool {
        match self {
            Self::Exactly(uri) => value == &**uri,
            Self::Contains(text) => fold(value).contains(&**text),
            Self::Below(uri) => lies_under(value, uri),
            Self::Above(uri) => lies_under(uri, value),
        }
    }
}

/// Whether `inner` is `outer` or continues it after a slash.
fn lies_under(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || outer.ends_with('/'))
}
