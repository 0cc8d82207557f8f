//! Reads one value of a search into a criterion.

use super::criterion::{
    Criterion, DateCriterion, NumberCriterion, QuantityCriterion, ReferenceCriterion, StringMatch,
    SystemCriterion, TokenCriterion, UriMatch,
};
use super::escape::{split, unescape};
use super::{Modifier, Prefix, QueryContext, QueryError, near};
use crate::definitions::{ParameterType, SearchDefinitions, SearchParameter};
use crate::index::compared_code;
use crate::primitive::decimal::Decimal;
use crate::primitive::moment::{Moment, Span};
use crate::primitive::text::{excerpt, fold};
use crate::reference::{Literal, is_id};

impl Criterion {
    /// Reads one value (what stands between commas, still escaped) of a parameter.
    ///
    /// [`Modifier::Not`] and [`Modifier::Missing`] do not change what a value is; [`super::Filter`] applies them.
    pub fn parse(
        parameter: &SearchParameter,
        modifier: Option<Modifier>,
        text: &str,
        context: &QueryContext<'_>,
    ) -> Result<Self, QueryError> {
        let reader = Reader {
            parameter,
            text,
            context,
        };
        if text.is_empty() {
            return Err(reader.invalid("a value"));
        }
        match parameter.kind {
            ParameterType::Token => reader.token(modifier),
            ParameterType::String => reader.string(modifier),
            ParameterType::Date => reader.date(),
            ParameterType::Number => reader.number(text).map(Self::Number),
            ParameterType::Quantity => reader.quantity(),
            ParameterType::Reference => reader.reference(modifier),
            ParameterType::Uri => Ok(reader.uri(modifier)),
            ParameterType::Composite => reader.composite(),
            ParameterType::Special => near::parse(text)
                .map(Self::Near)
                .ok_or_else(|| reader.invalid(near::FORM)),
        }
    }
}

const DATE_FORM: &str = "a date as YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm[:ss[.fff]][Z|±hh:mm], with or without one of the prefixes eq ne gt ge lt le sa eb ap,";
const NUMBER_FORM: &str = "a number such as 100, 5.40 or 1e-3, with or without one of the prefixes eq ne gt ge lt le sa eb ap,";
const QUANTITY_FORM: &str = "[prefix]number, [prefix]number|system|code or [prefix]number||code";
const TOKEN_FORM: &str = "code, system|code, |code or system|";
const OF_TYPE_FORM: &str = "system|code|value";
const REFERENCE_FORM: &str = "id, Type/id, an absolute URL or a URN";

struct Reader<'q> {
    parameter: &'q SearchParameter,
    text: &'q str,
    context: &'q QueryContext<'q>,
}

