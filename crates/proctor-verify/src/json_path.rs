//! Paths into JSON: `participant.0.actor.display`, `participant.*.actor.display`.
//!
//! Steps stand between dots. A whole number is a place in a list, counted from 0 (of an object it is
//! the member of that name); `*` is every element of a list or member of an object; all else is the
//! name of a member. A backslash takes the next character as it is: `extension\.v2`, `\*`.

use std::fmt;

use serde_json::Value;

/// A path into a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonPath {
    written: String,
    steps: Vec<Step>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The member of this name.
    Name(String),
    /// The element at this place, or the member of this name.
    Place(usize, String),
    /// Every element or member.
    Any,
}

impl JsonPath {
    /// Reads a path.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut name = String::new();
        let mut escaped = false;
        let mut characters = text.chars();
        loop {
            match characters.next() {
                Some('\\') => {
                    let next = characters.next().ok_or_else(|| {
                        format!("'{text}' ends with a backslash that escapes nothing")
                    })?;
                    name.push(next);
                    escaped = true;
                }
                Some('.') | None if name.is_empty() => {
                    return Err(format!(
                        "'{text}' is no path: names, places and * stand between single dots, as in name.0.family"
                    ));
                }
                Some('.') => steps.push(Step::new(std::mem::take(&mut name), &mut escaped)),
                Some(other) => name.push(other),
                None => break,
            }
        }
        steps.push(Step::new(name, &mut escaped));
        Ok(Self {
            written: text.to_owned(),
            steps,
        })
    }

    /// As it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.written
    }

    /// Its steps.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether it may lead to several values.
    pub(crate) fn is_any(&self) -> bool {
        self.steps.contains(&Step::Any)
    }

    /// Where a path without `*` leads.
    pub(crate) fn one<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.steps
            .iter()
            .try_fold(root, |value, step| step.one(value))
    }

    /// Everything that it leads to.
    pub(crate) fn all<'v>(&self, root: &'v Value) -> Vec<&'v Value> {
        let mut values = vec![root];
        for step in &self.steps {
            values = values
                .into_iter()
                .flat_map(|value| match (step, value) {
                    (Step::Any, Value::Array(items)) => items.iter().collect(),
                    (Step::Any, Value::Object(members)) => members.values().collect(),
                    (step, value) => Vec::from_iter(step.one(value)),
                })
                .collect();
        }
        values
    }
}

impl Step {
    fn new(name: String, escaped: &mut bool) -> Self {
        if std::mem::take(escaped) {
            return Self::Name(name);
        }
        if name == "*" {
            return Self::Any;
        }
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        match name.parse() {
            Ok(place) if is_number => Self::Place(place, name),
            _ => Self::Name(name),
        }
    }

    fn one<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Name(name) => value.as_object()?.get(name),
            Self::Place(place, name) => match value {
                Value::Array(items) => items.get(*place),
                Value::Object(members) => members.get(name),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            },
            Self::Any => None,
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn all(path: &str, value: &Value) -> Vec<Value> {
        let path = JsonPath::parse(path).unwrap();
        path.all(value).into_iter().cloned().collect()
    }

    #[test]
    fn steps_are_names_places_and_stars() {
        let value = json!({"a": [{"b": 1}, {"b": 2}, {"c": 3}], "0": "zero", "x.y": {"*": true}});
        assert_eq!(all("a.1.b", &value), [json!(2)]);
        assert_eq!(all("a.*.b", &value), [json!(1), json!(2)]);
        assert_eq!(all("0", &value), [json!("zero")]);
        assert_eq!(all(r"x\.y.\*", &value), [json!(true)]);
        assert_eq!(all("a.7.b", &value), [] as [Value; 0]);
        assert_eq!(all("a.b", &value), [] as [Value; 0]);
        assert_eq!(all("*.*.c", &value), [json!(3)]);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for bad in ["", ".", "a.", ".a", "a..b", "a\\"] {
            assert!(JsonPath::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_path_shows_as_it_was_written(text in "[a-c0-9.*\\\\]{0,12}") {
            if let Ok(path) = JsonPath::parse(&text) {
                prop_assert_eq!(path.to_string(), text);
            }
        }

        #[test]
        fn an_escaped_name_finds_its_member(name in "\\PC{1,8}") {
            let escaped: String = name.chars().flat_map(|letter| ['\\', letter]).collect();
            let value = json!({name: 1});
            prop_assert_eq!(all(&escaped, &value), [json!(1)]);
        }
    }
}
