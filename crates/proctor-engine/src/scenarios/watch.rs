//! What happens to scenario runs when nobody asks: boxes end, clocks run out, servers start again.

use proctor_core::{
    devbox::Initiator,
    id::kinds::{DevboxId, OrganizationId, TaskRunId},
    refused::Step,
    task_run::TaskRunState,
};

use crate::{engine::Engine, error::EngineError};

impl Engine {
    /// Ends the task run when its box ends before it is over.
    pub(crate) fn watch(&self, organization: OrganizationId, id: TaskRunId, devbox: DevboxId) {
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let Ok(workshop) = engine.workshop() else {
                return;
            };
            let end = tokio::select! {
                () = engine.inner.closing.cancelled() => return,
                end = workshop.boxes.ended(organization, devbox) => end,
            };
            if let Err(error) = engine.lose_box(id, end).await {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, task_run = %id, "a scenario run without its devbox could not be ended");
            }
        });
    }

    /// Ends a task run in a box whose clock ran out, if it did.
    pub(crate) async fn expire_scenario(&self, id: TaskRunId) -> Result<(), EngineError> {
        // Every step looks at the clocks first.
        self.step(id, |task_run, _| Ok(Step::Unchanged(task_run)), Vec::new())
            .await?;
        Ok(())
    }

    /// Takes up the scenario runs that a former process left: scores again what was being scored, and looks after every
    /// box. What lost its box in between fails as soon as that is known.
    pub(crate) async fn recover_scenarios(&self) -> Result<(), EngineError> {
        if self.workshop().is_err() {
            return Ok(());
        }
        self.end_stray_boxes().await?;
        for owned in self.store().live_boxed_task_runs().await? {
            let task_run = owned.task_run.value;
            let Some(devbox) = task_run.devbox else {
                continue;
            };
            if let TaskRunState::Scoring { .. } = task_run.state {
                self.score_in_background(task_run.id);
            }
            self.watch(owned.organization, task_run.id, devbox);
        }
        // A former process ended the last task run of these, and ended itself before it could say so of the run.
        for run in self.store().runs_to_settle().await? {
            self.settle(run).await?;
        }
        Ok(())
    }

    /// Ends the boxes that nobody needs: a former process ended before a task run came to own them, or before it could let
    /// go of the box of one that is over.
    async fn end_stray_boxes(&self) -> Result<(), EngineError> {
        let machine = self.workshop()?.boxes.machine();
        for devbox in self.store().live_devboxes(&machine).await? {
            let devbox = devbox.value;
            let Initiator::Scenario(task_run) = devbox.initiator else {
                continue;
            };
            let owner = self.store().boxed_task_run(task_run).await?;
            let is_stray = owner.is_none_or(|owner| {
                let owner = owner.task_run.value;
                owner.is_over() || owner.devbox != Some(devbox.id)
            });
            if is_stray {
                self.give_back(devbox.organization, devbox.id).await;
            }
        }
        Ok(())
    }
}
