//! When the agent of a job fails: whether its box broke under it, and what critical scorers still say of what it left.

use std::time::Duration;

use proctor_core::{
    causes::with_causes,
    definition::Task,
    id::kinds::{DevboxId, OrganizationId, TaskRunId},
    refused::Step,
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_store::OnDisk;

use crate::{
    engine::Engine,
    error::EngineError,
    runs::{Asked, StepRecord},
    scenarios::{BoxCommand, BoxError},
    workspace::{Judged, Limits, NotJudged, Scope},
};

/// How long a box that may be gone has to show that it is there, or to be seen to end.
const PROBE: Duration = Duration::from_secs(20);

/// Whether a shell's exit status says that a signal ended its command.
pub(super) const fn is_by_signal(status: i32) -> bool {
    status > 128
}

impl Engine {
    /// Whether the box of an agent is gone that was killed. An agent cannot reach what holds its box together, so it may be that its box
    /// broke under it. A box that is there but cannot run anything any more was filled up by its agent.
    pub(super) async fn is_box_gone(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
    ) -> Result<bool, EngineError> {
        let boxes = &self.workshop()?.boxes;
        let probe = BoxCommand {
            script: "true".to_owned(),
            input: String::new(),
            directory: None,
            time_limit: PROBE,
        };
        Ok(match boxes.run(organization, devbox, probe).await {
            Ok(_) => false,
            Err(BoxError::Ended) => true,
            Err(_) => {
                let ended = boxes.ended(organization, devbox);
                tokio::time::timeout(PROBE, ended).await.is_ok()
            }
        })
    }

    /// Ends a task run whose agent failed, as `end` says. Critical scorers look at what it left all the same, as evidence: else an agent
    /// could hide harm by crashing. False if the server is about to end: then it is ended after the next start.
    pub(super) async fn end_with_evidence(
        &self,
        id: TaskRunId,
        task: &Task,
        end: impl Fn(TaskRun, Timestamp) -> Step<TaskRun>,
    ) -> Result<bool, EngineError> {
        let mut record = StepRecord {
            on_disk: OnDisk::AtOnce,
            ..StepRecord::default()
        };
        let mut missed = Vec::new();
        if task.criteria.iter().any(|one| task.is_critical(one)) {
            match self.critical_evidence(id).await {
                Ok(judged) => {
                    record.criterion_runs = judged.criterion_runs;
                    missed = judged.card.critical_misses;
                }
                Err(NotJudged::Cancelled) => return Ok(false),
                Err(NotJudged::Engine(error)) => return Err(error),
                Err(NotJudged::Failed { error, .. }) => {
                    tracing::warn!(error = %with_causes(&*error), task_run = %id, "critical scorers could not be run after a failure of the agent");
                }
                Err(NotJudged::Unfit(why)) => {
                    tracing::warn!(%why, task_run = %id, "critical scorers could not be run after a failure of the agent");
                }
                Err(NotJudged::Lost(_)) => {
                    tracing::warn!(task_run = %id, "the box was lost before critical scorers could look at it");
                }
            }
        }
        let step = |task_run: TaskRun, now| {
            Ok(match end(task_run, now) {
                Step::Changed(ended) => Step::Changed(ended.missing(missed.clone())),
                unchanged @ Step::Unchanged(_) => unchanged,
            })
        };
        self.step_with(None, id, record, step).await?;
        Ok(true)
    }

    async fn critical_evidence(&self, id: TaskRunId) -> Result<Judged, NotJudged> {
        let snapshot = self.task_run_snapshot(Asked::ByEngine, id).await?;
        let task_run = snapshot.value();
        let workspace = self.workspace(snapshot.organization, &snapshot.prepared, task_run.task)?;
        let limits = Limits {
            deadline: None,
            cancel: self.inner.closing.child_token(),
        };
        let frozen = workspace.freeze(task_run, self.now()).await?;
        workspace
            .judge(task_run, &frozen, Scope::Critical, limits)
            .await
    }
}
