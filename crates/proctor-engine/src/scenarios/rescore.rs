//! Judging a scenario run again, on the disk that was kept when it was judged. Nothing is written.

use proctor_core::{
    definition::Task,
    id::kinds::{OrganizationId, TaskRunId},
    task_run::TaskRunState,
};
use proctor_store::run_lists::OwnedTaskRun;
use proctor_verify::Rubric;

use super::{
    BoxError, ScenarioRun, ScoredFunction, ScoringError, ScoringOrder, find::functions,
    score::Judged,
};
use crate::{
    authoring,
    engine::Engine,
    error::EngineError,
    runs::{InBox, Rescored, Rubrics},
};

/// A scenario run that was judged again, beside what is on record.
pub struct RescoredScenario {
    /// What was found this time.
    pub again: Rescored,
    /// What each scorer said this time.
    pub functions: Vec<ScoredFunction>,
    /// The scenario run as it stands.
    pub original: ScenarioRun,
}

impl Engine {
    /// Judges one of the organization's scenario runs again.
    pub async fn rescore_scenario(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
        by: Rubrics,
    ) -> Result<RescoredScenario, EngineError> {
        let original = self.scenario_run(organization, id).await?;
        if by == Rubrics::Draft {
            let scenario = original.task_run.task;
            let draft = self.store().scenario(organization, scenario).await?;
            draft.ok_or(EngineError::NotFound("scenario"))?;
        }
        let again = self.rescore_in_box(id, by).await?;
        let functions = functions(&again.task, again.criterion_runs.clone());
        Ok(RescoredScenario {
            again,
            functions,
            original,
        })
    }

    /// Judges a task run in a box again.
    pub(crate) async fn rescore_in_box(
        &self,
        id: TaskRunId,
        by: Rubrics,
    ) -> Result<Rescored, EngineError> {
        let OwnedTaskRun {
            organization,
            task_run,
        } = self.boxed(id).await?;
        let task_run = task_run.value;
        if let TaskRunState::Scoring { .. } = task_run.state {
            let message =
                "the scenario run is being scored; it can be scored again when that is done";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let prepared = self.definition_of_task_run(&task_run).await?;
        let (own, _) = prepared.task(task_run.task)?;
        let task = match by {
            Rubrics::Own => own.clone(),
            // The criteria, and how they want to be checked; where it happened stays as it was.
            Rubrics::Draft => Task {
                world: own.world.clone(),
                ..authoring::draft_of_scenario(self.store(), task_run.task).await?
            },
        };
        let devbox = task_run
            .devbox
            .ok_or_else(|| EngineError::Fault("a task run in a box without a box".to_owned()))?;
        let cancel = self.inner.closing.child_token();
        let order = ScoringOrder {
            organization,
            task_run: id,
            devbox,
            time_limit: task.scoring_limit(),
            cancel: cancel.clone(),
            task: task.clone(),
        };
        let began = self.now();
        let judge = self.workshop()?.judge.clone();
        // In a task of its own: a caller who leaves ends it, instead of leaving its boxes behind.
        let leaving = cancel.drop_guard();
        let scoring = self
            .inner
            .tasks
            .spawn(async move { judge.rescore(order).await });
        let scoring = scoring
            .await
            .map_err(|error| EngineError::Fault(error.to_string()))?
            .map_err(not_rescored)?;
        drop(leaving);
        let rubric = Rubric::compile(&task);
        let judged = Judged {
            task: &task,
            rubric: &rubric,
            task_run: &task_run,
            began,
        };
        let (card, criterion_runs) = self.judged(&judged, &scoring)?;
        Ok(Rescored {
            criterion_runs,
            card,
            original: task_run.card().cloned(),
            in_box: Some(InBox {
                mode: scoring.mode,
                timed_out: scoring.timed_out,
            }),
            task,
        })
    }
}

fn not_rescored(error: ScoringError) -> EngineError {
    match error {
        ScoringError::NotKept(_) | ScoringError::Unfit(_) => {
            EngineError::Unclear(error.to_string())
        }
        ScoringError::Cancelled => {
            EngineError::Unclear("the server is about to end; try again later".to_owned())
        }
        other => EngineError::Box(BoxError::Failed(Box::new(other))),
    }
}
