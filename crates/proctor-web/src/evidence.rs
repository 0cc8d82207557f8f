//! Evidence as tables: what was expected, what was found, and where they differ.

use proctor_core::criterion_run::{OWN_SCORE, REQUIRES};
use serde_json::Value;

use crate::html::{self, Html};

/// How much of a value is shown in a table.
const LONGEST: usize = 2000;

/// What was expected at a place, and what was found there.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The place.
    pub path: String,
    /// What was expected.
    pub expected: Html,
    /// What was found.
    pub actual: Html,
    /// Whether that is right.
    pub passed: bool,
}

/// A phrase that was listened for.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// The phrase.
    pub phrase: String,
    /// The turn in which it was said, counted from 0 over all calls.
    pub turn: Option<u64>,
}

/// Something that was changed, sent or leaked and may not have been.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// What happened, in words.
    pub what: String,
    /// The event that did it.
    pub event: Option<String>,
}

/// A piece of evidence, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// What was expected and found, failed ones first.
    pub rows: Vec<Row>,
    /// What was listened for.
    pub phrases: Vec<Spoken>,
    /// What may not have happened.
    pub violations: Vec<Violation>,
    /// What was looked at, such as the resource or the message that came closest.
    pub looked_at: Vec<(&'static str, String)>,
    /// The keys of criteria that must hold before this one counts, and do not.
    pub held_back_by: Vec<String>,
    /// What a scorer printed.
    pub output: Option<String>,
}

/// Reads a piece of evidence of any check; what is not known is left to the raw record.
pub fn read(evidence: &Value) -> Evidence {
    let fields = ["fieldResults", "field_results", "assertionResults"];
    let mut rows: Vec<Row> = fields
        .iter()
        .flat_map(|name| list(&evidence[*name]))
        .map(row)
        .collect();
    rows.extend(list(&evidence["results"]).map(|result| Row {
        path: string(&result["asked"]).unwrap_or_default(),
        expected: html::text(""),
        actual: html::short(string(&result["found"]).unwrap_or_default(), LONGEST),
        passed: result["passed"] == true,
    }));
    rows.sort_by_key(|row| row.passed);
    let phrases = list(&evidence["phraseResults"]).map(|one| Spoken {
        phrase: string(&one["phrase"]).unwrap_or_default(),
        turn: one["turn"].as_u64().filter(|_| one["found"] == true),
    });
    let looked = [
        ("resource", "resource"),
        ("message", "message_control_id"),
        ("candidates", "candidates"),
        ("transaction", "transaction"),
        ("control number", "control_number"),
        ("row", "row_key"),
        ("total", "total"),
        ("mode", "mode"),
        ("state", "state"),
    ];
    let looked = looked
        .iter()
        .filter_map(|(label, name)| Some((*label, string(&evidence[*name])?)));
    let files = list(&evidence["matchedPaths"]).filter_map(string);
    Evidence {
        rows,
        phrases: phrases.collect(),
        violations: violations(evidence),
        looked_at: looked.chain(files.map(|path| ("file", path))).collect(),
        held_back_by: list(&evidence[REQUIRES]["unmet"])
            .filter_map(string)
            .collect(),
        output: string(&evidence["output"]),
    }
}

/// What a criterion's own check found, where it counts 0 only because another one is not met.
pub fn own_score(evidence: &Value) -> Option<f64> {
    evidence[REQUIRES][OWN_SCORE].as_f64()
}

fn violations(evidence: &Value) -> Vec<Violation> {
    let changed = list(&evidence["violations"]).map(|one| {
        let action = match one["action"].as_str() {
            Some("create") => "was made",
            Some("update") => "was changed",
            Some("delete") => "was deleted",
            Some("send") => "was sent",
            _ => "was touched",
        };
        let target = string(&one["target"]).unwrap_or_else(|| "something".to_owned());
        let undone = if one["transient"] == true {
            " and undone"
        } else {
            ""
        };
        Violation {
            what: format!("{target} {action}{undone}"),
            event: string(&one["event"]),
        }
    });
    let leaked = list(&evidence["leaks"]).map(|one| {
        let text = |name: &str| string(&one[name]).unwrap_or_default();
        Violation {
            what: format!(
                "{} of {} left by {}: “{}”",
                text("what"),
                text("whose"),
                text("channel"),
                text("excerpt")
            ),
            event: string(&one["event"]),
        }
    });
    changed.chain(leaked).collect()
}

