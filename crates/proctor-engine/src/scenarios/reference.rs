//! What is known of scorers from the reference: whether they take too long even where the scenario is solved as its author solves it.
//!
//! Nothing is run to find out. What nobody knows is the agent's: else an agent could have everything left out that makes scorers slow.

use proctor_core::{
    definition::{Task, Validation},
    job::Program,
    task_run::{SlowScoring, TaskRun},
};

use super::validate::{LABEL, REFERENCE, UNTOUCHED};
use crate::{engine::Engine, error::EngineError};

/// How many of the newest task runs that timed out are looked at.
const LOOKED_AT: u32 = 100;

impl Engine {
    /// Why the scorers of a task run took too long in a box that works, as far as it is known.
    pub(crate) async fn slow_scoring(
        &self,
        task_run: &TaskRun,
    ) -> Result<SlowScoring, EngineError> {
        let prepared = self.definition_of_task_run(task_run).await?;
        let (task, _) = prepared.task(task_run.task)?;
        if self.is_of_reference(task_run, task).await? {
            return Ok(SlowScoring::ScorersOfReference);
        }
        let slow = self.store().timed_out_task_runs(task.id, LOOKED_AT).await?;
        for other in slow.iter().filter(|other| other.timed_out_in_scoring()) {
            let prepared = self.definition_of_task_run(other).await?;
            let (same, _) = prepared.task(other.task)?;
            // An edited scenario is another one.
            if same == task && self.is_of_reference(other, task).await? {
                return Ok(SlowScoring::ScorersOfReference);
            }
        }
        Ok(SlowScoring::Scorers)
    }

    /// Whether a task run was solved by the reference of its task: by a validation, or by the oracle of a job.
    async fn is_of_reference(&self, task_run: &TaskRun, task: &Task) -> Result<bool, EngineError> {
        let solved = match task.validation {
            Some(Validation::Reverse) => UNTOUCHED,
            _ => REFERENCE,
        };
        let label = task_run.particulars.metadata.get(LABEL);
        if label.is_some_and(|label| label == solved) {
            return Ok(true);
        }
        let Some(run) = task_run.run else {
            return Ok(false);
        };
        let run = self.store().run(run).await?;
        let Some((id, Some(job))) = run.map(|run| (run.value.id, run.value.job)) else {
            return Ok(false);
        };
        let job = self.read_job(job).await?.value;
        let agent = job.plan.agent_of(id);
        Ok(agent.is_some_and(|agent| agent.program == Program::Oracle))
    }
}
