//! Somebody stops a run, or one of its task runs. What is complete stays so.

use proctor_core::{
    id::kinds::{OrganizationId, RunId, TaskRunId},
    refused::Step,
    run::Run,
    task_run::TaskRun,
};
use proctor_macros::boxed_futures;
use proctor_store::{OnDisk, progress::Progress};

use super::{Asked, ScenarioRun};
use crate::{change::Decision, engine::Engine, error::EngineError};

#[boxed_futures]
impl Engine {
    /// Stops a run: its token ends at once, and nothing can change in its worlds any more. Stopping twice changes nothing;
    /// what ended otherwise is refused.
    pub async fn cancel_run(&self, id: RunId) -> Result<Run, EngineError> {
        self.change_run(id, |whole, now| {
            let (task_runs, after) = whole.step_all(|task_run| task_run.cancel(now));
            let wanted = whole.prepared.wanted_by(&whole.run.value);
            let run = match whole.run.value.clone().cancel(now, &after, wanted)? {
                Step::Unchanged(run) => return Ok(Decision::Unchanged(run)),
                Step::Changed(run) => run,
            };
            let progress = Progress {
                run: Some((whole.run.clone(), run.clone())),
                task_runs,
                ends_tokens: true,
                ..Progress::default()
            };
            Ok(Decision::Write(Box::new(progress), run))
        })
        .await
    }

    /// Stops a task run of a run, which goes on unless this was its last. What is over stays as it is.
    pub async fn cancel_task(
        &self,
        run: RunId,
        id: TaskRunId,
    ) -> Result<Step<TaskRun>, EngineError> {
        self.current_task_run(Asked::InRun(run), id).await?;
        self.cancel(id).await
    }

    /// Stops one of the organization's scenario runs. What is over stays as it is.
    pub async fn cancel_scenario_run(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<ScenarioRun, EngineError> {
        self.task_run_snapshot(Asked::InBoxOf(organization), id)
            .await?;
        let cancelled = self.cancel(id).await?;
        self.with_findings(cancelled.into_inner()).await
    }

    /// Stops a task run, whosever it is.
    pub(crate) async fn cancel(&self, id: TaskRunId) -> Result<Step<TaskRun>, EngineError> {
        let cancel = |task_run: TaskRun, now| Ok(task_run.cancel(now));
        self.step(id, OnDisk::AtOnce, cancel).await
    }
}
