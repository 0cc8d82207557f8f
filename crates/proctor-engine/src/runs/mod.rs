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
mod judge;
mod rank;
mod rescore;
mod start;

pub(crate) use self::start::playground_of;
pub use self::{
    complete::Completed,
    create::{Created, NewRun, Taken},
    find::RunDetails,
    rescore::{Rescored, Rubrics},
    start::StartedTask,
};

use std::sync::Arc;

use proctor_core::{id::kinds::RunId, run::Run, task_run::TaskRun};
use proctor_store::runs::Revised;

use crate::{catalog::Prepared, engine::Engine, error::EngineError};

/// How often a decision is made again because somebody else was first.
const TRIES: usize = 32;

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

    /// The run before and after, when all of `task_runs` settle it or it changed otherwise.
    fn change_of_run(&self, after: Run) -> Option<(Revised<Run>, Run)> {
        (after != self.run.value).then(|| (self.run.clone(), after))
    }
}

impl Engine {
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
