//! The shapes of index values.

use crate::primitive::moment::Span;
use crate::primitive::text::fold;
use crate::reference::Literal;

/// One value that a search parameter has in a resource.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexValue {
    /// A code, an identifier or anything else compared as a whole.
    Token(TokenValue),
    /// Text.
    String(StringValue),
    /// A stretch of time.
    Date(Span),
    /// A link.
    Reference(ReferenceValue),
    /// A number with a unit.
    Quantity(QuantityValue),
    /// A number.
    Number(NumberValue),
    /// A URI.
    Uri(Box<str>),
    /// The parts of a composite, which belong to the same node: for each part all the values it has there.
    Composite(Box<[Box<[IndexValue]>]>),
    /// A place on Earth.
    Position(Position),
}

/// A code, an identifier, a contact or a truth value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenValue {
    /// What the code belongs to.
    pub system: TokenSystem,
    /// The code in the form in which it is compared: lower case, except for ids. Absent if there is only text.
    pub code: Option<Box<str>>,
    /// The display, folded; or, without a code, the text of a concept.
    pub text: Option<Box<str>>,
    /// The types of an identifier.
    pub identifier_types: Box<[IdentifierType]>,
}

impl TokenValue {
    /// A value with a code and nothing else.
    pub fn code(system: TokenSystem, code: &str) -> Self {
        Self {
            system,
            code: Some(compared_code(code)),
            text: None,
            identifier_types: Box::default(),
        }
    }
}

/// The system of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSystem {
    /// The resource gives none.
    None,
    /// The resource says it.
    Stated(Box<str>),
    /// The definition of the element says it: searches may name it or say that there is none.
    Implied(&'static str),
}

impl TokenSystem {
    /// The system, however it is known.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Stated(system) => Some(system),
            Self::Implied(system) => Some(system),
        }
    }
}

/// One coding of an identifier's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentifierType {
    /// The system of the code.
    pub system: Box<str>,
    /// The code in the form in which it is compared.
    pub code: Box<str>,
}

/// The form in which codes are compared: case does not count.
pub(crate) fn compared_code(code: &str) -> Box<str> {
    if code
        .bytes()
        .any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii())
    {
        code.to_lowercase().into()
    } else {
        code.into()
    }
}

/// Text, as it is and as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StringValue {
    /// Without accents, case and extra spaces.
    pub folded: Box<str>,
    /// As the resource has it.
    pub original: Box<str>,
}

impl StringValue {
    /// Folds `text` and keeps it.
    pub fn new(text: &str) -> Self {
        Self {
            folded: fold(text).into(),
            original: text.into(),
        }
    }
}

/// A link to another resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceValue {
    /// Where it points.
    pub target: ReferenceTarget,
    /// The business identifier it gives.
    pub identifier: Option<Box<TokenValue>>,
}

/// Where a link points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceTarget {
    /// A resource by type and id.
    Literal {
        /// The base URL; absent for a relative reference.
        base: Option<Box<str>>,
        /// The resource type.
        kind: Box<str>,
        /// The logical id.
        id: Box<str>,
        /// The version, of a reference to one version.
        version: Option<Box<str>>,
    },
    /// A canonical URL.
    Canonical {
        /// The URL without version and fragment.
        url: Box<str>,
        /// The version after `|`.
        version: Option<Box<str>>,
    },
    /// Any other URL or URN.
    Url(Box<str>),
    /// A resource inside the same resource, which no search can name.
    Contained,
    /// Nowhere: there is only an identifier or a display.
    Unresolved,
}

impl ReferenceTarget {
    /// Reads the text of `Reference.reference`.
    pub fn parse(text: &str) -> Self {
        if text.starts_with('#') {
            return Self::Contained;
        }
        match Literal::parse(text) {
            Some(literal) => Self::Literal {
                base: literal.base.map(Into::into),
                kind: literal.kind.into(),
                id: literal.id.into(),
                version: literal.version.map(Into::into),
            },
            None => Self::Url(text.into()),
        }
    }

    /// Reads a canonical: `url[|version][#fragment]`.
    pub fn canonical(text: &str) -> Self {
        let text = text.split_once('#').map_or(text, |(whole, _)| whole);
        if text.is_empty() {
            return Self::Contained;
        }
        match text.split_once('|') {
            Some((url, version)) => Self::Canonical {
                url: url.into(),
                version: Some(version.into()),
            },
            None => Self::Canonical {
                url: text.into(),
                version: None,
            },
        }
    }
}

/// A number, or the range that it lies in; unbounded sides are infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberValue {
    /// The least it may be.
    pub low: f64,
    /// The most it may be.
    pub high: f64,
}

impl NumberValue {
    /// One number.
    pub fn exactly(value: f64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }
}

/// A number with a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantityValue {
    /// The number.
    pub number: NumberValue,
    /// The system of the unit's code.
    pub system: Option<Box<str>>,
    /// The code of the unit.
    pub code: Option<Box<str>>,
    /// The unit as people read it.
    pub unit: Option<Box<str>>,
}

/// A place on Earth, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// North is positive.
    pub latitude: f64,
    /// East is positive.
    pub longitude: f64,
}