impl Reader<'_> {
    fn invalid(&self, expected: &'static str) -> QueryError {
        QueryError::InvalidValue {
            parameter: self.parameter.code.to_owned(),
            value: excerpt(self.text),
            expected,
        }
    }

    fn token(&self, modifier: Option<Modifier>) -> Result<Criterion, QueryError> {
        match modifier {
            Some(Modifier::Text) => self.folded().map(Criterion::TokenText),
            Some(Modifier::OfType) => match split(self.text, '|')[..] {
                [system, code, value]
                    if !system.is_empty() && !code.is_empty() && !value.is_empty() =>
                {
                    Ok(Criterion::OfType {
                        system: unescape(system).into(),
                        code: compared_code(&unescape(code)),
                        value: compared_code(&unescape(value)),
                    })
                }
                _ => Err(self.invalid(OF_TYPE_FORM)),
            },
            _ => self.token_criterion().map(Criterion::Token),
        }
    }

    fn token_criterion(&self) -> Result<TokenCriterion, QueryError> {
        // Ids are case-sensitive, all other codes are not.
        let code = |text: &str| {
            if self.parameter.is_case_sensitive() {
                unescape(text).into()
            } else {
                compared_code(&unescape(text))
            }
        };
        match split(self.text, '|')[..] {
            [only] => Ok(TokenCriterion {
                system: SystemCriterion::Any,
                code: Some(code(only)),
            }),
            ["", ""] => Err(self.invalid(TOKEN_FORM)),
            ["", of_none] => Ok(TokenCriterion {
                system: SystemCriterion::Absent,
                code: Some(code(of_none)),
            }),
            [system, ""] => Ok(TokenCriterion {
                system: SystemCriterion::Exactly(unescape(system).into()),
                code: None,
            }),
            [system, of_system] => Ok(TokenCriterion {
                system: SystemCriterion::Exactly(unescape(system).into()),
                code: Some(code(of_system)),
            }),
            _ => Err(self.invalid(TOKEN_FORM)),
        }
    }

    fn string(&self, modifier: Option<Modifier>) -> Result<Criterion, QueryError> {
        Ok(Criterion::String(match modifier {
            Some(Modifier::Exact) => StringMatch::Exactly(unescape(self.text).into()),
            Some(Modifier::Contains) => StringMatch::Contains(self.folded()?),
            _ => StringMatch::StartsWith(self.folded()?),
        }))
    }

    /// The text without accents, case and extra spaces. If nothing were left, everything would be found.
    fn folded(&self) -> Result<Box<str>, QueryError> {
        let folded = fold(&unescape(self.text));
        if folded.is_empty() {
            return Err(self.invalid("text of more than white space and accents"));
        }
        Ok(folded.into())
    }

    fn date(&self) -> Result<Criterion, QueryError> {
        let (prefix, rest) = Prefix::take(self.text);
        // A plus sign that a client forgot to encode arrives as a space.
        let text = rest.replace(' ', "+");
        let span = Moment::parse(&text)
            .ok_or_else(|| self.invalid(DATE_FORM))?
            .span;
        let span = if prefix == Prefix::Approximate {
            self.approximate(span)
        } else {
            span
        };
        Ok(Criterion::Date(DateCriterion { prefix, span }))
    }

    /// A tenth of the distance from now, to both sides.
    fn approximate(&self, span: Span) -> Span {
        let now = self.context.now.as_millis();
        let distance = if now < span.start {
            span.start - now
        } else if now >= span.end {
            now - span.end
        } else {
            0
        };
        Span {
            start: span.start - distance / 10,
            end: span.end + distance / 10,
        }
    }

    fn number(&self, text: &str) -> Result<NumberCriterion, QueryError> {
        let (prefix, rest) = Prefix::take(text);
        let mut number = Decimal::parse(rest).ok_or_else(|| {
            self.invalid(if self.parameter.kind == ParameterType::Quantity {
                QUANTITY_FORM
            } else {
                NUMBER_FORM
            })
        })?;
        if prefix == Prefix::Approximate {
            let tenth = number.value.abs() / 10.0;
            number = Decimal {
                low: number.low.min(number.value - tenth),
                high: number.high.max(number.value + tenth),
                ..number
            };
        }
        Ok(NumberCriterion { prefix, number })
    }

    fn quantity(&self) -> Result<Criterion, QueryError> {
        let owned = |text: &str| (!text.is_empty()).then(|| unescape(text).into());
        match split(self.text, '|')[..] {
            [number] => Ok(Criterion::Quantity(QuantityCriterion {
                number: self.number(number)?,
                system: None,
                code: None,
            })),
            [number, system, code] => Ok(Criterion::Quantity(QuantityCriterion {
                number: self.number(number)?,
                system: owned(system),
                code: owned(code),
            })),
            _ => Err(self.invalid(QUANTITY_FORM)),
        }
    }

    fn reference(&self, modifier: Option<Modifier>) -> Result<Criterion, QueryError> {
        if modifier == Some(Modifier::Identifier) {
            return self.token_criterion().map(Criterion::ReferenceIdentifier);
        }
        let wanted = match modifier {
            Some(Modifier::Type(kind)) => Some(kind),
            _ => None,
        };
        let text = unescape(self.text);
        let criterion = match Literal::parse(&text) {
            Some(literal)
                if literal
                    .base
                    .is_none_or(|base| self.context.own_bases.contains(&base)) =>
            {
                if wanted.is_some_and(|kind| kind != literal.kind) {
                    return Err(self.invalid("a reference to the type that the modifier names"));
                }
                self.local(Some(literal.kind), literal.id, literal.version)
            }
            Some(_) => ReferenceCriterion::Absolute {
                url: text.as_str().into(),
                version: None,
            },
            None if is_id(&text) => self.local(wanted, &text, None),
            None if text.contains(':') => match text.split_once('|') {
                Some((url, version)) => ReferenceCriterion::Absolute {
                    url: url.into(),
                    version: Some(version.into()),
                },
                None => ReferenceCriterion::Absolute {
                    url: text.as_str().into(),
                    version: None,
                },
            },
            None => return Err(self.invalid(REFERENCE_FORM)),
        };
        Ok(Criterion::Reference(criterion))
    }

    fn local(&self, kind: Option<&str>, id: &str, version: Option<&str>) -> ReferenceCriterion {
        ReferenceCriterion::Local {
            kind: kind.map(Into::into),
            id: id.into(),
            version: version.map(Into::into),
            own_bases: self
                .context
                .own_bases
                .iter()
                .map(|base| (*base).into())
                .collect(),
        }
    }

    fn uri(&self, modifier: Option<Modifier>) -> Criterion {
        let text: Box<str> = unescape(self.text).into();
        Criterion::Uri(match modifier {
            Some(Modifier::Contains) => UriMatch::Contains(fold(&text).into()),
            Some(Modifier::Above) => UriMatch::Above(text),
            Some(Modifier::Below) => UriMatch::Below(text),
            _ => UriMatch::Exactly(text),
        })
    }

    fn composite(&self) -> Result<Criterion, QueryError> {
        let texts = split(self.text, '$');
        let components = &self.parameter.components;
        if texts.len() != components.len() {
            return Err(self.invalid(if components.len() == 2 {
                "two values joined by `$`"
            } else {
                "three values joined by `$`"
            }));
        }
        let parts = components.iter().zip(texts).map(|(component, text)| {
            let parameter = SearchDefinitions::r4().parameter(component.parameter);
            Criterion::parse(parameter, None, text, self.context)
        });
        parts.collect::<Result<_, _>>().map(Criterion::Composite)
    }
}
