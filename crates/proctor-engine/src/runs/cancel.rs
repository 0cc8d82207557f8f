//! Somebody stops a run, or one of its task runs. What is complete stays so.

use proctor_core::{
    id::kinds::{RunId, TaskRunId},
    refused::{Refused, Step},
    run::Run,
    task_run::TaskRun,
};
use proctor_store::runs::Progress;

use super::{Decided, Standing, start::playground_of};
use crate::{engine::Engine, error::EngineError};

impl Engine {
    /// Stops a run: its token ends at once, and nothing can change in its worlds any more.
    pub async fn cancel_run(&self, id: RunId) -> Result<Run, EngineError> {
        self.decide(id, |standing, now| {
            let (task_runs, after) = standing.step_all(|task_run| task_run.cancel(now));
            let run = standing.run.value.clone();
            let run = match run.cancel(now, &after, standing.wanted())? {
                Step::Unchanged(run) => return Ok(Decided::Unchanged(run)),
                Step::Changed(run) => run,
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

    /// Stops one task run; the run goes on, unless this was its last.
    pub async fn cancel_task(&self, run: RunId, id: TaskRunId) -> Result<TaskRun, EngineError> {
        self.decide(run, |standing, now| {
            let before = standing.task_run(id)?;
            if matches!(before.value.status(), "completed" | "timed_out" | "failed") {
                return Err(Refused::TaskRunOver(before.value.status()).into());
            }
            let after = match before.value.clone().cancel(now) {
                Step::Unchanged(task_run) => return Ok(Decided::Unchanged(task_run)),
                Step::Changed(after) => after,
            };
            let run = standing.run.value.clone();
            let run = run
                .settle(now, &standing.with(&after), standing.wanted())
                .into_inner();
            let progress = Progress {
                run: standing.over_run(run),
                task_runs: vec![(before.clone(), after.clone())],
                ..Progress::default()
            };
            Ok(Decided::Changed(Box::new(progress), after))
        })
        .await
    }

    /// Freezes the worlds of task runs that have just ended. The records say already that they are
    /// over, so a world that cannot be frozen now is merely left: nobody is let in any more.
    pub(crate) async fn freeze_worlds(&self, progress: &Progress, standing: &Standing) {
        for (before, after) in &progress.task_runs {
            if after.devbox.is_some() {
                if after.is_over() {
                    let organization = standing.run.value.organization;
                    self.let_go(organization, after).await;
                }
                continue;
            }
            if before.value.started_at().is_none() {
                continue;
            }
            let frozen = match self.world_of_task(&before.value, &standing.prepared).await {
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
