//! What is known of scorers from the reference: whether they take too long even where the scenario is solved as its author solves it.
//!
//! Nothing is run to find out. What nobody knows is the agent's: else an agent could have everything left out that makes scorers slow.

use proctor_core::{
    canonical::Digest,
    definition::{Task, Validation},
    job::Program,
    task_run::{SlowScoring, TaskRun},
};

use super::validate::{LABEL, REFERENCE, UNTOUCHED};
use crate::{engine::Engine, error::EngineError, runs::TaskRunSnapshot};

/// Why scorers took too long that themselves said so.
pub(crate) struct SlowScorers {
    /// What it means for the task run.
    pub(crate) why: SlowScoring,
    /// The digest of the frozen task, if this is news about its reference.
    pub(crate) of_reference: Option<Digest>,
}

impl Engine {
    /// Why the scorers of a task run took too long in a box that works. What was solved by the reference shows whose fault it is
    /// from then on.
    pub(crate) async fn slow_scorers(
        &self,
        snapshot: &TaskRunSnapshot,
    ) -> Result<SlowScorers, EngineError> {
        let task_run = snapshot.value();
        let (task, _) = snapshot.prepared.task(task_run.task)?;
        if self.is_of_reference(task_run, task).await? {
            return Ok(SlowScorers {
                why: SlowScoring::ScorersOfReference,
                of_reference: Some(digest(task)?),
            });
        }
        Ok(SlowScorers {
            why: self.slow_scoring(snapshot).await?,
            of_reference: None,
        })
    }

    /// Why judging a task run took longer than it may, as far as it is known. That its clock ran out says nothing about its scorers.
    pub(crate) async fn slow_scoring(
        &self,
        snapshot: &TaskRunSnapshot,
    ) -> Result<SlowScoring, EngineError> {
        let (task, _) = snapshot.prepared.task(snapshot.value().task)?;
        // An edited scenario is another one.
        let is_known = self.store().is_slow_on_reference(&digest(task)?).await?;
        Ok(match is_known {
            true => SlowScoring::ScorersOfReference,
            false => SlowScoring::Scorers,
        })
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

/// What names a frozen task with all that it says.
fn digest(task: &Task) -> Result<Digest, EngineError> {
    let document = serde_json::to_value(task);
    let document = document.map_err(|error| EngineError::Fault(error.to_string()))?;
    Ok(Digest::of(&document))
}
