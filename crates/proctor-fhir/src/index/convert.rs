//! Turns a node of a resource into index values, by the kind of parameter and the type of the node.

use serde_json::Value;

use super::value::{
    IdentifierType, IndexValue, NumberValue, Position, QuantityValue, ReferenceTarget,
    ReferenceValue, StringValue, TokenSystem, TokenValue, compared_code,
};
use crate::definitions::{DataType, Name, ParameterType, SearchParameter};
use crate::expression::Node;
use crate::primitive::moment::{Moment, Span};
use crate::primitive::text::fold;

/// Where converted values go.
pub(super) type Sink<'s> = &'s mut dyn FnMut(IndexValue);

/// The system of `true` and `false` when they are searched as tokens.
const BOOLEAN_SYSTEM: &str = "http://terminology.hl7.org/CodeSystem/special-values";
/// The system of currency codes.
const CURRENCY_SYSTEM: &str = "urn:iso:std:iso:4217";

/// Calls `sink` with the values that a node has for a parameter; none if the two do not go together.
pub(super) fn convert(parameter: &SearchParameter, node: Node<'_>, sink: Sink<'_>) {
    match parameter.kind {
        ParameterType::Token if parameter.is_case_sensitive() => {
            sink_some(id_token(node).map(IndexValue::Token), sink);
        }
        ParameterType::Token => tokens(node, sink),
        ParameterType::String => strings(node, sink),
        ParameterType::Date => sink_some(date(node).map(IndexValue::Date), sink),
        ParameterType::Reference => sink_some(
            reference(node, &parameter.targets).map(IndexValue::Reference),
            sink,
        ),
        ParameterType::Quantity => sink_some(quantity(node).map(IndexValue::Quantity), sink),
        ParameterType::Number => sink_some(number(node).map(IndexValue::Number), sink),
        ParameterType::Uri => uris(node, sink),
        ParameterType::Special => sink_some(position(node).map(IndexValue::Position), sink),
        ParameterType::Composite => {}
    }
}

/// What a condition came to, as a token.
pub(super) fn boolean(value: bool) -> IndexValue {
    IndexValue::Token(TokenValue::code(
        TokenSystem::Implied(BOOLEAN_SYSTEM),
        if value { "true" } else { "false" },
    ))
}

