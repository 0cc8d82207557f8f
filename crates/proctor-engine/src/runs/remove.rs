//! A run that nobody needs any more is removed, with everything that belongs to it alone.

use proctor_core::id::kinds::RunId;
use proctor_macros::boxed_futures;
use proctor_store::run_removal::NotRemoved;

use super::playground_of;
use crate::{engine::Engine, error::EngineError};

#[boxed_futures]
impl Engine {
    /// Removes a run that is over. What a job made goes with the job, and what is on a leaderboard stays.
    pub async fn remove_run(&self, run: RunId) -> Result<(), EngineError> {
        let refused = |message: &str| Err(EngineError::Unclear(message.to_owned()));
        match self.store().remove_run(run).await? {
            Ok(task_runs) => {
                self.inner.routes.forget(run);
                for task_run in task_runs {
                    self.inner.worlds.close(playground_of(task_run));
                }
                Ok(())
            }
            Err(NotRemoved::Unknown) => Err(EngineError::NotFound("benchmark run")),
            Err(NotRemoved::Open) => refused("the run is not over; complete or cancel it first"),
            Err(NotRemoved::OfJob) => refused("the run belongs to a job, whose numbers need it"),
            Err(NotRemoved::Ranked) => refused("the run is on a leaderboard; unpublish it first"),
        }
    }
}
