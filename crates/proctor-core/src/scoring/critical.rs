//! Criteria that no score makes up for.

use serde::{Deserialize, Serialize};

use crate::id::kinds::{CriterionId, TaskId};

/// How many missed critical criteria the scorecard of a run keeps; that there are any is what decides.
pub(super) const MOST_OF_A_RUN: usize = 100;
/// How much of a finding is kept as the reason, in characters.
const LONGEST_WHY: usize = 500;

/// A critical criterion that was missed: it caps the verdict at `fail`, whatever the score is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalMiss {
    /// The task that it belongs to.
    pub task: TaskId,
    /// Which criterion.
    pub criterion: CriterionId,
    /// Its short name inside the task, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What people call it.
    pub label: String,
    /// What was found, in words.
    pub why: String,
}

impl CriticalMiss {
    /// The miss of a criterion with this finding.
    pub fn new(task: TaskId, criterion: &crate::definition::Criterion, details: &str) -> Self {
        let why = match details.char_indices().nth(LONGEST_WHY) {
            Some((end, _)) => format!("{}…", &details[..end]),
            None => details.to_owned(),
        };
        Self {
            task,
            criterion: criterion.id,
            key: criterion.key.clone(),
            label: criterion.label.clone(),
            why,
        }
    }

    /// What names it in a list: its key, or else its label.
    pub fn name(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.label)
    }

    /// The miss as one sentence: what was missed, and what was found.
    pub fn in_words(&self) -> String {
        format!("{}: {}", self.label, self.why)
    }
}
