//! Clocks that ran out. Everybody who looks at a run sees it as if the timer had been in time.

use proctor_core::{
    id::kinds::{RunId, TaskRunId},
    task_run::TaskRun,
};
use proctor_playground::world;
use proctor_store::{
    StoreError,
    runs::{Progress, Revised},
};

use super::{Decided, Standing, TRIES, start::playground_of};
use crate::{engine::Engine, error::EngineError};

impl Engine {
    /// A run as it stands now: task runs whose time is over are over.
    pub(crate) async fn current(&self, run: RunId) -> Result<Standing, EngineError> {
        for _ in 0..TRIES {
            let standing = self.standing(run).await?;
            let now = self.now();
            let mut due = None;
            for one in &standing.task_runs {
                let is_due = one.value.deadline().is_some_and(|deadline| deadline <= now);
                // Where a complete arrived in time and was not finished, it can be asked for again.
                if is_due && !self.was_frozen_in_time(one, &standing).await? {
                    due = Some(one);
                    break;
                }
            }
            let Some(due) = due else {
                return Ok(standing);
            };
            let expired = Box::pin(self.expired(due.value.clone(), now)).await?;
            let after = expired.into_inner();
            let run = standing.run.value.clone();
            let run = run
                .settle(now, &standing.with(&after), standing.wanted())
                .into_inner();
            let progress = Progress {
                run: standing.over_run(run),
                task_runs: vec![(due.clone(), after)],
                ..Progress::default()
            };
            match self.store().record(&progress).await {
                Ok(()) => self.freeze_worlds(&progress, &standing).await,
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Stale.into())
    }

    /// Ends a task run whose time is over, if it is. A complete that was interrupted is finished.
    pub(crate) async fn expire(&self, id: TaskRunId) -> Result<(), EngineError> {
        let Some(task_run) = self.store().task_run(id).await? else {
            return Ok(());
        };
        if task_run.value.devbox.is_some() {
            return self.expire_scenario(id).await;
        }
        let Some(run) = task_run.value.run else {
            return Ok(());
        };
        let is_due = task_run
            .value
            .deadline()
            .is_some_and(|deadline| deadline <= self.now());
        if !is_due {
            // The timer woke a little early, or the clock was set back.
            if let Some(deadline) = task_run.value.deadline() {
                self.inner.deadlines.keep(id, deadline);
            }
            return Ok(());
        }
        let standing = self.current(run).await?;
        let is_over = standing
            .task_runs
            .iter()
            .any(|one| one.value.id == id && one.value.is_over());
        if !is_over {
            self.complete_task(run, id).await?;
        }
        Ok(())
    }

    /// Ends what is left of a run whose token has ended.
    pub(crate) async fn sweep_run(&self, id: RunId) -> Result<(), EngineError> {
        self.decide(id, |standing, now| {
            if standing.run.value.is_over() {
                return Ok(Decided::Unchanged(()));
            }
            let (task_runs, after) = standing.step_all(|task_run| task_run.sweep(now));
            let run = standing
                .run
                .value
                .clone()
                .settle(now, &after, standing.wanted())
                .into_inner();
            let progress = Progress {
                run: standing.over_run(run),
                task_runs,
                ..Progress::default()
            };
            Ok(Decided::Changed(Box::new(progress), ()))
        })
        .await
    }

    /// Whether the world of a task run was frozen before its deadline: then its complete arrived in
    /// time, and only its result is missing.
    async fn was_frozen_in_time(
        &self,
        task_run: &Revised<TaskRun>,
        standing: &Standing,
    ) -> Result<bool, EngineError> {
        let Some(deadline) = task_run.value.deadline() else {
            return Ok(false);
        };
        let beginning = match self.beginning(&task_run.value, &standing.prepared) {
            Ok(beginning) => beginning,
            Err(_) => return Ok(false),
        };
        let id = playground_of(task_run.value.id);
        let frozen_at = match self.inner.worlds.get(id) {
            Some(world) => world.frozen_at(),
            None => {
                let origin = self.inner.worlds.origin(id, &beginning);
                let around = self.inner.worlds.around();
                world::frozen(&origin, &around.journal).await?.1
            }
        };
        Ok(frozen_at.is_some_and(|at| at < deadline))
    }
}
