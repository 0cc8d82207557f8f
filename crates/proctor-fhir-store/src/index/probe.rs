//! Where in the order of keys the matches of a criterion lie.
//!
//! A probe never misses a match; what it finds besides, [`Criterion::matches`] sorts out.

use proctor_fhir::{
    index::{
        IndexValue, NumberValue, QuantityValue, ReferenceTarget, ReferenceValue, StringValue,
        TokenSystem, TokenValue,
    },
    primitive::{moment::Span, text::fold},
    query::{
        Criterion, DateCriterion, NumberCriterion, Prefix, ReferenceCriterion, StringMatch,
        SystemCriterion, TokenCriterion, UriMatch,
    },
    reference::Literal,
};

use super::key::{Key, ordered_bits};

/// A part of a column that holds all matches of something.
#[derive(Clone, Debug)]
pub(crate) enum Probe {
    /// The whole column.
    Everywhere,
    /// Keys from `from` on, while they are `inside`.
    From { from: Key, inside: Inside },
    /// Keys whose upper bound is above this one; see [`Key::end`].
    EndsAfter(i64),
}

/// What keys of one stretch have in common.
#[derive(Clone, Debug)]
pub(crate) enum Inside {
    Always,
    Code(Box<str>),
    CodeOfSystem(Box<str>, Box<str>),
    Folded(Box<str>),
    FoldedPrefix(Box<str>),
    StartsBefore(i64),
    LowUpTo(f64),
    Target {
        id: Box<str>,
        kind: Option<Box<str>>,
    },
    Canonical(Box<str>),
    Url(Box<str>),
    Uri(Box<str>),
    UriPrefix(Box<str>),
    FirstPart(Box<Inside>),
}

impl Inside {
    /// Whether a key belongs to the stretch.
    pub(crate) fn holds(&self, key: &Key) -> bool {
        self.holds_value(&key.0)
    }

    fn holds_value(&self, value: &IndexValue) -> bool {
        match (self, value) {
            (Self::Always, _) => true,
            (Self::Code(code), IndexValue::Token(token)) => token.code.as_ref() == Some(code),
            (Self::CodeOfSystem(code, system), IndexValue::Token(token)) => {
                token.code.as_ref() == Some(code) && token.system.as_str() == Some(system)
            }
            (Self::Folded(text), IndexValue::String(value)) => value.folded == *text,
            (Self::FoldedPrefix(text), IndexValue::String(value)) => {
                value.folded.starts_with(&**text)
            }
            (Self::StartsBefore(instant), IndexValue::Date(span)) => span.start < *instant,
            (Self::LowUpTo(bound), IndexValue::Number(number)) => number.low <= *bound,
            (Self::LowUpTo(bound), IndexValue::Quantity(quantity)) => quantity.number.low <= *bound,
            (Self::Target { id, kind }, IndexValue::Reference(reference)) => {
                match &reference.target {
                    ReferenceTarget::Literal {
                        id: own,
                        kind: own_kind,
                        ..
                    } => own == id && kind.as_ref().is_none_or(|kind| kind == own_kind),
                    _ => false,
                }
            }
            (Self::Canonical(url), IndexValue::Reference(reference)) => {
                matches!(&reference.target, ReferenceTarget::Canonical { url: own, .. } if own == url)
            }
            (Self::Url(url), IndexValue::Reference(reference)) => {
                matches!(&reference.target, ReferenceTarget::Url(own) if own == url)
            }
            (Self::Uri(uri), IndexValue::Uri(own)) => own == uri,
            (Self::UriPrefix(prefix), IndexValue::Uri(own)) => own.starts_with(&**prefix),
            (Self::FirstPart(inside), IndexValue::Composite(parts)) => {
                let first = parts.first().and_then(|part| part.first());
                first.is_some_and(|value| inside.holds_value(value))
            }
            _ => false,
        }
    }
}

