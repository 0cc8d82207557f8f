//! Somebody stops a run, or one of its task runs. What is complete stays so.

use proctor_core::{
    id::kinds::{RunId, TaskRunId},
    refused::Step,
    run::Run,
    task_run::TaskRun,
};
use proctor_store::{StoreError, runs::Progress};

use super::{TRIES, start::playground_of};
use crate::{catalog::Prepared, engine::Engine, error::EngineError};

impl Engine {
    /// Stops a run: its token ends at once, and nothing can change in its worlds any more.
    pub async fn cancel_run(&self, id: RunId) -> Result<Run, EngineError> {
        for _ in 0..TRIES {
            let standing = self.current(id).await?;
            let now = self.now();
            let mut ended = Vec::new();
            let mut after = Vec::new();
            for before in &standing.task_runs {
                let cancelled = before.value.clone().cancel(now);
                if cancelled.is_changed() {
                    ended.push((before.clone(), cancelled.clone().into_inner()));
                }
                after.push(cancelled.into_inner());
            }
            let run = match standing.run.value.clone().cancel(now, &after)? {
                Step::Unchanged(run) => return Ok(run),
                Step::Changed(run) => run,
            };
            let progress = Progress {
                run: standing.change_of_run(run.clone()),
                task_runs: ended,
                ends_tokens: true,
                ..Progress::default()
            };
            match self.store().record(&progress).await {
                Ok(()) => {
                    self.freeze_worlds(&progress, &standing.prepared).await;
                    return Ok(run);
                }
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Stale.into())
    }

    /// Stops one task run; the run goes on, unless this was its last.
    pub async fn cancel_task(&self, run: RunId, id: TaskRunId) -> Result<TaskRun, EngineError> {
        for _ in 0..TRIES {
            let standing = self.current(run).await?;
            let before = standing
                .task_runs
                .iter()
                .find(|one| one.value.id == id)
                .ok_or(EngineError::NotFound("task run"))?;
            let now = self.now();
            if matches!(before.value.status(), "completed" | "timed_out" | "failed") {
                return Err(
                    proctor_core::refused::Refused::TaskRunOver(before.value.status()).into(),
                );
            }
            let after = match before.value.clone().cancel(now) {
                Step::Unchanged(task_run) => return Ok(task_run),
                Step::Changed(after) => after,
            };
            let run = standing.run.value.clone();
            let run = run.settle(now, &standing.with(&after)).into_inner();
            let progress = Progress {
                run: standing.change_of_run(run),
                task_runs: vec![(before.clone(), after.clone())],
                ..Progress::default()
            };
            match self.store().record(&progress).await {
                Ok(()) => {
                    self.freeze_worlds(&progress, &standing.prepared).await;
                    return Ok(after);
                }
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Stale.into())
    }

    /// Freezes the worlds of task runs that have just ended. The records say already that they are
    /// over, so a world that cannot be frozen now is merely left: nobody is let in any more.
    pub(crate) async fn freeze_worlds(&self, progress: &Progress, prepared: &Prepared) {
        for (before, _) in &progress.task_runs {
            if before.value.started_at().is_none() {
                continue;
            }
            let frozen = match self.world_of_task(&before.value, prepared).await {
                Ok(world) => world
                    .freeze(self.now())
                    .await
                    .map(|_| ())
                    .map_err(EngineError::from),
                Err(EngineError::Unclear(_)) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = frozen {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, task_run = %before.value.id, "a world could not be frozen");
            }
            if let Some(run) = before.value.run {
                self.inner.routes.forget(run);
            }
            self.inner.worlds.close(playground_of(before.value.id));
        }
    }
}
