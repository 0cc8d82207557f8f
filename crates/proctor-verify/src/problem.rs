//! What is wrong with an assertion, and where.

use std::fmt;

use serde_json::{Value, json};

/// One thing that is wrong with an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, from the assertion down: `fields.0.expected`; empty for the assertion itself.
    pub path: String,
    /// What is wrong there, and what would be right.
    pub message: String,
}

impl Problem {
    /// The problem as evidence shows it.
    pub(crate) fn to_value(&self) -> Value {
        json!({"path": self.path, "message": self.message})
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Several problems in one sentence.
pub(crate) fn in_words(problems: &[Problem]) -> String {
    let said: Vec<String> = problems.iter().map(Problem::to_string).collect();
    said.join("; ")
}