/// Where the matches of `criterion` lie: in any of the probes.
pub(crate) fn probes(criterion: &Criterion) -> Vec<Probe> {
    match criterion {
        Criterion::Token(token) => vec![token_probe(token)],
        Criterion::OfType { value, .. } => vec![code_probe(value)],
        Criterion::String(text) => vec![string_probe(text)],
        Criterion::Date(date) => vec![date_probe(date)],
        Criterion::Number(number) => vec![number_probe(number, IndexValue::Number)],
        Criterion::Quantity(quantity) => vec![number_probe(&quantity.number, |number| {
            IndexValue::Quantity(QuantityValue {
                number,
                system: None,
                code: None,
                unit: None,
            })
        })],
        Criterion::Reference(reference) => reference_probes(reference),
        Criterion::Uri(UriMatch::Exactly(uri)) => vec![Probe::From {
            from: Key(IndexValue::Uri(uri.clone())),
            inside: Inside::Uri(uri.clone()),
        }],
        Criterion::Uri(UriMatch::Below(uri)) => vec![Probe::From {
            from: Key(IndexValue::Uri(uri.clone())),
            inside: Inside::UriPrefix(uri.clone()),
        }],
        Criterion::Composite(parts) => parts.first().map_or_else(Vec::new, |first| {
            probes(first).into_iter().map(first_part).collect()
        }),
        Criterion::TokenText(_)
        | Criterion::ReferenceIdentifier(_)
        | Criterion::Uri(UriMatch::Contains(_) | UriMatch::Above(_))
        | Criterion::Near(_) => vec![Probe::Everywhere],
    }
}

/// Where references to `kind/id` lie.
pub(crate) fn target_probe(kind: Option<&str>, id: &str) -> Probe {
    let target = ReferenceTarget::Literal {
        base: None,
        kind: kind.unwrap_or_default().into(),
        id: id.into(),
        version: None,
    };
    Probe::From {
        from: reference_key(target),
        inside: Inside::Target {
            id: id.into(),
            kind: kind.map(Into::into),
        },
    }
}

fn first_part(probe: Probe) -> Probe {
    match probe {
        Probe::From { from, inside } => Probe::From {
            from: Key(IndexValue::Composite(Box::new([Box::new([from.0])]))),
            inside: Inside::FirstPart(Box::new(inside)),
        },
        Probe::Everywhere | Probe::EndsAfter(_) => Probe::Everywhere,
    }
}

fn token_probe(criterion: &TokenCriterion) -> Probe {
    match (&criterion.code, &criterion.system) {
        (None, _) => Probe::Everywhere,
        (Some(code), SystemCriterion::Any | SystemCriterion::Absent) => code_probe(code),
        (Some(code), SystemCriterion::Exactly(system)) => Probe::From {
            from: token_key(TokenSystem::Stated(system.clone()), code),
            inside: Inside::CodeOfSystem(code.clone(), system.clone()),
        },
    }
}

fn code_probe(code: &str) -> Probe {
    Probe::From {
        from: token_key(TokenSystem::None, code),
        inside: Inside::Code(code.into()),
    }
}

fn token_key(system: TokenSystem, code: &str) -> Key {
    Key(IndexValue::Token(TokenValue {
        system,
        code: Some(code.into()),
        text: None,
        identifier_types: Box::default(),
    }))
}

fn string_probe(criterion: &StringMatch) -> Probe {
    let (folded, inside) = match criterion {
        StringMatch::StartsWith(text) => (text.clone(), Inside::FoldedPrefix(text.clone())),
        StringMatch::Exactly(text) => {
            let folded: Box<str> = fold(text).into();
            (folded.clone(), Inside::Folded(folded))
        }
        StringMatch::Contains(_) => return Probe::Everywhere,
    };
    Probe::From {
        from: Key(IndexValue::String(StringValue {
            folded,
            original: Box::default(),
        })),
        inside,
    }
}

fn date_probe(criterion: &DateCriterion) -> Probe {
    let searched = criterion.span;
    let starting = |start: i64, inside: Inside| Probe::From {
        from: Key(IndexValue::Date(Span {
            start,
            end: i64::MIN,
        })),
        inside,
    };
    match criterion.prefix {
        Prefix::Equal => starting(searched.start, Inside::StartsBefore(searched.end)),
        Prefix::NotEqual => Probe::Everywhere,
        Prefix::Greater => Probe::EndsAfter(searched.end),
        Prefix::GreaterOrEqual | Prefix::Approximate => Probe::EndsAfter(searched.start),
        Prefix::Less | Prefix::EndsBefore => {
            starting(i64::MIN, Inside::StartsBefore(searched.start))
        }
        Prefix::LessOrEqual => starting(i64::MIN, Inside::StartsBefore(searched.end)),
        Prefix::StartsAfter => starting(searched.end, Inside::Always),
    }
}

