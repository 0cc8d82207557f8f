//! When a card is shown: a path into what the client sent, and what must stand there.

use proctor_simulation::schema::{about, flag, object, optional, text};
use serde::Deserialize;
use serde_json::{Value, json};

/// A condition as authors write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConditionConfig {
    path: String,
    equals: Option<Value>,
    contains: Option<Value>,
    exists: Option<bool>,
    gte: Option<Value>,
    lte: Option<Value>,
}

/// The JSON Schema of a condition.
pub(super) fn config_schema() -> Value {
    let test =
        |name: &str| json!({"required": [name], "properties": {name: {"not": {"type": "null"}}}});
    let mut schema = object(
        &["path"],
        json!({
            "path": about("Names with dots between them, like context.patientId.", text()),
            "equals": {},
            "contains": {},
            "exists": optional(&flag()),
            "gte": {},
            "lte": {},
        }),
    );
    schema["oneOf"] = ["equals", "contains", "exists", "gte", "lte"]
        .map(test)
        .into();
    schema
}

/// A condition on a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    path: Vec<String>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Equals(Value),
    Contains(Value),
    Exists(bool),
    AtLeast(Value),
    AtMost(Value),
}

impl Condition {
    /// Reads a condition: a path and exactly one test.
    pub(super) fn read(config: ConditionConfig) -> Result<Self, String> {
        let path: Vec<String> = config.path.split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err("path: names with dots between them, like context.patientId".to_owned());
        }
        let tests = [
            config.equals.map(Test::Equals),
            config.contains.map(Test::Contains),
            config.exists.map(Test::Exists),
            config.gte.map(Test::AtLeast),
            config.lte.map(Test::AtMost),
        ];
        let mut tests = tests.into_iter().flatten();
        match (tests.next(), tests.next()) {
            (Some(test), None) => Ok(Self { path, test }),
            _ => Err("exactly one of equals, contains, exists, gte and lte".to_owned()),
        }
    }

    /// Whether it holds. Where the path leads to several values, one of them is enough.
    pub(super) fn holds(&self, document: &Value) -> bool {
        let mut found = Vec::new();
        collect(document, &self.path, &mut found);
        match &self.test {
            Test::Exists(expected) => *expected != found.is_empty(),
            Test::Equals(expected) => found.iter().any(|value| equal(value, expected)),
            Test::Contains(expected) => found.iter().any(|value| contains(value, expected)),
            Test::AtLeast(bound) => found
                .iter()
                .any(|value| order(value, bound).is_some_and(std::cmp::Ordering::is_ge)),
            Test::AtMost(bound) => found
                .iter()
                .any(|value| order(value, bound).is_some_and(std::cmp::Ordering::is_le)),
        }
    }
}

/// The values at a path: names lead into objects, numbers into lists, `*` to everything in either.
/// Null is nothing.
fn collect<'d>(value: &'d Value, path: &[String], found: &mut Vec<&'d Value>) {
    let Some((name, rest)) = path.split_first() else {
        if !value.is_null() {
            found.push(value);
        }
        return;
    };
    match value {
        Value::Array(items) if name == "*" => {
            items.iter().for_each(|item| collect(item, rest, found));
        }
        Value::Object(map) if name == "*" => {
            map.values().for_each(|item| collect(item, rest, found));
        }
        Value::Array(items) => {
            let item = name.parse().ok().and_then(|index: usize| items.get(index));
            if let Some(item) = item {
                collect(item, rest, found);
            }
        }
        Value::Object(map) => {
            if let Some(item) = map.get(name) {
                collect(item, rest, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Numbers are equal by value, however they are written.
fn equal(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Number(_), Value::Number(_)) => {
            order(value, expected).is_some_and(std::cmp::Ordering::is_eq)
        }
        _ => value == expected,
    }
}

fn contains(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Array(items), _) => items.iter().any(|item| equal(item, expected)),
        (Value::String(text), Value::String(part)) => {
            text.to_lowercase().contains(&part.to_lowercase())
        }
        _ => false,
    }
}

/// Numbers by value, texts (and so dates) by their letters; other things have no order.
fn order(value: &Value, bound: &Value) -> Option<std::cmp::Ordering> {
    match (value, bound) {
        (Value::Number(value), Value::Number(bound)) => {
            value.as_f64()?.partial_cmp(&bound.as_f64()?)
        }
        (Value::String(value), Value::String(bound)) => Some(value.cmp(bound)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: Value) -> bool {
        let document = json!({
            "context": {"patientId": "ada", "selections": ["MedicationRequest/1"]},
            "prefetch": {"labs": {"entry": [{"value": 5.10}, {"value": 6.9}]}, "none": null},
        });
        let config = serde_json::from_value(condition).unwrap();
        Condition::read(config).unwrap().holds(&document)
    }

    #[test]
    fn each_test_holds_where_it_should() {
        for condition in [
            json!({"path": "context.patientId", "equals": "ada"}),
            json!({"path": "prefetch.labs.entry.0.value", "equals": 5.1}),
            json!({"path": "context.selections", "contains": "MedicationRequest/1"}),
            json!({"path": "context.selections.*", "contains": "medicationrequest"}),
            json!({"path": "prefetch.none", "exists": false}),
            json!({"path": "prefetch.labs", "exists": true}),
            json!({"path": "prefetch.labs.entry.*.value", "gte": 6.5}),
            json!({"path": "prefetch.labs.entry.*.value", "lte": 5.10}),
            json!({"path": "context.patientId", "lte": "b"}),
        ] {
            assert!(holds(condition.clone()), "{condition}");
        }
    }

    #[test]
    fn no_test_holds_where_it_should_not() {
        for condition in [
            json!({"path": "context.patientId", "equals": "eve"}),
            json!({"path": "context.patientId.0", "exists": true}),
            json!({"path": "context.selections.7", "exists": true}),
            json!({"path": "prefetch.labs.entry.*.value", "gte": 7}),
            json!({"path": "context.patientId", "gte": 5}),
            json!({"path": "nothing", "contains": "a"}),
        ] {
            assert!(!holds(condition.clone()), "{condition}");
        }
    }

    #[test]
    fn a_condition_has_one_test() {
        for condition in [
            json!({"path": "a"}),
            json!({"path": "a", "equals": 1, "gte": 1}),
            json!({"path": "a..b", "equals": 1}),
            json!({"path": "", "equals": 1}),
        ] {
            let config = serde_json::from_value(condition).unwrap();
            assert!(Condition::read(config).is_err());
        }
    }
}
