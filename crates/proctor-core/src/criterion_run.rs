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
