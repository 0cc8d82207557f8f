//! What one parameter of a search asks of a resource as a whole.

use super::escape::split;
use super::{Criterion, Modifier, QueryContext, QueryError};
use crate::definitions::{ParameterId, SearchParameter};
use crate::index::IndexValue;
use crate::primitive::text::excerpt;

/// One parameter of a search: `code[:modifier]=value[,value…]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Which parameter.
    pub parameter: ParameterId,
    /// What its values must be.
    pub condition: Condition,
}

/// What the values of a parameter in a resource must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// There are none (`:missing=true`) or some (`:missing=false`).
    Missing(bool),
    /// At least one value answers at least one criterion.
    AnyOf(Vec<Criterion>),
    /// No value answers any criterion (`:not`); a resource without values satisfies it.
    NoneOf(Vec<Criterion>),
}

impl Filter {
    /// Reads a parameter of a search; `modifier` is the text after the colon, `text` what follows the equals sign, decoded.
    pub fn parse(
        parameter: &SearchParameter,
        modifier: Option<&str>,
        text: &str,
        context: &QueryContext<'_>,
    ) -> Result<Self, QueryError> {
        let modifier = modifier
            .map(|modifier| Modifier::parse(parameter, modifier))
            .transpose()?;
        let condition = match modifier {
            Some(Modifier::Missing) => Condition::Missing(match text {
                "true" => true,
                "false" => false,
                _ => {
                    return Err(QueryError::InvalidValue {
                        parameter: format!("{}:missing", parameter.code),
                        value: excerpt(text),
                        expected: "`true` or `false`",
                    });
                }
            }),
            Some(Modifier::Not) => Condition::NoneOf(criteria(parameter, modifier, text, context)?),
            _ => Condition::AnyOf(criteria(parameter, modifier, text, context)?),
        };
        Ok(Self {
            parameter: parameter.id,
            condition,
        })
    }

    /// Whether a resource with these values of the parameter, and no others, is found.
    pub fn holds<'v>(&self, values: impl IntoIterator<Item = &'v IndexValue>) -> bool {
        let mut values = values.into_iter();
        match &self.condition {
            Condition::Missing(missing) => values.next().is_none() == *missing,
            Condition::AnyOf(criteria) => {
                values.any(|value| criteria.iter().any(|criterion| criterion.matches(value)))
            }
            Condition::NoneOf(criteria) => {
                !values.any(|value| criteria.iter().any(|criterion| criterion.matches(value)))
            }
        }
    }
}

fn criteria(
    parameter: &SearchParameter,
    modifier: Option<Modifier>,
    text: &str,
    context: &QueryContext<'_>,
) -> Result<Vec<Criterion>, QueryError> {
    split(text, ',')
        .into_iter()
        .map(|value| Criterion::parse(parameter, modifier, value, context))
        .collect()
}