fn number_probe(criterion: &NumberCriterion, make: impl Fn(NumberValue) -> IndexValue) -> Probe {
    let searched = criterion.number;
    let from = |low: f64, inside: Inside| Probe::From {
        from: Key(make(NumberValue {
            // The lower of the two zeros.
            low: if low == 0.0 { -0.0 } else { low },
            high: f64::NEG_INFINITY,
        })),
        inside,
    };
    match criterion.prefix {
        Prefix::Equal => from(searched.low, Inside::LowUpTo(searched.high)),
        Prefix::NotEqual => Probe::Everywhere,
        Prefix::Greater => Probe::EndsAfter(ordered_bits(searched.value)),
        Prefix::GreaterOrEqual => Probe::EndsAfter(ordered_bits(searched.value).saturating_sub(1)),
        Prefix::Approximate => Probe::EndsAfter(ordered_bits(searched.low).saturating_sub(1)),
        Prefix::Less | Prefix::LessOrEqual | Prefix::EndsBefore => {
            from(f64::NEG_INFINITY, Inside::LowUpTo(searched.value))
        }
        Prefix::StartsAfter => from(searched.value, Inside::Always),
    }
}

fn reference_probes(criterion: &ReferenceCriterion) -> Vec<Probe> {
    match criterion {
        ReferenceCriterion::Local { kind, id, .. } => vec![target_probe(kind.as_deref(), id)],
        ReferenceCriterion::Absolute { url, .. } => {
            let canonical = Probe::From {
                from: reference_key(ReferenceTarget::Canonical {
                    url: url.clone(),
                    version: None,
                }),
                inside: Inside::Canonical(url.clone()),
            };
            let plain = Probe::From {
                from: reference_key(ReferenceTarget::Url(url.clone())),
                inside: Inside::Url(url.clone()),
            };
            let literal =
                Literal::parse(url).map(|literal| target_probe(Some(literal.kind), literal.id));
            [canonical, plain].into_iter().chain(literal).collect()
        }
    }
}

fn reference_key(target: ReferenceTarget) -> Key {
    Key(IndexValue::Reference(ReferenceValue {
        target,
        identifier: None,
    }))
}

#[cfg(test)]
mod tests {
    use proctor_core::time::Timestamp;
    use proctor_fhir::{
        definitions::{ParameterType, SearchDefinitions},
        query::QueryContext,
    };
    use proptest::prelude::*;

    use super::{
        super::{frozen::ColumnBuilder, live::LiveColumn},
        *,
    };

    fn dates() -> impl Strategy<Value = IndexValue> {
        (-50i64..50, 1i64..40).prop_map(|(start, length)| {
            IndexValue::Date(Span {
                start: start * 86_400_000,
                end: (start + length) * 86_400_000,
            })
        })
    }

    fn numbers() -> impl Strategy<Value = IndexValue> {
        (-40i32..40, 0i32..6).prop_map(|(low, width)| {
            let low = f64::from(low) / 2.0;
            IndexValue::Number(NumberValue {
                low,
                high: low + f64::from(width) / 2.0,
            })
        })
    }

    fn strings() -> impl Strategy<Value = IndexValue> {
        "[aAbBäÄ]{1,4}".prop_map(|text| IndexValue::String(StringValue::new(&text)))
    }

    fn tokens() -> impl Strategy<Value = IndexValue> {
        ("[ab]{1,2}", prop::option::of("[st]")).prop_map(|(code, system)| {
            let system = system.map_or(TokenSystem::None, |text| TokenSystem::Stated(text.into()));
            IndexValue::Token(TokenValue::code(system, &code))
        })
    }

    fn references() -> impl Strategy<Value = IndexValue> {
        let texts = prop_oneof![
            "(Patient|Group)/[ab]",
            "http://x.org/(Patient|Group)/[ab]",
            "urn:[ab]"
        ];
        texts.prop_map(|text| {
            IndexValue::Reference(ReferenceValue {
                target: ReferenceTarget::parse(&text),
                identifier: None,
            })
        })
    }

