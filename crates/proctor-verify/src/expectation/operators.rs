//! Operators that know what a value means: sizes, tolerances, quantities, telephone numbers, codes, dates and free text.

use proctor_core::phrase::Phrase;
use serde_json::{Value, json};

use super::{date::DateWindow, said};
use crate::{
    reader::{AssertionNode as _, Node},
    template::scalar_text,
    ucum::Unit,
};

/// The operators, by the words of authors.
pub(super) const NAMES: [&str; 7] = [
    "$size",
    "$near",
    "$quantity",
    "$phone",
    "$code",
    "$date",
    "$text",
];
/// What stands for a value that is not known yet.
const OPEN: &str = "\u{2026}";
/// The most phrases of a `$text`.
const MOST_PHRASES: usize = 50;

/// What one value is tested for.
#[derive(Clone, Debug)]
pub(super) enum Operator {
    /// A list with this many elements.
    Size(usize),
    /// A number that is at most this far from another.
    Near { value: f64, tolerance: f64 },
    /// A quantity, in whatever unit of the same kind.
    Quantity {
        value: f64,
        unit: Unit,
        tolerance: f64,
    },
    /// A telephone number, however it is written: its digits.
    Phone(String),
    /// A code of a system, or of any.
    Code {
        system: Option<String>,
        code: String,
    },
    /// A date or time near another.
    Date(DateWindow),
    /// Words that are in a text, and words that are not.
    Text {
        contains: Vec<Phrase>,
        not_contains: Vec<Phrase>,
    },
}

/// What came of reading an operator.
pub(super) enum Read {
    /// It was read: what evidence shows of it, and what it tests.
    Operator(Value, Operator),
    /// Something is wrong with it, which was said.
    Refused,
    /// There is none of this name.
    Unknown,
}

/// Reads an operator; `operand` reads a scalar with its templates.
pub(super) fn read(
    name: &str,
    node: &Node<'_>,
    mut operand: impl FnMut(&Node<'_>) -> Option<Value>,
) -> Read {
    let read = match name {
        "$size" => node
            .amount()
            .map(|size| (size.into(), Operator::Size(size))),
        "$phone" => operand(node).and_then(|value| phone(node, value)),
        "$near" => near(node, &mut operand),
        "$quantity" => quantity(node, &mut operand),
        "$code" => code(node, &mut operand),
        "$date" => date(node, &mut operand),
        "$text" => text(node, &mut operand),
        _ => return Read::Unknown,
    };
    match read {
        Some((shown, operator)) => Read::Operator(shown, operator),
        None => Read::Refused,
    }
}

type Operand<'o> = dyn FnMut(&Node<'_>) -> Option<Value> + 'o;

/// What is read in place of an operator that is not known before its templates are filled.
fn later() -> Option<(Value, Operator)> {
    Some((Value::Null, Operator::Size(0)))
}

fn is_open(value: &Value) -> bool {
    value.as_str() == Some(OPEN)
}

fn number(node: &Node<'_>, value: &Value) -> Option<f64> {
    let text = scalar_text(value).unwrap_or_default();
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    if number.is_none() {
        node.refuse("must be a number");
    }
    number
}

fn phone(node: &Node<'_>, value: Value) -> Option<(Value, Operator)> {
    if is_open(&value) {
        return later();
    }
    let digits = scalar_text(&value).as_deref().and_then(telephone);
    match digits {
        Some(digits) => Some((value, Operator::Phone(digits))),
        None => {
            node.refuse("is no telephone number");
            None
        }
    }
}

fn near(node: &Node<'_>, operand: &mut Operand<'_>) -> Option<(Value, Operator)> {
    let object = node.object()?;
    let (value, tolerance) = (object.required("value"), object.required("tolerance"));
    object.finish();
    let (value_node, tolerance_node) = (value?, tolerance?);
    let (value, tolerance) = (operand(&value_node)?, operand(&tolerance_node)?);
    if is_open(&value) || is_open(&tolerance) {
        return later();
    }
    let shown = json!({"value": value, "tolerance": tolerance});
    let operator = Operator::Near {
        value: number(&value_node, &value)?,
        tolerance: number(&tolerance_node, &tolerance)?.abs(),
    };
    Some((shown, operator))
}

