//! The shapes of what one value of a search asks for.

use super::Prefix;
use crate::index::Position;
use crate::primitive::decimal::Decimal;
use crate::primitive::moment::Span;

/// What one value of a search asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Criterion {
    /// A code, an identifier or the like.
    Token(TokenCriterion),
    /// `:text` on a token: the folded beginning of its text.
    TokenText(Box<str>),
    /// `:of-type`: an identifier by its type and value.
    OfType {
        /// The system of the type.
        system: Box<str>,
        /// The code of the type.
        code: Box<str>,
        /// The value of the identifier.
        value: Box<str>,
    },
    /// Text.
    String(StringMatch),
    /// A date or time.
    Date(DateCriterion),
    /// A number.
    Number(NumberCriterion),
    /// A number with a unit.
    Quantity(QuantityCriterion),
    /// A link.
    Reference(ReferenceCriterion),
    /// `:identifier` on a reference.
    ReferenceIdentifier(TokenCriterion),
    /// A URI.
    Uri(UriMatch),
    /// One criterion for each part of a composite.
    Composite(Box<[Criterion]>),
    /// A place in a circle.
    Near(NearCriterion),
}

/// A code, an identifier or the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCriterion {
    /// What the system must be.
    pub system: SystemCriterion,
    /// The code in the form in which it is compared; absent if any code of the system will do.
    pub code: Option<Box<str>>,
}

/// What the system of a token must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemCriterion {
    /// `code`: any system or none.
    Any,
    /// `|code`: none.
    Absent,
    /// `system|code`: this one.
    Exactly(Box<str>),
}

/// How text is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StringMatch {
    /// It starts with this folded text.
    StartsWith(Box<str>),
    /// `:contains`: this folded text is somewhere in it.
    Contains(Box<str>),
    /// `:exact`: it is this text, with case and accents.
    Exactly(Box<str>),
}

/// A date or time to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateCriterion {
    /// How to compare.
    pub prefix: Prefix,
    /// What the searched text covers; widened for `ap`.
    pub span: Span,
}

/// A number to compare with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberCriterion {
    /// How to compare.
    pub prefix: Prefix,
    /// The number and what its digits stand for; widened for `ap`.
    pub number: Decimal,
}

/// A number with a unit to compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantityCriterion {
    /// The number.
    pub number: NumberCriterion,
    /// The system of the unit; absent if the search gives none.
    pub system: Option<Box<str>>,
    /// The unit or its code; absent if any unit will do.
    pub code: Option<Box<str>>,
}

/// A link to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceCriterion {
    /// A resource of this server.
    Local {
        /// Its type; absent if any type will do.
        kind: Option<Box<str>>,
        /// Its id.
        id: Box<str>,
        /// One version of it.
        version: Option<Box<str>>,
        /// The bases under which absolute references to it may be written.
        own_bases: Box<[Box<str>]>,
    },
    /// A resource elsewhere, a canonical URL or a URN.
    Absolute {
        /// The URL, without `|version`.
        url: Box<str>,
        /// The version of a canonical.
        version: Option<Box<str>>,
    },
}

/// How a URI is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UriMatch {
    /// It is this one.
    Exactly(Box<str>),
    /// `:contains`: this folded text is somewhere in it.
    Contains(Box<str>),
    /// `:below`: it is this one or lies under it.
    Below(Box<str>),
    /// `:above`: it is this one or lies over it.
    Above(Box<str>),
}

/// A circle on Earth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearCriterion {
    /// The middle.
    pub center: Position,
    /// The radius.
    pub kilometres: f64,
}
