//! What happens to task runs in boxes when nobody asks: boxes end, servers start again.

use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::Initiator,
    id::kinds::{DevboxId, OrganizationId, TaskRunId},
    refused::Step,
    task_run::TaskRunState,
};

use super::{Asked, TaskRunSnapshot};
use crate::{change::Decision, engine::Engine, error::EngineError};

impl Engine {
    /// Ends the task run when its box ends before it is over.
    pub(crate) fn watch(&self, organization: OrganizationId, id: TaskRunId, devbox: DevboxId) {
        let stop = self.inner.closing.child_token();
        if !self.inner.watches.begin(id, stop.clone()) {
            return;
        }
        let engine = self.clone();
        self.inner.tasks.spawn(async move {
            let ended = async {
                let workshop = engine.workshop().ok()?;
                Some(workshop.boxes.ended(organization, devbox).await)
            };
            let ended = stop.run_until_cancelled(ended).await;
            engine.inner.watches.end(&id);
            // Of a box that ends while nobody waits for its end any more, nothing is asked: whoever stopped this has ended it.
            let Some(Some(end)) = ended.filter(|_| !stop.is_cancelled()) else {
                return;
            };
            if let Err(error) = engine.lose_box(id, &end).await {
                tracing::error!(error = %with_causes(&error), task_run = %id, "a scenario run without its devbox could not be ended");
            }
        });
    }

    /// Takes up the scenario runs that a former process left: scores again what was being scored, and looks after every
    /// box. What lost its box in between fails as soon as that is known.
    pub(crate) async fn recover_scenarios(&self) -> Result<(), EngineError> {
        if self.workshop().is_err() {
            return Ok(());
        }
        self.end_stray_boxes().await?;
        for (organization, task_run) in self.store().live_task_runs_in_boxes().await? {
            let Some(devbox) = task_run.devbox else {
                continue;
            };
            if let TaskRunState::Scoring { .. } = task_run.state {
                self.resume_scoring(task_run.id).await?;
                self.score_in_background(task_run.id);
            }
            self.watch(organization, task_run.id, devbox);
        }
        Ok(())
    }

    /// Gives the scorers of a task run all of their time again: the outage was not theirs, and says nothing about the agent.
    async fn resume_scoring(&self, id: TaskRunId) -> Result<(), EngineError> {
        // Not by a step of the task run: its clock may have run out in the outage, and would go first.
        let read = || self.task_run_snapshot(Asked::ByEngine, id);
        let decide = |snapshot: &TaskRunSnapshot, now| {
            let before = snapshot.value().clone();
            let limit = snapshot.prepared.task(before.task)?.0.scoring_limit();
            Ok(match before.resume_scoring(now, limit) {
                Step::Unchanged(_) => Decision::Unchanged(()),
                Step::Changed(after) => {
                    let progress = snapshot.progress(now, after, Vec::new());
                    Decision::Write(Box::new(progress), ())
                }
            })
        };
        let changed = self.change(None, read, decide).await?;
        self.follow_up(&changed).await;
        Ok(())
    }

    /// Ends the boxes that nobody needs: a former process ended before a task run came to own them, or before it could let
    /// go of the box of one that is over.
    async fn end_stray_boxes(&self) -> Result<(), EngineError> {
        let machine = self.workshop()?.boxes.machine();
        for devbox in self.store().live_devboxes(&machine).await? {
            let devbox = devbox.value;
            let task_run = match devbox.initiator {
                Initiator::Invocation => continue,
                Initiator::Scenario(task_run) | Initiator::Agent(task_run) => task_run,
            };
            let owner = self.store().task_run(task_run).await?;
            if let Initiator::Agent(_) = devbox.initiator {
                let owner = owner.as_ref().map(|owner| &owner.value);
                self.recover_agent_box(devbox.organization, devbox.id, owner)
                    .await;
                continue;
            }
            let is_owned = owner.is_some_and(|owner| {
                owner.value.devbox == Some(devbox.id) && !owner.value.is_over()
            });
            if !is_owned {
                self.end_box(devbox.organization, devbox.id).await;
            }
        }
        Ok(())
    }
}