fn quantity(node: &Node<'_>, operand: &mut Operand<'_>) -> Option<(Value, Operator)> {
    let object = node.object()?;
    let (value, unit) = (object.required("value"), object.required("unit"));
    let tolerance = object.optional("tolerance");
    object.finish();
    let (value_node, unit_node) = (value?, unit?);
    let (value, unit) = (operand(&value_node)?, operand(&unit_node)?);
    let tolerance = match &tolerance {
        Some(node) => operand(node)?,
        None => json!(0),
    };
    if [&value, &unit, &tolerance].into_iter().any(is_open) {
        return later();
    }
    let name = scalar_text(&unit).unwrap_or_default();
    let read = match Unit::parse(&name) {
        Ok(read) => read,
        Err(why) => {
            unit_node.refuse(why);
            return None;
        }
    };
    let shown = json!({"value": value, "unit": unit, "tolerance": tolerance});
    let operator = Operator::Quantity {
        value: number(&value_node, &value)?,
        unit: read,
        tolerance: number(node, &tolerance)?.abs(),
    };
    Some((shown, operator))
}

fn code(node: &Node<'_>, operand: &mut Operand<'_>) -> Option<(Value, Operator)> {
    let object = match node.value() {
        Value::Object(_) => node.object()?,
        _ => {
            let value = operand(node)?;
            let code = scalar_text(&value).unwrap_or_default().into_owned();
            return Some((value, Operator::Code { system: None, code }));
        }
    };
    let (system, code) = (object.optional("system"), object.required("code"));
    object.finish();
    let system = match &system {
        Some(node) => Some(operand(node)?),
        None => None,
    };
    let code = operand(&code?)?;
    if is_open(&code) || system.as_ref().is_some_and(is_open) {
        return later();
    }
    let shown = json!({"system": system, "code": code});
    let text = |value: &Value| scalar_text(value).unwrap_or_default().into_owned();
    let operator = Operator::Code {
        system: system.as_ref().map(text),
        code: text(&code),
    };
    Some((shown, operator))
}

fn date(node: &Node<'_>, operand: &mut Operand<'_>) -> Option<(Value, Operator)> {
    let object = node.object()?;
    let of = object.required("of");
    let (plus, within) = (object.optional("plus"), object.optional("within"));
    object.finish();
    let of_node = of?;
    let of = operand(&of_node)?;
    let mut duration = |node: &Option<Node<'_>>| -> Option<(Value, i64)> {
        let Some(node) = node else {
            return Some((Value::Null, 0));
        };
        let value = operand(node)?;
        if is_open(&value) {
            return Some((value, 0));
        }
        let text = scalar_text(&value).unwrap_or_default().into_owned();
        let millis = super::date::duration(&text)
            .map_err(|why| node.refuse(why))
            .ok()?;
        Some((value, millis))
    };
    let ((plus, shift), (within, tolerance)) = (duration(&plus)?, duration(&within)?);
    if [&of, &plus, &within].into_iter().any(is_open) {
        return later();
    }
    let text = scalar_text(&of).unwrap_or_default();
    let Some(window) = DateWindow::around(&text, shift, tolerance) else {
        of_node.refuse("is no date or time");
        return None;
    };
    let shown = json!({"of": of, "plus": plus, "within": within});
    Some((shown, Operator::Date(window)))
}

fn text(node: &Node<'_>, operand: &mut Operand<'_>) -> Option<(Value, Operator)> {
    let object = node.object()?;
    let (contains, not_contains) = (object.optional("contains"), object.optional("not_contains"));
    object.finish();
    let mut phrases = |node: &Option<Node<'_>>| -> Option<Vec<Value>> {
        let Some(node) = node else {
            return Some(Vec::new());
        };
        let items = match node.value() {
            Value::Array(_) => node.list()?,
            _ => vec![node.clone()],
        };
        if items.len() > MOST_PHRASES {
            node.refuse(format!("holds more than {MOST_PHRASES} phrases"));
            return None;
        }
        let read: Vec<Option<Value>> = items
            .iter()
            .map(|item| {
                let value = operand(item)?;
                let text = scalar_text(&value).unwrap_or_default();
                if Phrase::fold(&text).is_empty() && !is_open(&value) {
                    item.refuse("must have at least one word in it");
                    return None;
                }
                item.note_expected(&text);
                Some(value)
            })
            .collect();
        read.into_iter().collect()
    };
    let (contains, not_contains) = (phrases(&contains)?, phrases(&not_contains)?);
    if contains.is_empty() && not_contains.is_empty() {
        node.refuse("needs at least one phrase in 'contains' or 'not_contains'");
        return None;
    }
    if contains.iter().chain(&not_contains).any(is_open) {
        return later();
    }
    let folded = |all: &[Value]| -> Vec<Phrase> {
        let texts = all.iter().filter_map(scalar_text);
        texts.map(|text| Phrase::fold(&text)).collect()
    };
    let operator = Operator::Text {
        contains: folded(&contains),
        not_contains: folded(&not_contains),
    };
    Some((
        json!({"contains": contains, "not_contains": not_contains}),
        operator,
    ))
}