fn sink_some(value: Option<IndexValue>, sink: Sink<'_>) {
    if let Some(value) = value {
        sink(value);
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn stated(system: Option<&str>) -> TokenSystem {
    system.map_or(TokenSystem::None, |system| {
        TokenSystem::Stated(system.into())
    })
}

fn tokens(node: Node<'_>, sink: Sink<'_>) {
    let value = node.value;
    match node.kind {
        DataType::CodeableConcept => {
            for coding in value
                .get("coding")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                sink_some(coding_token(coding).map(IndexValue::Token), sink);
            }
            if let Some(words) = text(value, "text") {
                sink(IndexValue::Token(TokenValue {
                    system: TokenSystem::None,
                    code: None,
                    text: Some(fold(words).into()),
                    identifier_types: Box::default(),
                }));
            }
        }
        DataType::Coding => sink_some(coding_token(value).map(IndexValue::Token), sink),
        DataType::Identifier => sink_some(identifier_token(value).map(IndexValue::Token), sink),
        DataType::ContactPoint => sink_some(
            text(value, "value")
                .map(|contact| IndexValue::Token(TokenValue::code(contact_system(value), contact))),
            sink,
        ),
        DataType::Code(implied) => {
            let system = implied.map_or(TokenSystem::None, TokenSystem::Implied);
            sink_some(
                value
                    .as_str()
                    .map(|code| IndexValue::Token(TokenValue::code(system, code))),
                sink,
            );
        }
        DataType::Boolean => sink_some(value.as_bool().map(boolean), sink),
        DataType::Number => {
            let number = value.as_number().map(ToString::to_string);
            sink_some(
                number
                    .map(|digits| IndexValue::Token(TokenValue::code(TokenSystem::None, &digits))),
                sink,
            );
        }
        DataType::String
        | DataType::Id
        | DataType::Uri
        | DataType::Canonical
        | DataType::Date
        | DataType::Other(_) => {
            sink_some(
                value
                    .as_str()
                    .map(|code| IndexValue::Token(TokenValue::code(TokenSystem::None, code))),
                sink,
            );
        }
        DataType::Address
        | DataType::Extension
        | DataType::HumanName
        | DataType::Money
        | DataType::Period
        | DataType::Quantity
        | DataType::Range
        | DataType::Reference
        | DataType::SampledData
        | DataType::Timing
        | DataType::Resource => {}
    }
}

/// A logical id, which differs from another by case alone.
fn id_token(node: Node<'_>) -> Option<TokenValue> {
    let id = node.value.as_str()?;
    Some(TokenValue {
        system: TokenSystem::None,
        code: Some(id.into()),
        text: None,
        identifier_types: Box::default(),
    })
}

fn coding_token(coding: &Value) -> Option<TokenValue> {
    let code = text(coding, "code");
    let display = text(coding, "display");
    (code.is_some() || display.is_some()).then(|| TokenValue {
        system: stated(text(coding, "system")),
        code: code.map(compared_code),
        text: display.map(|words| fold(words).into()),
        identifier_types: Box::default(),
    })
}

fn identifier_token(identifier: &Value) -> Option<TokenValue> {
    let kind = identifier.get("type");
    let codings = kind
        .and_then(|kind| kind.get("coding"))
        .and_then(Value::as_array);
    let value = text(identifier, "value");
    let system = text(identifier, "system");
    (value.is_some() || system.is_some()).then(|| TokenValue {
        system: stated(system),
        code: value.map(compared_code),
        text: kind
            .and_then(|kind| text(kind, "text"))
            .map(|words| fold(words).into()),
        identifier_types: codings
            .into_iter()
            .flatten()
            .filter_map(|coding| {
                Some(IdentifierType {
                    system: text(coding, "system").unwrap_or_default().into(),
                    code: compared_code(text(coding, "code")?),
                })
            })
            .collect(),
    })
}

/// The kind of contact serves as system, so that `phone|…` and `…` both find it.
fn contact_system(contact: &Value) -> TokenSystem {
    const KINDS: [&str; 7] = ["phone", "fax", "email", "pager", "url", "sms", "other"];
    let kind =
        text(contact, "system").and_then(|kind| KINDS.into_iter().find(|known| *known == kind));
    kind.map_or(TokenSystem::None, TokenSystem::Implied)
}

fn strings(node: Node<'_>, sink: Sink<'_>) {
    let mut words = |words: &str| sink(IndexValue::String(StringValue::new(words)));
    match node.kind {
        DataType::HumanName => {
            for key in ["family", "text"] {
                text(node.value, key).into_iter().for_each(&mut words);
            }
            for key in ["given", "prefix", "suffix"] {
                texts(node.value, key).for_each(&mut words);
            }
            full_names(node.value).iter().for_each(|full| words(full));
        }
        DataType::Address => {
            for key in ["text", "city", "district", "state", "postalCode", "country"] {
                text(node.value, key).into_iter().for_each(&mut words);
            }
            texts(node.value, "line").for_each(&mut words);
        }
        _ => node.value.as_str().into_iter().for_each(words),
    }
}

/// The name as people say it, where the resource gives its parts only, so that `name=Ada Lovelace` finds Ada King Lovelace.
fn full_names(name: &Value) -> Vec<String> {
    let given: Vec<&str> = texts(name, "given").collect();
    let Some(family) =
        text(name, "family").filter(|_| !given.is_empty() && name.get("text").is_none())
    else {
        return Vec::new();
    };
    let mut full = vec![format!("{} {family}", given.join(" "))];
    if given.len() > 1 {
        full.push(format!("{} {family}", given[0]));
    }
    full
}

fn date(node: Node<'_>) -> Option<Span> {
    match node.kind {
        DataType::Period => period(node.value),
        DataType::Timing => timing(node.value),
        DataType::Date => node.value.as_str().and_then(moment),
        _ => None,
    }
}

fn moment(text: &str) -> Option<Span> {
    Moment::parse(text).map(|moment| moment.span)
}

/// A period, open where an end is missing; none if it has neither.
fn period(value: &Value) -> Option<Span> {
    let start = text(value, "start").and_then(moment);
    let end = text(value, "end").and_then(moment);
    (start.is_some() || end.is_some()).then(|| Span {
        start: start.map_or(Span::OPEN_START, |start| start.start),
        end: end.map_or(Span::OPEN_END, |end| end.end),
    })
}

/// The outer limits of a schedule; its details do not count.
fn timing(value: &Value) -> Option<Span> {
    let events = texts(value, "event").filter_map(moment);
    let bounds = value
        .get("repeat")
        .and_then(|repeat| repeat.get("boundsPeriod"))
        .and_then(period);
    events.chain(bounds).reduce(Span::hull)
}

fn reference(node: Node<'_>, targets: &[Name]) -> Option<ReferenceValue> {
    match node.kind {
        DataType::Canonical => Some(ReferenceValue {
            target: ReferenceTarget::canonical(node.value.as_str()?),
            identifier: None,
        }),
        DataType::Uri => Some(ReferenceValue {
            target: ReferenceTarget::Url(node.value.as_str()?.into()),
            identifier: None,
        }),
        DataType::Resource => embedded(node.value, targets),
        _ => {
            let identifier = node
                .value
                .get("identifier")
                .and_then(identifier_token)
                .map(Box::new);
            let target = text(node.value, "reference")
                .map_or(ReferenceTarget::Unresolved, ReferenceTarget::parse);
            (target != ReferenceTarget::Unresolved
                || identifier.is_some()
                || node.value.get("display").is_some())
            .then_some(ReferenceValue { target, identifier })
        }
    }
}

/// A whole resource in place of a reference, as in the first entry of a document.
fn embedded(resource: &Value, targets: &[Name]) -> Option<ReferenceValue> {
    let kind = text(resource, "resourceType").filter(|kind| targets.contains(kind))?;
    let target = ReferenceTarget::Literal {
        base: None,
        kind: kind.into(),
        id: text(resource, "id")?.into(),
        version: None,
    };
    Some(ReferenceValue {
        target,
        identifier: None,
    })
}

fn quantity(node: Node<'_>) -> Option<QuantityValue> {
    let value = node.value;
    match node.kind {
        DataType::Money => Some(QuantityValue {
            number: NumberValue::exactly(float(value.get("value")?)?),
            system: Some(CURRENCY_SYSTEM.into()),
            code: text(value, "currency").map(Into::into),
            unit: None,
        }),
        DataType::Range => {
            let (low, high) = (value.get("low"), value.get("high"));
            Some(with_unit(range(value)?, low.or(high)?))
        }
        DataType::SampledData => Some(with_unit(samples(value)?, value.get("origin")?)),
        _ => Some(with_unit(compared(value)?, value)),
    }
}

fn with_unit(number: NumberValue, quantity: &Value) -> QuantityValue {
    let owned = |key| text(quantity, key).map(Into::into);
    QuantityValue {
        number,
        system: owned("system"),
        code: owned("code"),
        unit: owned("unit"),
    }
}

/// The number of a quantity; a comparator makes it a range that is open at one side.
fn compared(quantity: &Value) -> Option<NumberValue> {
    let value = float(quantity.get("value")?)?;
    Some(match text(quantity, "comparator") {
        Some("<" | "<=") => NumberValue {
            low: f64::NEG_INFINITY,
            high: value,
        },
        Some(">" | ">=") => NumberValue {
            low: value,
            high: f64::INFINITY,
        },
        _ => NumberValue::exactly(value),
    })
}

fn range(value: &Value) -> Option<NumberValue> {
    let side = |key: &str| {
        value
            .get(key)
            .and_then(|side| side.get("value"))
            .and_then(float)
    };
    let (low, high) = (side("low"), side("high"));
    (low.is_some() || high.is_some()).then(|| NumberValue {
        low: low.unwrap_or(f64::NEG_INFINITY),
        high: high.unwrap_or(f64::INFINITY),
    })
}

/// The least and the greatest value among samples.
fn samples(value: &Value) -> Option<NumberValue> {
    let origin = value
        .get("origin")
        .and_then(|origin| origin.get("value"))
        .and_then(float)?;
    let factor = value.get("factor").and_then(float).unwrap_or(1.0);
    let measured = text(value, "data")?
        .split_whitespace()
        .filter_map(|sample| sample.parse::<f64>().ok());
    measured
        .map(|sample| NumberValue::exactly(origin + sample * factor))
        .reduce(|all, one| NumberValue {
            low: all.low.min(one.low),
            high: all.high.max(one.high),
        })
}

fn number(node: Node<'_>) -> Option<NumberValue> {
    match node.kind {
        DataType::Range => range(node.value),
        _ => float(node.value).map(NumberValue::exactly),
    }
}

fn float(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

fn uris(node: Node<'_>, sink: Sink<'_>) {
    let Some(uri) = node.value.as_str() else {
        return;
    };
    sink(IndexValue::Uri(uri.into()));
    // A canonical with a version is also found without it.
    if node.kind == DataType::Canonical
        && let Some((url, _)) = uri.split_once('|')
    {
        sink(IndexValue::Uri(url.into()));
    }
}

fn position(node: Node<'_>) -> Option<Position> {
    Some(Position {
        latitude: float(node.value.get("latitude")?)?,
        longitude: float(node.value.get("longitude")?)?,
    })
}
