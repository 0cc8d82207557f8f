//! What is expected of a value: a scalar, null for absent, or operators.
//!
//! An [`Expectation`] is as the author wrote it; a [`Test`] is one with its templates filled. An
//! expectation without templates is a test from the beginning.

mod date;
mod operators;

use std::borrow::Cow;

use proctor_core::problem::in_words;
use proctor_fhir::primitive::text::excerpt;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use self::operators::Operator;
use crate::{
    compare::{self, Manner, Side},
    reader::{AssertionNode as _, Node, Notes},
    template::{Failed, Scope, scalar_text},
};

/// The longest regular expression, in bytes.
const LONGEST_PATTERN: usize = 1_000;
/// How large a regular expression may become when it is compiled, in bytes.
const LARGEST_PROGRAM: usize = 64 * 1024;
/// How much of a text a regular expression looks at, in bytes. Its time is bounded by this and the
/// size of its program.
const LONGEST_HAYSTACK: usize = 256 * 1024;

/// The most expectations of which one must hold.
const MOST_ALTERNATIVES: usize = 50;
/// How deep expectations may stand in one another.
const MOST_NESTED: usize = 3;
/// The operators that are read here.
const OWN_OPERATORS: [&str; 12] = [
    "$in",
    "$regex",
    "$exists",
    "$contains",
    "$gte",
    "$lte",
    "$ne",
    "$gt",
    "$lt",
    "$nin",
    "$not",
    "$any",
];

/// What the author expects, perhaps with templates.
#[derive(Debug)]
pub(crate) enum Expectation {
    /// Without templates.
    Fixed(Test),
    /// With templates, as it was written.
    Open(Value),
}

impl Expectation {
    /// Reads an expectation.
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        let reading = Reading { scope: None };
        let (test, is_open) = reading.test(node)?;
        Some(if is_open {
            Self::Open(node.value().clone())
        } else {
            Self::Fixed(test)
        })
    }

    /// The test, with templates filled from `scope`.
    pub(crate) fn bind(&self, scope: &Scope<'_>) -> Result<Cow<'_, Test>, Failed> {
        let written = match self {
            Self::Fixed(test) => return Ok(Cow::Borrowed(test)),
            Self::Open(written) => written,
        };
        let notes = Notes::default();
        let reading = Reading { scope: Some(scope) };
        match reading.test(&Node::root(written, &notes)) {
            Some((test, _)) => Ok(Cow::Owned(test)),
            None => Err(Failed(in_words(&notes.problems()))),
        }
    }
}

/// What a value is tested for.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    /// What is expected, as evidence shows it.
    pub(crate) shown: Value,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
enum Rule {
    Absent,
    Is(Value),
    In(Vec<Value>),
    Matches(Regex),
    Exists(bool),
    Contains(Value),
    AtLeast(Value),
    AtMost(Value),
    IsNot(Value),
    Above(Value),
    Below(Value),
    NotIn(Vec<Value>),
    Not(Box<Test>),
    Any(Vec<Test>),
    /// An operator that looks at one value.
    Of(Operator),
}

impl Test {
    /// Whether it holds for what a path led to, null left out.
    ///
    /// Where a path leads to several values, one of them must satisfy everything that asks for
    /// something, and none may be what is ruled out.
    pub(crate) fn holds(&self, values: &[&Value], manner: Manner) -> bool {
        let mut asking = self.rules.iter().filter(|rule| rule.asks()).peekable();
        let some_value = asking.peek().is_none()
            || values.iter().any(|value| {
                let mut asking = self.rules.iter().filter(|rule| rule.asks());
                asking.all(|rule| rule.accepts(value, manner))
            })
            || values.is_empty() && asking.all(Rule::accepts_nothing);
        let ruling_out = |rule: &Rule| match rule {
            Rule::Absent | Rule::Exists(false) => values.is_empty(),
            Rule::IsNot(Value::Null) => !values.is_empty(),
            Rule::IsNot(unwanted) => !values
                .iter()
                .any(|value| compare::equal(value, unwanted, manner)),
            Rule::NotIn(unwanted) => !values.iter().any(|value| {
                let mut unwanted = unwanted.iter();
                unwanted.any(|one| compare::equal(value, one, manner))
            }),
            Rule::Not(test) => !test.holds(values, manner),
            Rule::Any(tests) => tests.iter().any(|test| test.holds(values, manner)),
            Rule::Is(_)
            | Rule::In(_)
            | Rule::Matches(_)
            | Rule::Exists(true)
            | Rule::Contains(_)
            | Rule::AtLeast(_)
            | Rule::AtMost(_)
            | Rule::Above(_)
            | Rule::Below(_)
            | Rule::Of(_) => true,
        };
        some_value && self.rules.iter().all(ruling_out)
    }

