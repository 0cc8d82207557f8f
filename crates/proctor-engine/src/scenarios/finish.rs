//! A scenario run, or a run of a benchmark of scenarios, comes to its end because somebody asks for it.

use proctor_core::{
    id::kinds::{OrganizationId, RunId, TaskRunId},
    refused::{Refused, Step},
    results::Summary,
    run::Run,
    task_run::{Fault, TaskRun, TaskRunState},
};
use proctor_store::{run_lists::OwnedTaskRun, runs::Progress};

use super::{BoxEnd, ScenarioRun};
use crate::{engine::Engine, error::EngineError, runs::Decided};

impl Engine {
    /// Ends one of the organization's scenario runs with the score it has, or with none. What is over stays as it is.
    pub async fn complete_scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        let ended = self.complete(self.owned(organization, id).await?).await?;
        self.with_findings(ended).await
    }

    /// Stops one of the organization's scenario runs. What is over stays as it is.
    pub async fn cancel_scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        let ended = self.cancel(self.owned(organization, id).await?).await?;
        self.with_findings(ended).await
    }

    /// Ends a scenario run, whosever it is, with the score it has, or with none.
    pub(crate) async fn complete_scenario(&self, id: TaskRunId) -> Result<TaskRun, EngineError> {
        self.complete(self.boxed(id).await?).await
    }

    /// Stops a scenario run, whosever it is.
    pub(crate) async fn cancel_scenario(&self, id: TaskRunId) -> Result<TaskRun, EngineError> {
        self.cancel(self.boxed(id).await?).await
    }

    async fn complete(&self, owned: OwnedTaskRun) -> Result<TaskRun, EngineError> {
        let finish = |task_run: TaskRun, now| task_run.finish(now);
        let stepped = self.step_from(owned, finish, Vec::new()).await?;
        Ok(stepped.into_inner())
    }

    async fn cancel(&self, owned: OwnedTaskRun) -> Result<TaskRun, EngineError> {
        let cancel = |task_run: TaskRun, now| Ok(task_run.cancel(now));
        let stepped = self.step_from(owned, cancel, Vec::new()).await?;
        Ok(stepped.into_inner())
    }

    /// Ends a scenario run because something broke. What is over stays as it is.
    pub(crate) async fn fail_scenario(
        &self,
        id: TaskRunId,
        fault: Fault,
    ) -> Result<(), EngineError> {
        let fail = |task_run: TaskRun, now| Ok(task_run.fail(now, fault.clone()));
        self.step(id, fail, Vec::new()).await?;
        Ok(())
    }

    /// Ends a scenario run whose box ended in this way. What was scored keeps its score, and what is over stays as it is.
    pub(crate) async fn lose_box(&self, id: TaskRunId, end: BoxEnd) -> Result<(), EngineError> {
        let lose = |task_run: TaskRun, now| Ok(task_run.lose_world(now, end.fault()));
        self.step(id, lose, Vec::new()).await?;
        Ok(())
    }

    /// Completes a run of a benchmark of scenarios: what was scored keeps its score, what was not counts zero. What is over
    /// stays as it is.
    pub async fn complete_benchmark_run(&self, id: RunId) -> Result<Run, EngineError> {
        self.complete_run_with(id, None).await
    }

    /// The same, with these numbers of ours if somebody knows them better than the task runs tell.
    pub(crate) async fn complete_run_with(
        &self,
        id: RunId,
        numbers: Option<Summary>,
    ) -> Result<Run, EngineError> {
        self.decide(id, |standing, now| {
            if standing.run.value.is_over() {
                return Ok(Decided::Unchanged(standing.run.value.clone()));
            }
            let in_scoring =
                |task_run: &TaskRun| matches!(task_run.state, TaskRunState::Scoring { .. });
            if standing.values().iter().any(in_scoring) {
                return Err(Refused::TaskRunInScoring.into());
            }
            let (task_runs, after) = standing.step_all(|task_run| {
                match task_run.clone().finish(now) {
                    Ok(step) => step,
                    // It was never started.
                    Err(_) => task_run.sweep(now),
                }
            });
            let run = standing.run.value.clone();
            let run = match run.complete(now, &after, standing.wanted())? {
                Step::Unchanged(run) => return Ok(Decided::Unchanged(run)),
                Step::Changed(run) => run,
            };
            let run = match &numbers {
                Some(numbers) => run.with_summary(numbers.clone()),
                None => run,
            };
            let progress = Progress {
                run: standing.over_run(run.clone()),
                task_runs,
                ends_tokens: true,
                ..Progress::default()
            };
            Ok(Decided::Changed(Box::new(progress), run))
        })
        .await
    }

    /// Stops a run of a benchmark of scenarios with everything in it; results are kept. What is over stays as it is.
    pub async fn cancel_benchmark_run(&self, id: RunId) -> Result<Run, EngineError> {
        let standing = self.current(id).await?;
        if standing.run.value.is_over() {
            return Ok(standing.run.value);
        }
        match self.cancel_run(id).await {
            // It came to its end in between.
            Err(EngineError::Refused(Refused::RunOver(_))) => {
                Ok(self.standing(id).await?.run.value)
            }
            other => other,
        }
    }
}
