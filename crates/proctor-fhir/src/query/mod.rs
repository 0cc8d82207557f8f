//! What a search asks for, read from its text, and whether index values answer it.
//!
//! Owns prefixes, modifiers, escapes and the comparison rules of each kind of parameter. Never walks a store: a [`Filter`] only
//! says whether the values of one parameter in one resource satisfy it.

mod criterion;
mod escape;
mod filter;
#[cfg(test)]
mod laws;
mod matching;
mod modifier;
mod near;
mod parse;
mod prefix;
#[cfg(test)]
mod tests;

use proctor_core::time::Timestamp;

pub use criterion::{
    Criterion, DateCriterion, NearCriterion, NumberCriterion, QuantityCriterion,
    ReferenceCriterion, StringMatch, SystemCriterion, TokenCriterion, UriMatch,
};
pub use escape::{escape, split, unescape};
pub use filter::{Condition, Filter};
pub use modifier::Modifier;
pub use prefix::Prefix;

/// What the meaning of a search depends on besides its text.
#[derive(Debug, Clone, Copy)]
pub struct QueryContext<'c> {
    /// Now: `ap` widens a date by its distance from now.
    pub now: Timestamp,
    /// The base URLs under which this server is known, without trailing slash: absolute references to it are local ones.
    pub own_bases: &'c [&'c str],
}

/// Why a search cannot be answered as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The modifier is not one that R4 has, nor a resource type.
    #[error("the search parameter `{parameter}` has the unknown modifier `:{modifier}`; {}", allowed_text(.allowed))]
    UnknownModifier {
        /// The code of the parameter.
        parameter: String,
        /// The modifier as written.
        modifier: String,
        /// The modifiers that would be possible.
        allowed: &'static [&'static str],
    },
    /// The modifier exists, but parameters of this type do not take it.
    #[error("the modifier `:{modifier}` cannot be used with `{parameter}`, which is a {kind} parameter; {}", allowed_text(.allowed))]
    ModifierNotAllowed {
        /// The code of the parameter.
        parameter: String,
        /// The modifier as written.
        modifier: String,
        /// The type of the parameter.
        kind: &'static str,
        /// The modifiers that would be possible.
        allowed: &'static [&'static str],
    },
    /// The modifier is allowed by the standard, but needs something that is not here, such as a terminology service.
    #[error("the modifier `:{modifier}` is not supported on `{parameter}`; {}", allowed_text(.allowed))]
    ModifierNotSupported {
        /// The code of the parameter.
        parameter: String,
        /// The modifier as written.
        modifier: String,
        /// The modifiers that would be possible.
        allowed: &'static [&'static str],
    },
    /// The value does not have a form that the parameter understands.
    #[error(
        "the value `{value}` of the search parameter `{parameter}` cannot be read: {expected} expected"
    )]
    InvalidValue {
        /// The code of the parameter.
        parameter: String,
        /// The value as written.
        value: String,
        /// What would be understood.
        expected: &'static str,
    },
}

fn allowed_text(allowed: &[&str]) -> String {
    if allowed.is_empty() {
        return "it takes no modifier".to_owned();
    }
    let names: Vec<String> = allowed.iter().map(|name| format!("`:{name}`")).collect();
    format!("it takes {}", names.join(", "))
}
