//! Mutants of the solution: each call that changes or sends something is left out, and each value in it changed. A rubric
//! that notices neither does not look there.

use serde_json::Value;

use super::{
    AdmissionError, NOTICED,
    attempt::{Attempt, Move, Trial},
    note,
};
use crate::solution::Body;

/// The most values of one call that are changed.
const MOST_VALUES: usize = 60;
/// The most mutants that are named.
const MOST_TOLD: usize = 20;

/// What came of the mutants of a solution.
pub(super) struct Mutation {
    pub(super) mutants: usize,
    pub(super) equivalent: usize,
    pub(super) unnoticed: Vec<String>,
}

/// The smallest share of mutants that must be noticed.
pub(super) const fn least() -> f64 {
    NOTICED
}

/// Tries all mutants.
pub(super) fn run(
    trial: &Trial,
    oracle: &Attempt,
    noticed: &mut [bool],
) -> Result<Mutation, AdmissionError> {
    let original = oracle.outcome();
    let mut mutation = Mutation {
        mutants: 0,
        equivalent: 0,
        unnoticed: Vec::new(),
    };
    let mut judge = |name: String, program: &[Move]| -> Result<(), AdmissionError> {
        let attempt = trial.run(program)?;
        if attempt.outcome() == original {
            mutation.equivalent += 1;
            return Ok(());
        }
        mutation.mutants += 1;
        note(oracle, &attempt, noticed);
        let is_noticed = attempt.score() < oracle.score() || !attempt.passes();
        if !is_noticed {
            mutation.unnoticed.push(name);
        }
        Ok(())
    };
    let effects = oracle
        .made
        .iter()
        .enumerate()
        .filter(|(_, made)| made.has_effect);
    for (place, made) in effects {
        let named = format!("call {} ({} {})", place + 1, made.method, made.path);
        let mut without = trial.program.clone();
        without.remove(place);
        judge(format!("{named} left out"), &without)?;
        let Body::Json(body) = &trial.program[place].call.body else {
            continue;
        };
        for number in 0..scalars(body).min(MOST_VALUES) {
            let mut changed = body.clone();
            let mut which = number;
            let Some(path) = change(&mut changed, &mut which, "") else {
                continue;
            };
            let mut program = trial.program.clone();
            program[place].call.body = Body::Json(changed);
            judge(format!("{named} with another {path}"), &program)?;
        }
    }
    Ok(mutation)
}

impl Mutation {
    /// Those that are named.
    pub(super) fn told(unnoticed: &[String]) -> &[String] {
        &unnoticed[..unnoticed.len().min(MOST_TOLD)]
    }
}

fn scalars(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(scalars).sum(),
        Value::Object(members) => members.values().map(scalars).sum(),
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Changes the scalar with this number; its path.
fn change(value: &mut Value, which: &mut usize, path: &str) -> Option<String> {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Array(items) => {
            let mut items = items.iter_mut().enumerate();
            items.find_map(|(place, item)| change(item, which, &below(&place.to_string())))
        }
        Value::Object(members) => {
            let mut members = members.iter_mut();
            members.find_map(|(name, member)| change(member, which, &below(name)))
        }
        Value::Null => None,
        scalar => {
            if *which > 0 {
                *which -= 1;
                return None;
            }
            *scalar = match &*scalar {
                Value::Bool(flag) => (!flag).into(),
                Value::Number(number) => (number.as_f64().unwrap_or_default() + 1.0).into(),
                Value::String(text) => altered(text).into(),
                _ => Value::Null,
            };
            Some(path.to_owned())
        }
    }
}

/// Another text of the same form: what it says is another, and dates stay dates.
fn altered(text: &str) -> String {
    let last = text
        .char_indices()
        .rev()
        .find(|(_, letter)| letter.is_ascii_digit());
    if let Some((place, digit)) = last.filter(|_| !text.contains("{{")) {
        let other = if digit == '1' { "2" } else { "1" };
        return format!("{}{other}{}", &text[..place], &text[place + 1..]);
    }
    match text.contains("{{") {
        true => format!("{text}-x"),
        false => format!("not {text}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_is_changed_in_its_turn() {
        let body = json!({"a": [1, true], "b": {"c": "2026-01-05", "d": null}});
        assert_eq!(scalars(&body), 3);
        let changed = |number: usize| {
            let (mut body, mut which) = (body.clone(), number);
            let path = change(&mut body, &mut which, "");
            (path, body)
        };
        assert_eq!(
            changed(0),
            (
                Some("a.0".to_owned()),
                json!({"a": [2.0, true], "b": {"c": "2026-01-05", "d": null}})
            )
        );
        assert_eq!(changed(1).0.as_deref(), Some("a.1"));
        assert_eq!(changed(2).1["b"]["c"], "2026-01-01");
        assert_eq!(changed(3).0, None);
    }
}
