//! A criterion checked once: the record behind every point.

use serde_json::Value;

use crate::{
    id::kinds::{CriterionId, CriterionRunId, TaskRunId},
    scoring::Score,
    time::Timestamp,
};

/// A criterion checked once. It is written together with its task run's score and never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct CriterionRun {
    /// Its name.
    pub id: CriterionRunId,
    /// The task run whose world was checked.
    pub task_run: TaskRunId,
    /// What was checked, as frozen in the run's definition.
    pub criterion: CriterionId,
    /// Whether everything it asks for holds.
    pub passed: bool,
    /// The share that holds.
    pub score: Score,
    /// The finding in words, for people.
    pub details: String,
    /// What was found, for programs.
    pub evidence: Value,
    /// When checking began.
    pub started_at: Timestamp,
    /// When it was done.
    pub completed_at: Timestamp,
}

/// The member of a criterion run's evidence that tells what it counts without, and what it would have counted.
pub const REQUIRES: &str = "requires";
/// The member of [`REQUIRES`] with the score of the criterion's own check.
pub const OWN_SCORE: &str = "own_score";

impl CriterionRun {
    /// Whether its own check found something missing. A criterion that counts 0 only because another one is not met was
    /// not missed.
    pub fn is_missed(&self) -> bool {
        is_missed(self.score.value(), &self.evidence)
    }
}

/// The same of a finding that is not on record.
pub fn is_missed(score: f64, evidence: &Value) -> bool {
    let own = evidence
        .get(REQUIRES)
        .and_then(|held_back| held_back.get(OWN_SCORE));
    let own = own.and_then(Value::as_f64).unwrap_or(score);
    own < 1.0
}