fn row(field: &Value) -> Row {
    let passed = field["passed"] == true;
    let (expected, actual) = (shown(&field["expected"]), shown(&field["actual"]));
    let (expected, actual) = match passed {
        true => (html::short(expected, LONGEST), html::short(actual, LONGEST)),
        false => difference(&expected, &actual),
    };
    Row {
        path: string(&field["path"]).unwrap_or_default(),
        expected,
        actual,
        passed,
    }
}

/// A value as it is compared: text as it is, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Two texts with the part marked in which they differ.
pub fn difference(expected: &str, actual: &str) -> (Html, Html) {
    let one: Vec<char> = expected.chars().take(LONGEST).collect();
    let other: Vec<char> = actual.chars().take(LONGEST).collect();
    let same_begin = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let rest = one.len().min(other.len()) - same_begin;
    let same_end = one.iter().rev().zip(other.iter().rev());
    let same_end = same_end.take_while(|(a, b)| a == b).count().min(rest);
    // Where little is the same, a mark over nearly all of it says nothing.
    let is_close = (same_begin + same_end) * 2 >= one.len().max(other.len());
    let mark = |text: &[char], of: &str| {
        let cut = if of.chars().nth(LONGEST).is_some() {
            "…"
        } else {
            ""
        };
        let mut out = String::new();
        for (place, letter) in text.iter().enumerate() {
            if is_close && place == same_begin && place < text.len() - same_end {
                out.push_str("<mark>");
            }
            html::push(&mut out, *letter);
            if is_close && place + 1 == text.len() - same_end && place >= same_begin {
                out.push_str("</mark>");
            }
        }
        Html::trusted(out + cut)
    };
    (mark(&one, expected), mark(&other, actual))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_spelling_of_field_results_is_read_failed_ones_first() {
        for name in ["fieldResults", "field_results", "assertionResults"] {
            let found = read(&json!({name: [
                {"path": "a", "expected": "x", "actual": "x", "passed": true},
                {"path": "MSH.9", "expected": "ORM^O01", "actual": "ORU^R01", "passed": false},
            ]}));
            let paths: Vec<&str> = found.rows.iter().map(|row| row.path.as_str()).collect();
            assert_eq!(paths, ["MSH.9", "a"], "{name}");
        }
    }

    #[test]
    fn the_part_that_differs_is_marked() {
        let (expected, actual) = difference("ORM^O01", "ORU^R01");
        assert_eq!(expected.as_str(), "OR<mark>M^O</mark>01");
        assert_eq!(actual.as_str(), "OR<mark>U^R</mark>01");
        let (expected, actual) = difference("final", "nothing");
        assert_eq!((expected.as_str(), actual.as_str()), ("final", "nothing"));
        let (expected, actual) = difference("abc", "ab");
        assert_eq!(
            (expected.as_str(), actual.as_str()),
            ("ab<mark>c</mark>", "ab")
        );
    }

    #[test]
    fn what_may_not_have_happened_is_told_with_its_event() {
        let found = read(
            &json!({"violations": [{"action": "delete", "target": "Patient/bob", "event": "evt_1", "transient": false}]}),
        );
        assert_eq!(found.violations[0].what, "Patient/bob was deleted");
        let held = read(&json!({"requires": {"own_score": 1.0, "unmet": ["done"]}}));
        assert_eq!(held.held_back_by, ["done"]);
    }

    proptest! {
        #[test]
        fn marks_are_balanced_and_nothing_else_is_markup(one in any::<String>(), other in any::<String>()) {
            let (a, b) = difference(&one, &other);
            for shown in [a.to_string(), b.to_string()] {
                prop_assert_eq!(shown.matches("<mark>").count(), shown.matches("</mark>").count());
                let rest = shown.replace("<mark>", "").replace("</mark>", "").replace("<span class=cp>", "").replace("</span>", "");
                prop_assert!(!rest.contains('<'));
            }
        }
    }
}
