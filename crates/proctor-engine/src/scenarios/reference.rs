//! What is known of scorers from the reference: whether they take too long, or cannot even be started, where the scenario is solved as its
//! author solves it.
//!
//! Nothing is run to find out. What nobody knows is the agent's: else an agent could have everything left out that makes scorers slow, or that it
//! takes away from under them.

use std::collections::BTreeSet;

use proctor_core::{
    canonical::Digest,
    definition::{Task, Validation},
    id::kinds::CriterionId,
    job::Program,
    scorer::NotRun,
    task_run::{Cause, Fault, SlowScoring, TaskRun},
};
use proctor_harbor::exceptions::ExceptionType;
use proctor_store::progress::UnrunReference;

use super::validate::{LABEL, REFERENCE, UNTOUCHED};
use crate::{engine::Engine, error::EngineError, harbor, runs::TaskRunSnapshot};

/// Why scorers took too long that themselves said so.
pub(crate) struct SlowScorers {
    /// What it means for the task run.
    pub(crate) why: SlowScoring,
    /// The digest of the frozen task, if this is news about its reference.
    pub(crate) of_reference: Option<Digest>,
}

/// What follows from scorers that did not even run.
#[derive(Default)]
pub(crate) struct UnrunScorers {
    /// Why the score says nothing about the agent, if it does not.
    pub(crate) fault: Option<Fault>,
    /// What is to be remembered of the reference, if this is news about it.
    pub(crate) of_reference: Option<UnrunReference>,
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

    /// What it means for a task run that these of its scorers did not even run. Those that could not be started on the newest reference either, or can be
    /// run nowhere, are not the agent's doing. The others are worth 0, as everything is that an agent breaks.
    pub(crate) async fn unrun_scorers(
        &self,
        snapshot: &TaskRunSnapshot,
        not_run: &[(CriterionId, NotRun)],
    ) -> Result<UnrunScorers, EngineError> {
        let task_run = snapshot.value();
        let (task, _) = snapshot.prepared.task(task_run.task)?;
        // A validation is told by its label. Whether an oracle was at work must be looked up, which scorers that run are not worth.
        let is_reference = match not_run {
            [] => is_validation(task_run, task),
            _ => self.is_of_reference(task_run, task).await?,
        };
        if not_run.is_empty() && !is_reference {
            return Ok(UnrunScorers::default());
        }
        let digest = digest(task)?;
        let here: Vec<CriterionId> = not_run
            .iter()
            .filter(|(_, why)| *why == NotRun::Here)
            .map(|(scorer, _)| *scorer)
            .collect();
        let on_reference: BTreeSet<CriterionId> = match (is_reference, here.is_empty()) {
            (true, _) => here.iter().copied().collect(),
            (false, true) => BTreeSet::new(),
            (false, false) => self.store().unrun_on_reference(&digest).await?,
        };
        let is_nobodys = |scorer: CriterionId| {
            let found = not_run.iter().find(|(id, _)| *id == scorer);
            found.is_some_and(|(_, why)| match why {
                NotRun::Here => on_reference.contains(&scorer),
                NotRun::Anywhere => true,
            })
        };
        let criteria = task.criteria.iter();
        let names: Vec<&str> = criteria
            .filter(|criterion| is_nobodys(criterion.id))
            .map(|criterion| criterion.label.as_str())
            .collect();
        Ok(UnrunScorers {
            fault: (!names.is_empty()).then(|| Fault::scorers_not_run(&names)),
            of_reference: is_reference.then_some(UnrunReference {
                task: digest,
                task_run: task_run.id,
                scorers: here,
            }),
        })
    }

    /// Whose fault it is that a verifier came to no reward: the task's only if its reference meets the same.
    pub(crate) async fn verifier_fault(
        &self,
        task_run: &TaskRun,
        task: &Task,
        exception: ExceptionType,
        message: &str,
    ) -> Result<Fault, EngineError> {
        let is_reference = self.is_of_reference(task_run, task).await?;
        let digest = digest(task)?;
        if is_reference && exception.cause(true) == Cause::ScorerError {
            self.store()
                .note_bad_reference(&digest, task_run.id)
                .await?;
        }
        let happens = is_reference || self.store().is_slow_on_reference(&digest).await?;
        Ok(harbor::fault(exception, message, happens))
    }

    /// Whether a task run was solved by the reference of its task: by a validation, or by the oracle of a job.
    async fn is_of_reference(&self, task_run: &TaskRun, task: &Task) -> Result<bool, EngineError> {
        if is_validation(task_run, task) {
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

/// Whether a validation solved the task by its reference.
fn is_validation(task_run: &TaskRun, task: &Task) -> bool {
    let solved = match task.validation {
        Some(Validation::Reverse) => UNTOUCHED,
        _ => REFERENCE,
    };
    let label = task_run.particulars.metadata.get(LABEL);
    label.is_some_and(|label| label == solved)
}

/// What names a frozen task with all that it says.
fn digest(task: &Task) -> Result<Digest, EngineError> {
    let document = serde_json::to_value(task);
    let document = document.map_err(|error| EngineError::Fault(error.to_string()))?;
    Ok(Digest::of(&document))
}
