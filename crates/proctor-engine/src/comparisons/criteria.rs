//! What single criteria scored, by the names that policies use.

use std::collections::HashMap;

use proctor_core::{
    criterion_run,
    definition::{Benchmark, Criterion, Task},
    id::kinds::{CriterionId, TaskId, TaskRunId},
    scoring::DEFAULT_AXIS,
};
use proctor_store::comparisons::CriterionScore;
use serde_json::Value;

use crate::{engine::Engine, error::EngineError};

use super::Side;

/// Whether a policy that says `name` means this criterion: by its key, its id or its label.
pub(super) fn is_called(criterion: &Criterion, name: &str) -> bool {
    criterion.label == name
        || criterion.id.to_string() == name
        || criterion.key.as_deref() == Some(name)
}

/// What every criterion scored in every task run. Of several judgements of one task run the last counts.
#[derive(Default)]
pub(super) struct ScoresByTaskRun(HashMap<TaskRunId, HashMap<CriterionId, CriterionScore>>);

impl ScoresByTaskRun {
    /// Puts scores in the place of earlier ones.
    pub(super) fn extend(&mut self, scores: impl IntoIterator<Item = CriterionScore>) {
        for score in scores {
            let of_task_run = self.0.entry(score.task_run).or_default();
            of_task_run.insert(score.criterion, score);
        }
    }

    /// Adds the scores of other task runs.
    pub(super) fn extend_with(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// What a criterion scored in a task run.
    pub(super) fn get(
        &self,
        task_run: TaskRunId,
        criterion: CriterionId,
    ) -> Option<&CriterionScore> {
        self.0.get(&task_run)?.get(&criterion)
    }
}

/// The criteria that a line with keys is about, with what they scored.
pub(super) struct KeyedScores<'a> {
    chosen: HashMap<TaskId, Vec<(CriterionId, f64)>>,
    scores: &'a ScoresByTaskRun,
}

impl<'a> KeyedScores<'a> {
    /// The criteria of a definition that have one of these keys and are on this axis.
    pub(super) fn of(
        definition: &Benchmark,
        keys: &[String],
        axis: Option<&str>,
        scores: &'a ScoresByTaskRun,
    ) -> Self {
        let of_task = |task: &Task| -> Vec<(CriterionId, f64)> {
            let criteria = task.criteria.iter().filter(|criterion| {
                let is_on_axis = axis.is_none_or(|axis| is_on(criterion, axis));
                is_on_axis && keys.iter().any(|key| is_called(criterion, key))
            });
            criteria
                .map(|criterion| (criterion.id, criterion.weight.value()))
                .collect()
        };
        let tasks = definition.tasks.iter();
        let chosen = tasks.map(|task| (task.id, of_task(task)));
        Self {
            chosen: chosen
                .filter(|(_, criteria)| !criteria.is_empty())
                .collect(),
            scores,
        }
    }

    /// Whether a task has such a criterion.
    pub(super) fn asks_about(&self, task: TaskId) -> bool {
        self.chosen.contains_key(&task)
    }

    /// The weighted mean of a task's criteria of this kind; the plain one if none of them has a weight.
    pub(super) fn mean(&self, task: TaskId, task_run: TaskRunId) -> Option<f64> {
        let chosen = self.chosen.get(&task)?;
        let total: f64 = chosen.iter().map(|(_, weight)| weight).sum();
        let (mut sum, mut weights) = (0.0, 0.0);
        for (criterion, weight) in chosen {
            let weight = if total > 0.0 { *weight } else { 1.0 };
            sum += weight * self.scores.get(task_run, *criterion)?.score;
            weights += weight;
        }
        Some((sum / weights).clamp(0.0, 1.0))
    }
}

/// Whether a criterion counts on an axis.
pub(super) fn is_on(criterion: &Criterion, axis: &str) -> bool {
    criterion.axis.as_deref().unwrap_or(DEFAULT_AXIS) == axis
}

/// Whether a criterion was missed by its own check: a 0 that comes only from what it requires is no miss.
pub(super) fn is_missed(found: &CriterionScore) -> bool {
    let evidence = found.evidence.as_ref().unwrap_or(&Value::Null);
    criterion_run::is_missed(found.score, evidence)
}

impl Engine {
    /// What every criterion scored in the runs of a side.
    pub(super) async fn scores_of(&self, side: &Side) -> Result<ScoresByTaskRun, EngineError> {
        let mut scores = ScoresByTaskRun::default();
        for run in &side.runs {
            scores.extend(self.store().criterion_scores(run.id).await?);
        }
        Ok(scores)
    }
}