    /// What is expected, in words: `"booked"`, `at least 3`, `none`.
    pub(crate) fn in_words(&self) -> String {
        let said: Vec<String> = self.rules.iter().map(Rule::in_words).collect();
        said.join(" and ")
    }

    /// How a value is said to be what is expected: ` "booked"`, or ` that is at least 3`.
    pub(crate) fn as_attribute(&self) -> String {
        match self.rules.as_slice() {
            [Rule::Is(value)] => said(value),
            _ => format!("that is {}", self.in_words()),
        }
    }
}

impl Rule {
    /// Whether it asks for a value, rather than rule one out.
    fn asks(&self) -> bool {
        match self {
            Self::Absent
            | Self::Exists(false)
            | Self::IsNot(_)
            | Self::NotIn(_)
            | Self::Not(_)
            | Self::Any(_) => false,
            Self::Is(_)
            | Self::In(_)
            | Self::Matches(_)
            | Self::Exists(true)
            | Self::Contains(_)
            | Self::AtLeast(_)
            | Self::AtMost(_)
            | Self::Above(_)
            | Self::Below(_)
            | Self::Of(_) => true,
        }
    }

    fn accepts(&self, value: &Value, manner: Manner) -> bool {
        match self {
            Self::Is(expected) => compare::equal(value, expected, manner),
            Self::In(list) => list.iter().any(|one| compare::equal(value, one, manner)),
            Self::Matches(pattern) => {
                scalar_text(value).is_some_and(|text| pattern.is_match(beginning(&text)))
            }
            Self::Exists(wanted) => *wanted,
            Self::Contains(part) => match value {
                Value::Array(items) => items.iter().any(|item| compare::equal(item, part, manner)),
                Value::String(text) => {
                    scalar_text(part).is_some_and(|part| text.contains(part.as_ref()))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
            },
            Self::AtLeast(bound) => compare::is_on(Side::AtLeast, value, bound, manner),
            Self::AtMost(bound) => compare::is_on(Side::AtMost, value, bound, manner),
            Self::Above(bound) => compare::is_on(Side::Above, value, bound, manner),
            Self::Below(bound) => compare::is_on(Side::Below, value, bound, manner),
            Self::Of(operator) => operator.accepts(value),
            Self::Absent | Self::IsNot(_) | Self::NotIn(_) | Self::Not(_) | Self::Any(_) => false,
        }
    }

    /// Whether it is content when there is no value.
    fn accepts_nothing(&self) -> bool {
        matches!(self, Self::In(list) if list.contains(&Value::Null))
    }

    fn in_words(&self) -> String {
        match self {
            Self::Absent | Self::Exists(false) | Self::Is(Value::Null) => "absent".to_owned(),
            Self::Is(value) => said(value),
            Self::In(list) => {
                let list: Vec<String> = list.iter().map(said).collect();
                format!("one of {}", list.join(", "))
            }
            Self::Matches(pattern) => format!("like /{}/", excerpt(pattern.as_str())),
            Self::Exists(true) | Self::IsNot(Value::Null) => "present".to_owned(),
            Self::Contains(part) => format!("with {} in it", said(part)),
            Self::AtLeast(bound) => format!("at least {}", said(bound)),
            Self::AtMost(bound) => format!("at most {}", said(bound)),
            Self::IsNot(unwanted) => format!("not {}", said(unwanted)),
            Self::Above(bound) => format!("above {}", said(bound)),
            Self::Below(bound) => format!("below {}", said(bound)),
            Self::NotIn(list) => {
                let list: Vec<String> = list.iter().map(said).collect();
                format!("none of {}", list.join(", "))
            }
            Self::Not(test) => format!("not ({})", test.in_words()),
            Self::Any(tests) => {
                let tests: Vec<String> = tests.iter().map(Test::in_words).collect();
                tests.join(" or ")
            }
            Self::Of(operator) => operator.in_words(),
        }
    }
}

/// A value in a sentence.
pub(crate) fn said(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::String(text) => format!("\"{}\"", excerpt(text)),
        other => excerpt(&other.to_string()),
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_HAYSTACK)]
}