impl Operator {
    pub(super) fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Size(size) => value.as_array().is_some_and(|list| list.len() == *size),
            Self::Near {
                value: wanted,
                tolerance,
            } => as_number(value).is_some_and(|number| is_near(number, *wanted, *tolerance)),
            Self::Quantity {
                value: wanted,
                unit,
                tolerance,
            } => quantity_of(value)
                .and_then(|(number, own)| own.convert(number, unit))
                .is_some_and(|number| is_near(number, *wanted, *tolerance)),
            Self::Phone(digits) => {
                let number = scalar_text(value);
                number.as_deref().and_then(telephone).as_ref() == Some(digits)
            }
            Self::Code { system, code } => has_code(value, system.as_deref(), code),
            Self::Date(window) => scalar_text(value).is_some_and(|text| window.holds(&text)),
            Self::Text {
                contains,
                not_contains,
            } => scalar_text(value).is_some_and(|text| {
                let said = Phrase::fold(&text);
                contains.iter().all(|phrase| phrase.is_in(&said))
                    && !not_contains.iter().any(|phrase| phrase.is_in(&said))
            }),
        }
    }

    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Size(size) => format!("a list of {size}"),
            Self::Near { value, tolerance } => format!("{value} give or take {tolerance}"),
            Self::Quantity {
                value,
                unit,
                tolerance,
            } if *tolerance == 0.0 => format!("{value} {unit}"),
            Self::Quantity {
                value,
                unit,
                tolerance,
            } => format!("{value} {unit} give or take {tolerance}"),
            Self::Phone(digits) => format!("the telephone number {digits}"),
            Self::Code { system: None, code } => format!("the code {}", said(&json!(code))),
            Self::Code {
                system: Some(system),
                code,
            } => format!("the code {} of {system}", said(&json!(code))),
            Self::Date(window) => window.in_words(),
            Self::Text { .. } => {
                "a text with what is asked for in it and without what is not".to_owned()
            }
        }
    }
}

/// Equal within a tolerance, and within what floating numbers lose on the way.
fn is_near(number: f64, wanted: f64, tolerance: f64) -> bool {
    let lost = 1e-9 * wanted.abs().max(number.abs()).max(1.0);
    (number - wanted).abs() <= tolerance + lost
}

fn as_number(value: &Value) -> Option<f64> {
    let text = scalar_text(value)?;
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// A quantity of FHIR (`{"value": 70, "code": "kg"}`), or one in a text (`70 kg`).
fn quantity_of(value: &Value) -> Option<(f64, Unit)> {
    if let Value::Object(members) = value {
        let number = as_number(members.get("value")?)?;
        let unit = members.get("code").or_else(|| members.get("unit"))?;
        return Some((number, Unit::parse(unit.as_str()?).ok()?));
    }
    let text = scalar_text(value)?;
    let text = text.trim();
    let is_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+');
    let end = text.find(|letter| !is_number(letter))?;
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, Unit::parse(unit.trim()).ok()?))
}

/// The digits of a telephone number, without the country's where that is the one of North America.
fn telephone(text: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_ascii_digit() || " +-().#/xt".contains(letter);
    if !text.chars().all(is_part) {
        return None;
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if digits.len() < 7 || digits.len() > 18 {
        return None;
    }
    Some(match digits.strip_prefix('1') {
        Some(local) if local.len() == 10 => local.to_owned(),
        _ => digits,
    })
}

/// Whether a value is, or holds, a code: a text, a coding, a concept with codings, or a list of any of them.
fn has_code(value: &Value, system: Option<&str>, code: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_code(item, system, code)),
        Value::Object(members) => {
            if let Some(codings) = members.get("coding") {
                return has_code(codings, system, code);
            }
            let is_system = system.is_none_or(|system| {
                members
                    .get("system")
                    .and_then(Value::as_str)
                    .is_some_and(|own| own == system)
            });
            let own = members.get("code").or_else(|| members.get("value"));
            is_system && own.is_some_and(|own| is_same_code(own, code))
        }
        // A plain text says nothing of its system.
        scalar => is_same_code(scalar, code),
    }
}

/// Codes are the same with and without their dot (`E11.9`, `E119`), and whatever their case.
fn is_same_code(value: &Value, code: &str) -> bool {
    let bare = |text: &str| text.trim().replace('.', "").to_ascii_uppercase();
    scalar_text(value).is_some_and(|own| bare(&own) == bare(code))
}