    fn criterion(kind: ParameterType) -> BoxedStrategy<Criterion> {
        let (code, text) = match kind {
            ParameterType::Date => (
                "birthdate",
                "(eq|ne|gt|ge|lt|le|sa|eb|ap)19(69|70)-(01|02|12)-0[1-9]",
            ),
            ParameterType::Number => ("", "(eq|ne|gt|ge|lt|le|sa|eb|ap)-?[0-9](\\.[05])?"),
            ParameterType::String => ("family", "[aAbBäÄ]{1,3}"),
            ParameterType::Token => ("identifier", "([st]?\\|)?[ab]{1,2}"),
            _ => (
                "general-practitioner",
                "((Patient|Group)/)?[ab]|http://x.org/Patient/[ab]|urn:[ab]",
            ),
        };
        let definitions = SearchDefinitions::r4();
        let parameter = match kind {
            ParameterType::Number => definitions.find("RiskAssessment", "probability"),
            _ => definitions.find("Patient", code),
        }
        .expect("an official parameter");
        let modifiers: &[Option<&str>] = match kind {
            ParameterType::String => &[None, Some("exact"), Some("contains")],
            _ => &[None],
        };
        let modifier = prop::sample::select(modifiers.to_vec());
        (text, modifier)
            .prop_map(move |(text, modifier)| {
                let modifier = modifier
                    .map(|name| proctor_fhir::query::Modifier::parse(parameter, name).unwrap());
                let context = QueryContext {
                    now: Timestamp::from_millis(0),
                    own_bases: &["http://x.org"],
                };
                Criterion::parse(parameter, modifier, &text, &context).unwrap()
            })
            .boxed()
    }

    fn check(values: &[IndexValue], criterion: &Criterion) -> Result<(), TestCaseError> {
        let mut builder = ColumnBuilder::default();
        let mut live = LiveColumn::default();
        for (row, value) in values.iter().enumerate() {
            let row = u32::try_from(row).unwrap();
            builder.add(Key(value.clone()), row);
            live.add(&std::sync::Arc::new(Key(value.clone())), row);
        }
        let frozen = builder.freeze(values.len());
        let expected: Vec<u32> = (0..)
            .zip(values)
            .filter(|(_, value)| criterion.matches(value))
            .map(|(row, _)| row)
            .collect();
        let mut in_frozen: Vec<u32> = Vec::new();
        let mut in_live: Vec<u32> = Vec::new();
        for probe in probes(criterion) {
            let span = frozen.span(&probe);
            for place in frozen.places(&span) {
                prop_assert!(span.may_hold(place));
                if criterion.matches(&frozen.value(place).0) {
                    in_frozen.extend(frozen.rows_at(place));
                }
            }
            for (key, rows) in live.scan(&probe) {
                if criterion.matches(&key.0) {
                    in_live.extend(rows);
                }
            }
        }
        for rows in [&mut in_frozen, &mut in_live] {
            rows.sort_unstable();
            rows.dedup();
        }
        prop_assert_eq!(&in_frozen, &expected);
        prop_assert_eq!(&in_live, &expected);
        Ok(())
    }

    proptest! {
        #[test]
        fn probes_find_all_dates_that_match(values in prop::collection::vec(dates(), 0..20), criterion in criterion(ParameterType::Date)) {
            check(&values, &criterion)?;
        }

        #[test]
        fn probes_find_all_numbers_that_match(values in prop::collection::vec(numbers(), 0..20), criterion in criterion(ParameterType::Number)) {
            check(&values, &criterion)?;
        }

        #[test]
        fn probes_find_all_text_that_matches(values in prop::collection::vec(strings(), 0..20), criterion in criterion(ParameterType::String)) {
            check(&values, &criterion)?;
        }

        #[test]
        fn probes_find_all_tokens_that_match(values in prop::collection::vec(tokens(), 0..20), criterion in criterion(ParameterType::Token)) {
            check(&values, &criterion)?;
        }

        #[test]
        fn probes_find_all_references_that_match(values in prop::collection::vec(references(), 0..20), criterion in criterion(ParameterType::Reference)) {
            check(&values, &criterion)?;
        }
    }
}
