//! The modifiers of search parameters and which kind of parameter takes which.

use super::QueryError;
use crate::definitions::{Name, ParameterType, SearchDefinitions, SearchParameter};
use crate::primitive::text::excerpt;

/// What a modifier asks for. `:not` and `:missing` speak of a whole resource, the others of single values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modifier {
    /// `:missing`.
    Missing,
    /// `:exact`.
    Exact,
    /// `:contains`.
    Contains,
    /// `:not`.
    Not,
    /// `:text`.
    Text,
    /// `:identifier`.
    Identifier,
    /// `:of-type`.
    OfType,
    /// `:above`.
    Above,
    /// `:below`.
    Below,
    /// `:Patient` and the like: the type that a reference points to.
    Type(Name),
}

impl Modifier {
    /// Reads the modifier of a parameter, without its colon.
    pub fn parse(parameter: &SearchParameter, text: &str) -> Result<Self, QueryError> {
        let allowed = allowed(parameter.kind);
        let code = || parameter.code.to_owned();
        let modifier = match text {
            "missing" => Self::Missing,
            "exact" => Self::Exact,
            "contains" => Self::Contains,
            "not" => Self::Not,
            "text" => Self::Text,
            "identifier" => Self::Identifier,
            "of-type" | "ofType" => Self::OfType,
            "above" => Self::Above,
            "below" => Self::Below,
            "in" | "not-in" if parameter.kind == ParameterType::Token => {
                return Err(QueryError::ModifierNotSupported {
                    parameter: code(),
                    modifier: excerpt(text),
                    allowed,
                });
            }
            "in" | "not-in" => {
                return Err(QueryError::ModifierNotAllowed {
                    parameter: code(),
                    modifier: excerpt(text),
                    kind: parameter.kind.as_str(),
                    allowed,
                });
            }
            _ => match SearchDefinitions::r4().resource_type(text) {
                Some(kind) if parameter.kind == ParameterType::Reference => {
                    return Ok(Self::Type(kind));
                }
                Some(_) => {
                    return Err(QueryError::ModifierNotAllowed {
                        parameter: code(),
                        modifier: excerpt(text),
                        kind: parameter.kind.as_str(),
                        allowed,
                    });
                }
                None => {
                    return Err(QueryError::UnknownModifier {
                        parameter: code(),
                        modifier: excerpt(text),
                        allowed,
                    });
                }
            },
        };
        let name = if text == "ofType" { "of-type" } else { text };
        if allowed.contains(&name) {
            return Ok(modifier);
        }
        // The standard lets codes and references be searched by hierarchy, which takes a terminology or a tree of resources.
        let hierarchical = matches!(modifier, Self::Above | Self::Below)
            && matches!(
                parameter.kind,
                ParameterType::Token | ParameterType::Reference
            );
        Err(if hierarchical {
            QueryError::ModifierNotSupported {
                parameter: code(),
                modifier: excerpt(text),
                allowed,
            }
        } else {
            QueryError::ModifierNotAllowed {
                parameter: code(),
                modifier: excerpt(text),
                kind: parameter.kind.as_str(),
                allowed,
            }
        })
    }
}

/// The modifiers that work for a kind of parameter; references also take the name of a type.
fn allowed(kind: ParameterType) -> &'static [&'static str] {
    match kind {
        ParameterType::Number | ParameterType::Date | ParameterType::Quantity => &["missing"],
        ParameterType::String => &["missing", "exact", "contains"],
        ParameterType::Token => &["missing", "not", "text", "of-type"],
        ParameterType::Reference => &["missing", "identifier"],
        ParameterType::Uri => &["missing", "contains", "above", "below"],
        ParameterType::Composite => &[],
        ParameterType::Special => &["missing"],
    }
}
