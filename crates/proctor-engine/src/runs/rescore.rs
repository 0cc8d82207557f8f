//! Judging again what was judged before: the same frozen world, by its own rubric or a corrected
//! one. The original record is not touched.

use proctor_core::{
    criterion_run::CriterionRun, definition::Task, id::kinds::TaskRunId, refused::Refused,
    scoring::Scorecard,
};
use proctor_playground::world;
use proctor_verify::Rubric;

use super::{judge::judge, start::playground_of};
use crate::{engine::Engine, error::EngineError};

/// By which rubric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rubrics {
    /// By the one of the frozen definition.
    Own,
    /// By the draft's criteria of the same task, as they stand.
    Draft,
}

/// What judging again found.
pub struct Rescored {
    /// The task whose criteria were used.
    pub task: Task,
    /// What was found.
    pub criterion_runs: Vec<CriterionRun>,
    /// The score that follows.
    pub card: Scorecard,
    /// The score on record.
    pub original: Option<Scorecard>,
    /// How it was done, if in a box.
    pub in_box: Option<InBox>,
}

/// How scorers were run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InBox {
    /// In which way, which need not be the way of the first time: the agent's own box is not there any more.
    pub mode: String,
    /// Whether the time was over before all were done.
    pub timed_out: bool,
}

impl Engine {
    /// Judges a task run again.
    pub async fn rescore(&self, id: TaskRunId, by: Rubrics) -> Result<Rescored, EngineError> {
        let task_run = self
            .store()
            .task_run(id)
            .await?
            .ok_or(EngineError::NotFound("task run"))?
            .value;
        let run = task_run.run.ok_or(EngineError::NotFound("task run"))?;
        let standing = self.current(run).await?;
        let task_run = standing
            .task_runs
            .iter()
            .find(|one| one.value.id == id)
            .map_or(task_run, |one| one.value.clone());
        if task_run.devbox.is_some() {
            return self.rescore_in_box(id, by).await;
        }
        if !task_run.is_over() {
            return Err(EngineError::Unclear(
                "the task run is not over; it can be scored again when it is".to_owned(),
            ));
        }
        if task_run.started_at().is_none() {
            return Err(Refused::TaskRunNotStarted.into());
        }
        let beginning = self.beginning(&task_run, &standing.prepared)?;
        let (own, prepared) = standing.prepared.task(task_run.task)?;
        let draft;
        let (task, rubric) = match by {
            Rubrics::Own => (own, &prepared.rubric),
            Rubrics::Draft => {
                let benchmark = standing.run.value.pinned.benchmark;
                let owner = self.store().owner_of_benchmark(benchmark).await?;
                let owner = owner.ok_or(EngineError::NotFound("benchmark"))?;
                let task = self.with_draft_criteria(owner, benchmark, own).await?;
                let rubric = Rubric::compile(&task);
                draft = (task, rubric);
                (&draft.0, &draft.1)
            }
        };
        let origin = self.inner.worlds.origin(playground_of(id), &beginning);
        let journal = &self.inner.worlds.around().journal;
        let (contents, frozen_at) = world::frozen(&origin, journal).await?;
        let frozen_at = frozen_at
            .or_else(|| task_run.ended_at())
            .unwrap_or_else(|| self.now());
        let began = self.now();
        let judged = judge(rubric, &task_run, &contents.exhibits(frozen_at))?;
        Ok(Rescored {
            task: task.clone(),
            card: judged.scorecard,
            criterion_runs: self.criterion_runs(id, judged.findings, began),
            original: task_run.card().cloned(),
            in_box: None,
        })
    }
}
