//! What a check found out.

use proctor_core::scoring::Score;
use serde_json::Value;

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

    /// Nothing holds.
    pub fn nothing(details: String, evidence: Value) -> Self {
        Self {
            score: Score::ZERO,
            details,
            evidence,
        }
    }
}
