//! What a check found out.

use proctor_core::{
    criterion_run::{OWN_SCORE, REQUIRES},
    scoring::Score,
};
use serde_json::{Value, json};

/// What a check found out about a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The share that holds.
    pub score: Score,
    /// The finding in words.
    pub details: String,
    /// What was found.
    pub evidence: Value,
}

impl Outcome {
    /// `held` of `asked` sub-assertions hold; with nothing asked the target's being there was all.
    pub fn share(held: usize, asked: usize, details: String, evidence: Value) -> Self {
        let share = if held == asked {
            1.0
        } else {
            held as f64 / asked as f64
        };
        Self {
            score: Score::new(share).expect("no more holds than was asked"),
            details,
            evidence,
        }
    }

    /// It does not count, because the criteria with these keys are not met. Its own score stays on record.
    pub(crate) fn hold_back(&mut self, unmet: &[&str]) {
        let own = std::mem::replace(&mut self.score, Score::ZERO);
        let keys: Vec<String> = unmet.iter().map(|key| format!("'{key}'")).collect();
        let (verb, noun) = match unmet.len() {
            1 => ("is", "a criterion"),
            _ => ("are", "criteria"),
        };
        self.details = format!(
            "does not count, because {noun} that it requires {verb} not met ({}); by itself: {}",
            keys.join(", "),
            self.details
        );
        if let Value::Object(evidence) = &mut self.evidence {
            let held_back = json!({"unmet": unmet, OWN_SCORE: own.value()});
            evidence.insert(REQUIRES.to_owned(), held_back);
        }
    }

    /// Nothing holds.
    pub fn nothing(details: String, evidence: Value) -> Self {
        Self {
            score: Score::ZERO,
            details,
            evidence,
        }
    }
}
