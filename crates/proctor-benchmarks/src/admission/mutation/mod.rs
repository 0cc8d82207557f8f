//! Mutants of the solution: each call that changes or sends something is left out, and each value in it changed. A rubric
//! that notices neither does not look there.

mod segments;
mod values;

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
    pub(super) equivalent: Vec<String>,
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
        equivalent: Vec::new(),
        unnoticed: Vec::new(),
    };
    let mut judge = |name: String, program: &[Move]| -> Result<(), AdmissionError> {
        let attempt = trial.run(program)?;
        if attempt.outcome() == original {
            mutation.equivalent.push(name);
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
        for (path, body) in changed_bodies(&trial.program[place].call.body, &made.body) {
            let mut program = trial.program.clone();
            program[place].call.body = body;
            judge(format!("{named} with another {path}"), &program)?;
        }
    }
    Ok(mutation)
}

/// Every body that differs in one value from one that was sent: which value, and the body. `sent` has its templates filled, so
/// that a changed value is one that an agent could have written.
fn changed_bodies(written: &Body, sent: &Value) -> Vec<(String, Body)> {
    match (written, sent) {
        (Body::Nothing, _) => Vec::new(),
        (Body::Text(_), Value::String(text)) => {
            let changed = segments::changed(text).into_iter().take(MOST_VALUES);
            changed
                .map(|(path, text)| (path, Body::Text(text)))
                .collect()
        }
        (_, sent) => {
            let changed = values::changed(sent).into_iter().take(MOST_VALUES);
            changed
                .map(|(path, body)| (path, Body::Json(body)))
                .collect()
        }
    }
}

impl Mutation {
    /// Those that are named.
    pub(super) fn told(unnoticed: &[String]) -> &[String] {
        &unnoticed[..unnoticed.len().min(MOST_TOLD)]
    }
}
