//! The agent is done: its world is frozen, judged, and the result written, all of it or nothing.

use std::sync::Arc;

use proctor_core::{
    criterion_run::CriterionRun,
    id::kinds::{RunId, TaskRunId},
    refused::{Refused, Step},
    run::Run,
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_store::{StoreError, runs::Progress};

use super::{Decided, Standing, TRIES, judge::judge, start::playground_of};
use crate::{catalog::Prepared, engine::Engine, error::EngineError};

/// A task run that is over, with its result.
pub struct Completed {
    /// The task run.
    pub task_run: TaskRun,
    /// What was found.
    pub criterion_runs: Vec<CriterionRun>,
    /// Its run.
    pub run: Run,
    /// The definition.
    pub prepared: Arc<Prepared>,
    /// Whether this very request ended the run.
    pub ended_run: bool,
}

impl Engine {
    /// Freezes the world of a task run, judges it and ends the task run; the run too, if this was the
    /// last. Completing what is complete answers what was found then. Whatever fails leaves the task
    /// run as it was, so that this can be called again.
    pub async fn complete_task(&self, run: RunId, id: TaskRunId) -> Result<Completed, EngineError> {
        let arrived = self.now();
        for _ in 0..TRIES {
            let standing = self.current(run).await?;
            let before = standing.task_run(id)?;
            if before.value.devbox.is_some() && !before.value.is_over() {
                return self.complete_in_box(run, id).await;
            }
            match self.try_complete(standing, id, arrived).await {
                Err(EngineError::Store(StoreError::Stale)) => {}
                other => return other,
            }
        }
        Err(StoreError::Stale.into())
    }

    /// Scores a task run in its box and ends it with that score.
    async fn complete_in_box(&self, run: RunId, id: TaskRunId) -> Result<Completed, EngineError> {
        self.score_now(id).await?;
        self.complete_scenario(id).await?;
        self.as_completed(self.current(run).await?, id).await
    }

    async fn try_complete(
        &self,
        standing: Standing,
        id: TaskRunId,
        arrived: Timestamp,
    ) -> Result<Completed, EngineError> {
        let before = standing.task_run(id)?;
        if before.value.is_over() {
            return self.as_completed(standing, id).await;
        }
        if before.value.started_at().is_none() {
            return Err(Refused::TaskRunNotStarted.into());
        }
        let (_, prepared) = standing.prepared.task(before.value.task)?;
        let world = self
            .world_of_task(&before.value, &standing.prepared)
            .await?;
        // A world that was frozen in time counts, however often judging had to be tried.
        let frozen = world.freeze(arrived).await?;
        let began = self.now();
        let judged = world
            .look(|exhibits| judge(&prepared.rubric, &before.value, exhibits))
            .await??;
        let now = self.now();
        let after = before
            .value
            .clone()
            .complete(frozen, now, judged.scorecard)?;
        let after = match after {
            Step::Changed(after) => after,
            Step::Unchanged(_) => return self.as_completed(standing, id).await,
        };
        let run = standing
            .run
            .value
            .clone()
            .settle(now, &standing.with(&after), standing.wanted())
            .into_inner();
        // A complete that came too late is a time-out, which has no findings.
        let criterion_runs = match after.card() {
            Some(_) => self.criterion_runs(id, judged.findings, began),
            None => Vec::new(),
        };
        let progress = Progress {
            run: standing.over_run(run.clone()),
            task_runs: vec![(before.clone(), after.clone())],
            criterion_runs,
            ..Progress::default()
        };
        self.store().record(&progress).await?;
        self.inner.routes.forget(run.id);
        self.inner.worlds.close(playground_of(id));
        Ok(Completed {
            task_run: after,
            criterion_runs: progress.criterion_runs,
            ended_run: run.is_over(),
            run,
            prepared: Arc::clone(&standing.prepared),
        })
    }

    /// A task run that was over before, unless it ended in a way that cannot be completed.
    async fn as_completed(
        &self,
        standing: Standing,
        id: TaskRunId,
    ) -> Result<Completed, EngineError> {
        let task_run = standing.task_run(id)?.value.clone();
        if let "cancelled" | "failed" = task_run.status() {
            return Err(Refused::TaskRunOver(task_run.status()).into());
        }
        let last = standing
            .task_runs
            .iter()
            .filter_map(|one| one.value.ended_at())
            .max();
        Ok(Completed {
            criterion_runs: self.store().criterion_runs(id).await?,
            ended_run: standing.run.value.is_over() && last == task_run.ended_at(),
            task_run,
            run: standing.run.value,
            prepared: standing.prepared,
        })
    }

    /// Completes a run because its organization asks for it: what was not completed counts zero.
    pub async fn complete_run(&self, id: RunId) -> Result<Run, EngineError> {
        self.decide(id, |standing, now| {
            let (task_runs, after) = standing.step_all(|task_run| task_run.sweep(now));
            let run = standing.run.value.clone();
            let run = match run.complete(now, &after, standing.wanted())? {
                Step::Unchanged(run) => return Ok(Decided::Unchanged(run)),
                Step::Changed(run) => run,
            };
            let progress = Progress {
                run: standing.over_run(run.clone()),
                task_runs,
                ..Progress::default()
            };
            Ok(Decided::Changed(Box::new(progress), run))
        })
        .await
    }
}