/// Reading with templates filled from a scope, or left open.
struct Reading<'s> {
    scope: Option<&'s Scope<'s>>,
}

impl Reading<'_> {
    /// The test, and whether templates were left open, in which case it is only known to have the
    /// right shape.
    fn test(&self, node: &Node<'_>) -> Option<(Test, bool)> {
        let mut is_open = false;
        let (shown, rules) = match node.value() {
            Value::Null => (Value::Null, vec![Rule::Absent]),
            Value::Object(_) => self.operators(node, &mut is_open)?,
            _ => {
                let value = self.operand(node, &mut is_open)?;
                let rule = match &value {
                    Value::Null => Rule::Absent,
                    value => Rule::Is(value.clone()),
                };
                (value, vec![rule])
            }
        };
        Some((Test { shown, rules }, is_open))
    }

    fn operators(&self, node: &Node<'_>, is_open: &mut bool) -> Option<(Value, Vec<Rule>)> {
        let object = node.object()?;
        let mut shown = Map::new();
        let mut rules = Vec::new();
        let mut all_read = true;
        for (name, operand) in object.members() {
            match self.operator(name, &operand, is_open) {
                Some((value, rule)) => {
                    shown.insert(name.to_owned(), value);
                    rules.push(rule);
                }
                None => all_read = false,
            }
        }
        if shown.is_empty() && all_read {
            node.refuse("must be a scalar or hold at least one operator");
            return None;
        }
        all_read.then_some((Value::Object(shown), rules))
    }

    fn operator(&self, name: &str, node: &Node<'_>, is_open: &mut bool) -> Option<(Value, Rule)> {
        let mut operand = |make: fn(Value) -> Rule| {
            let value = self.operand(node, is_open)?;
            Some((value.clone(), make(value)))
        };
        match name {
            "$ne" => operand(Rule::IsNot),
            "$contains" => operand(Rule::Contains).filter(|(value, _)| {
                // An empty text is in every text, so it would ask for nothing.
                let is_something = !matches!(value, Value::String(text) if text.is_empty());
                if !is_something {
                    node.refuse("must not be empty: every text has nothing in it");
                }
                is_something
            }),
            "$gte" => operand(Rule::AtLeast).filter(|(value, _)| is_bound(node, value)),
            "$lte" => operand(Rule::AtMost).filter(|(value, _)| is_bound(node, value)),
            "$gt" => operand(Rule::Above).filter(|(value, _)| is_bound(node, value)),
            "$lt" => operand(Rule::Below).filter(|(value, _)| is_bound(node, value)),
            "$exists" => {
                let wanted = node.flag()?;
                Some((wanted.into(), Rule::Exists(wanted)))
            }
            "$in" => {
                let values = self.operands(node, is_open)?;
                Some((Value::from(values.clone()), Rule::In(values)))
            }
            "$nin" => {
                let values = self.operands(node, is_open)?;
                Some((Value::from(values.clone()), Rule::NotIn(values)))
            }
            "$not" => {
                let test = self.nested(node, is_open)?;
                Some((test.shown.clone(), Rule::Not(Box::new(test))))
            }
            "$any" => {
                let list = node.list()?;
                if list.is_empty() || list.len() > MOST_ALTERNATIVES {
                    node.refuse(format!("must hold 1 to {MOST_ALTERNATIVES} expectations"));
                    return None;
                }
                let tests: Vec<Option<Test>> =
                    list.iter().map(|one| self.nested(one, is_open)).collect();
                let tests: Vec<Test> = tests.into_iter().collect::<Option<_>>()?;
                let shown: Vec<Value> = tests.iter().map(|test| test.shown.clone()).collect();
                Some((shown.into(), Rule::Any(tests)))
            }
            "$regex" => self.regex(node, is_open),
            name => match operators::read(name, node, |node| self.operand(node, is_open)) {
                operators::Read::Operator(shown, operator) => Some((shown, Rule::Of(operator))),
                operators::Read::Refused => None,
                operators::Read::Unknown => {
                    let names = [&OWN_OPERATORS[..], &operators::NAMES[..]].concat();
                    node.refuse(format!("is no operator; {} are", and(&names)));
                    None
                }
            },
        }
    }

    /// The scalars of a list that is not empty.
    fn operands(&self, node: &Node<'_>, is_open: &mut bool) -> Option<Vec<Value>> {
        let list = node.list()?;
        if list.is_empty() {
            node.refuse("must hold at least one value");
        }
        let values: Vec<Option<Value>> =
            list.iter().map(|one| self.operand(one, is_open)).collect();
        values.into_iter().collect()
    }

    /// An expectation inside another.
    fn nested(&self, node: &Node<'_>, is_open: &mut bool) -> Option<Test> {
        // One inside another inside another could be of any depth; authors need two.
        if node.path().matches("$not").count() + node.path().matches("$any").count() > MOST_NESTED {
            node.refuse("is an expectation in too many others");
            return None;
        }
        let (test, inner_is_open) = self.test(node)?;
        *is_open |= inner_is_open;
        Some(test)
    }

    /// A scalar; a text with templates filled.
    fn operand(&self, node: &Node<'_>, is_open: &mut bool) -> Option<Value> {
        match node.value() {
            Value::Array(_) | Value::Object(_) => {
                node.refuse("must be a text, a number, true, false or null");
                None
            }
            Value::String(_) => {
                let template = node.template()?;
                match (template.fixed(), self.scope) {
                    (Some(text), _) => {
                        node.note_expected(text);
                        Some(text.into())
                    }
                    (None, None) => {
                        *is_open = true;
                        Some("\u{2026}".into())
                    }
                    (None, Some(scope)) => filled(node, template.value(scope)),
                }
            }
            scalar => {
                if let Value::Number(number) = scalar {
                    node.note_expected(number.as_str());
                }
                Some(scalar.clone())
            }
        }
    }

    fn regex(&self, node: &Node<'_>, is_open: &mut bool) -> Option<(Value, Rule)> {
        let template = node.template()?;
        let pattern = match (template.fixed(), self.scope) {
            (Some(text), _) => text.to_owned(),
            (None, None) => {
                *is_open = true;
                return Some((Value::Null, Rule::Absent));
            }
            (None, Some(scope)) => filled(node, template.text(scope, regex::escape))?.into_owned(),
        };
        if pattern.len() > LONGEST_PATTERN {
            node.refuse(format!(
                "is longer than {LONGEST_PATTERN} bytes, the most for a regular expression"
            ));
            return None;
        }
        let compiled = RegexBuilder::new(&pattern)
            .size_limit(LARGEST_PROGRAM)
            .build();
        match compiled {
            Ok(regex) => Some((pattern.into(), Rule::Matches(regex))),
            Err(error) => {
                node.refuse(regex_refusal(&error));
                None
            }
        }
    }
}

/// A list in words: `a, b and c`.
fn and(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.join(", "),
    }
}

fn is_bound(node: &Node<'_>, value: &Value) -> bool {
    let is_bound = matches!(value, Value::Number(_) | Value::String(_));
    if !is_bound {
        node.refuse("must be a number, a date or a text");
    }
    is_bound
}

fn filled<T>(node: &Node<'_>, result: Result<T, Failed>) -> Option<T> {
    result.map_err(|Failed(message)| node.refuse(message)).ok()
}

fn regex_refusal(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            "is too large a regular expression: its repetitions multiply".to_owned()
        }
        // The first lines of a syntax error draw the expression; the last says what is wrong.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            let last = last.strip_prefix("error: ").unwrap_or(last);
            format!("is no regular expression: {last}")
        }
    }
}

#[cfg(test)]
mod tests;
