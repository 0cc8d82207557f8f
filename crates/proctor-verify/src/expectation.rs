//! What is expected of a value: a scalar, null for absent, or operators.
//!
//! An [`Expectation`] is as the author wrote it; a [`Test`] is one with its templates filled. An
//! expectation without templates is a test from the beginning.

use std::borrow::Cow;

use proctor_core::problem::in_words;
use proctor_fhir::primitive::text::excerpt;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

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
            Rule::Is(_)
            | Rule::In(_)
            | Rule::Matches(_)
            | Rule::Exists(true)
            | Rule::Contains(_)
            | Rule::AtLeast(_)
            | Rule::AtMost(_) => true,
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
            Self::Absent | Self::Exists(false) | Self::IsNot(_) => false,
            Self::Is(_)
            | Self::In(_)
            | Self::Matches(_)
            | Self::Exists(true)
            | Self::Contains(_)
            | Self::AtLeast(_)
            | Self::AtMost(_) => true,
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
            Self::Absent | Self::IsNot(_) => false,
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
            "$exists" => {
                let wanted = node.flag()?;
                Some((wanted.into(), Rule::Exists(wanted)))
            }
            "$in" => {
                let list = node.list()?;
                if list.is_empty() {
                    node.refuse("must hold at least one value");
                }
                let values: Vec<Option<Value>> =
                    list.iter().map(|one| self.operand(one, is_open)).collect();
                let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
                Some((Value::from(values.clone()), Rule::In(values)))
            }
            "$regex" => self.regex(node, is_open),
            _ => {
                node.refuse(
                    "is no operator; $in, $regex, $exists, $contains, $gte, $lte and $ne are",
                );
                None
            }
        }
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
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(expected: &Value) -> Result<Test, String> {
        let notes = Notes::default();
        match Expectation::read(&Node::root(expected, &notes)) {
            Some(Expectation::Fixed(test)) => Ok(test),
            Some(Expectation::Open(_)) => Err("it has templates".to_owned()),
            None => Err(in_words(&notes.problems())),
        }
    }

    fn holds(expected: &Value, values: &[Value]) -> bool {
        let values: Vec<&Value> = values.iter().collect();
        read(expected).unwrap().holds(&values, Manner::Typed)
    }

    #[test]
    fn each_operator_asks_its_own_question() {
        for (expected, value, outcome) in [
            (json!({"$in": [1, "a"]}), json!(1.0), true),
            (json!({"$in": [1, "a"]}), json!("1"), false),
            (json!({"$regex": "^a+$"}), json!("aaa"), true),
            (json!({"$regex": "^1$"}), json!(1), true),
            (json!({"$regex": "a"}), json!(["a"]), false),
            (json!({"$exists": true}), json!([]), true),
            (json!({"$exists": false}), json!(0), false),
            (json!({"$contains": "b"}), json!("abc"), true),
            (json!({"$contains": 2}), json!([1, 2.0]), true),
            (json!({"$contains": "b"}), json!(["abc"]), false),
            (json!({"$gte": 1, "$lte": 2}), json!(1.5), true),
            (
                json!({"$gte": 1, "$lte": 2, "$ne": 1.5}),
                json!(1.50),
                false,
            ),
            (json!({"$ne": "x"}), json!({"y": 1}), true),
            (json!({"$ne": null}), json!(false), true),
        ] {
            assert_eq!(
                holds(&expected, std::slice::from_ref(&value)),
                outcome,
                "{expected} {value}"
            );
        }
    }

    #[test]
    fn nothing_is_absent_and_is_not_anything() {
        for (expected, outcome) in [
            (json!(null), true),
            (json!({"$exists": false}), true),
            (json!({"$ne": "x"}), true),
            (json!({"$in": ["x", null]}), true),
            (json!({"$ne": null}), false),
            (json!({"$exists": true}), false),
            (json!({"$in": ["x"]}), false),
            (json!({"$in": ["x", null], "$gte": 1}), false),
            (json!(""), false),
        ] {
            assert_eq!(holds(&expected, &[]), outcome, "{expected}");
        }
    }

    #[test]
    fn of_several_values_one_must_do_and_none_may_be_ruled_out() {
        let values = [json!(1), json!(5), json!(9)];
        for (expected, outcome) in [
            (json!(5), true),
            (json!({"$ne": 5}), false),
            (json!({"$ne": 6}), true),
            (json!({"$gte": 4, "$lte": 6}), true),
            (json!({"$gte": 6, "$lte": 8}), false),
            (json!({"$gte": 6, "$ne": 1}), false),
            (json!(null), false),
        ] {
            assert_eq!(holds(&expected, &values), outcome, "{expected}");
        }
    }

    #[test]
    fn regular_expressions_are_bounded() {
        let refusal = |pattern: &str| read(&json!({"$regex": pattern})).unwrap_err();
        assert!(refusal(&"a".repeat(LONGEST_PATTERN + 1)).contains("longer"));
        assert!(refusal(r"\w{1000}{1000}").contains("too large"));
        assert!(refusal("(?<x").contains("no regular expression"));
        let late = format!("{}needle", " ".repeat(LONGEST_HAYSTACK));
        assert!(!holds(&json!({"$regex": "needle"}), &[json!(late)]));
        assert!(holds(&json!({"$contains": "needle"}), &[json!(late)]));
    }

    proptest! {
        #[test]
        fn a_scalar_is_itself(value in prop_oneof![any::<i64>().prop_map(Value::from), any::<bool>().prop_map(Value::from), "[^{]{0,8}".prop_map(Value::from)]) {
            let expected = json!({"$in": [value]});
            prop_assert!(holds(&value, std::slice::from_ref(&value)));
            prop_assert!(holds(&expected, std::slice::from_ref(&value)));
            let unwanted = json!({"$ne": value});
            prop_assert!(!holds(&unwanted, std::slice::from_ref(&value)));
        }
    }
}
