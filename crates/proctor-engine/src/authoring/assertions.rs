//! What can be said of an assertion before it is ever checked.

use proctor_core::definition::Check;
use serde_json::Value;

/// What `assert` may say.
const KNOWN: [&str; 6] = [
    "fhir-resource-state",
    "hl7-structural",
    "portal-state-match",
    "sftp-file-present",
    "voice-transcript",
    "x12-response",
];

/// What is wrong with an assertion: paths inside it, and what.
pub(super) fn problems(assertion: &Value) -> Vec<(String, String)> {
    let problem = match assertion.get("assert") {
        Some(Value::String(name)) if KNOWN.contains(&name.as_str()) => return Vec::new(),
        Some(Value::String(name)) => format!("'{name}' is none of {}", KNOWN.join(", ")),
        Some(_) => "must be a text".to_owned(),
        None => "is required".to_owned(),
    };
    vec![("assert".to_owned(), problem)]
}

/// What the author of a criterion should know: that it is unsupported, or that its label gives the
/// answer away.
pub fn warnings(label: &str, check: &Check) -> Vec<String> {
    let Check::Assertion(assertion) = check else {
        return Vec::new();
    };
    let mut warnings: Vec<String> = problems(assertion)
        .into_iter()
        .map(|(path, message)| {
            format!("assertion.{path}: {message}; it cannot be published, and a trial run fails it")
        })
        .collect();
    let mut expected = Vec::new();
    collect_expected(assertion, &mut expected);
    for value in expected {
        if says(label, &value) {
            warnings.push(format!(
                "the label contains the expected value '{value}': whoever reads it knows the answer"
            ));
        }
    }
    warnings
}

/// The texts and numbers that stand under `expected` anywhere in an assertion, each once.
fn collect_expected(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name == "expected" {
                    collect_leaves(member, found);
                } else {
                    collect_expected(member, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_expected(item, found)),
        _ => {}
    }
}

fn collect_leaves(value: &Value, found: &mut Vec<String>) {
    let leaf = match value {
        Value::Object(members) => {
            return members.values().for_each(|one| collect_leaves(one, found));
        }
        Value::Array(items) => return items.iter().for_each(|one| collect_leaves(one, found)),
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(_) | Value::Null => return,
    };
    if !leaf.is_empty() && !found.contains(&leaf) {
        found.push(leaf);
    }
}

/// Whether `label` has `value` as words of its own, in whatever case.
fn says(label: &str, value: &str) -> bool {
    let (label, value) = (label.to_lowercase(), value.to_lowercase());
    label.match_indices(&value).any(|(start, found)| {
        let before = label[..start].chars().next_back();
        let after = label[start + found.len()..].chars().next();
        let apart = |neighbour: Option<char>| !neighbour.is_some_and(char::is_alphanumeric);
        apart(before) && apart(after)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(label: &str, assertion: Value) -> Vec<String> {
        warnings(label, &Check::Assertion(assertion))
    }

    #[test]
    fn an_unknown_assertion_is_warned_about() {
        for (assertion, words) in [
            (json!({"assert": "telepathy"}), "'telepathy' is none of"),
            (json!({"assert": 5}), "must be a text"),
            (json!({}), "is required"),
            (json!("fhir"), "is required"),
        ] {
            let told = told("Label", assertion);
            assert!(told.len() == 1 && told[0].contains(words), "{told:?}");
        }
        assert!(warnings("Label", &Check::Scorer(json!({}))).is_empty());
    }

    #[test]
    fn a_label_that_gives_the_answer_away_is_warned_about() {
        let assertion = |expected: Value| {
            json!({"assert": "fhir-resource-state", "resource_type": "Appointment",
                   "fields": [{"path": "a", "expected": expected}]})
        };
        for (label, expected) in [
            ("Dr. Rivera is booked", json!("dr. rivera")),
            ("The code is 72148.", json!(72148)),
            (
                "One of booked, pending",
                json!({"$in": ["pending", "arrived"]}),
            ),
        ] {
            assert_eq!(told(label, assertion(expected)).len(), 1, "{label}");
        }
        for (label, expected) in [
            ("The visit is booked", json!("book")),
            ("The visit is true", json!(true)),
            ("Rebooked", json!("booked")),
            ("Anything", json!("")),
            ("Visit 10", json!(1)),
        ] {
            assert_eq!(told(label, assertion(expected)), [""; 0], "{label}");
        }
    }
}
