//! Runs: how they are made, started, completed, cancelled, and ended when nobody does.
//!
//! One file for each thing that can happen. All go the same way: read what stands, ask the state
//! machines of `proctor-core`, write what they decided over what was read; if somebody else was
//! first, read again.

mod cancel;
mod complete;
mod create;
mod expire;
mod find;
pub(crate) mod judge;
mod rank;
mod rescore;
mod start;

pub(crate) use self::start::playground_of;
pub use self::{
    complete::Completed,
    create::{Created, NewRun, Taken},
    find::RunDetails,
    rescore::{InBox, Rescored, Rubrics},
    start::StartedTask,
};

use std::sync::Arc;

use proctor_core::{
    definition::Task,
    id::kinds::{RunId, TaskRunId},
    refused::Step,
    run::Run,
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_store::{
    StoreError,
    runs::{Progress, Revised},
};

use crate::{catalog::Prepared, engine::Engine, error::EngineError};

/// How often a decision is made again because somebody else was first.
pub(crate) const TRIES: usize = 32;

/// A run with its task runs as they stand, and the definition it is of.
pub(crate) struct Standing {
    pub(crate) run: Revised<Run>,
    pub(crate) task_runs: Vec<Revised<TaskRun>>,
    pub(crate) prepared: Arc<Prepared>,
}

impl Standing {
    /// The task runs, with `changed` in place of the one it was.
    fn with(&self, changed: &TaskRun) -> Vec<TaskRun> {
        self.task_runs
            .iter()
            .map(|one| {
                if one.value.id == changed.id {
                    changed.clone()
                } else {
                    one.value.clone()
                }
            })
            .collect()
    }

    /// All task runs after `step`, and before and after those that it changed.
    pub(crate) fn step_all(
        &self,
        step: impl Fn(TaskRun) -> Step<TaskRun>,
    ) -> (Vec<(Revised<TaskRun>, TaskRun)>, Vec<TaskRun>) {
        let (mut changed, mut all) = (Vec::new(), Vec::new());
        for before in &self.task_runs {
            let after = step(before.value.clone());
            let is_changed = after.is_changed();
            let after = after.into_inner();
            if is_changed {
                changed.push((before.clone(), after.clone()));
            }
            all.push(after);
        }
        (changed, all)
    }

    /// The tasks that are to be taken before the run completes by itself.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &Task> {
        self.run.value.wanted(&self.prepared.benchmark)
    }

    /// The task runs.
    pub(crate) fn values(&self) -> Vec<TaskRun> {
        self.task_runs.iter().map(|one| one.value.clone()).collect()
    }

    /// One of the run's task runs.
    fn task_run(&self, id: TaskRunId) -> Result<&Revised<TaskRun>, EngineError> {
        let mut task_runs = self.task_runs.iter();
        task_runs
            .find(|one| one.value.id == id)
            .ok_or(EngineError::NotFound("task run"))
    }

    /// The run before and after, if it changed: for what is right whatever becomes of the other task runs.
    pub(crate) fn change_of_run(&self, after: Run) -> Option<(Revised<Run>, Run)> {
        (after != self.run.value).then(|| (self.run.clone(), after))
    }

    /// The run over itself as it was read, also when it stays as it is. What is decided about a task run follows from the
    /// others: two such decisions at once must not both be right.
    pub(crate) fn over_run(&self, after: Run) -> Option<(Revised<Run>, Run)> {
        Some((self.run.clone(), after))
    }
}

/// What was decided about a run.
pub(crate) enum Decided<T> {
    /// It stands as it is.
    Unchanged(T),
    /// This is to be written.
    Changed(Box<Progress>, T),
}

impl Engine {
    /// Decides about a run as it stands, writes what follows, and freezes the worlds of task runs that
    /// ended with it; decides again if somebody else was first.
    pub(crate) async fn decide<T>(
        &self,
        run: RunId,
        decide: impl Fn(&Standing, Timestamp) -> Result<Decided<T>, EngineError>,
    ) -> Result<T, EngineError> {
        for _ in 0..TRIES {
            let standing = self.current(run).await?;
            let (progress, answer) = match decide(&standing, self.now())? {
                Decided::Unchanged(answer) => return Ok(answer),
                Decided::Changed(progress, answer) => (progress, answer),
            };
            match self.store().record(&progress).await {
                Ok(()) => {
                    self.freeze_worlds(&progress, &standing).await;
                    return Ok(answer);
                }
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Stale.into())
    }

    pub(crate) async fn standing(&self, run: RunId) -> Result<Standing, EngineError> {
        let run = self
            .store()
            .run(run)
            .await?
            .ok_or(EngineError::NotFound("benchmark run"))?;
        let task_runs = self.store().task_runs(run.value.id).await?;
        let prepared = self
            .inner
            .catalog
            .benchmark(self.store(), &run.value.pinned.digest)
            .await?;
        Ok(Standing {
            run,
            task_runs,
            prepared,
        })
    }
}
