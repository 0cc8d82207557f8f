//! Clocks that ran out. Everybody who looks at a run sees it as if the timer had been in time.

use proctor_core::{
    id::kinds::{RunId, TaskRunId},
    refused::Step,
    task_run::{Cause, Fault},
};
use proctor_store::{OnDisk, progress::Progress};

use super::complete::Because;
use crate::{change::Decision, engine::Engine, error::EngineError};

impl Engine {
    /// Ends a task run whose time is over, if it is. A complete that was interrupted is finished.
    pub(crate) async fn expire(&self, id: TaskRunId) -> Result<(), EngineError> {
        let Some(task_run) = self.store().task_run(id).await? else {
            return Ok(());
        };
        let (task_run, now) = (task_run.value, self.now());
        if !task_run.is_due(now) {
            // The timer woke a little early, or the clock was set back.
            if let Some(deadline) = task_run.deadline() {
                self.inner.deadlines.keep(id, deadline);
            }
            return Ok(());
        }
        match task_run.devbox {
            None => {
                let judged = self.judge_and_end(None, id, now, Because::Done).await;
                self.end_without_judge(id, judged.map(|_| ())).await?;
            }
            Some(_) => {
                // Every step of a task run in a box looks at the clocks first.
                let unchanged = |task_run, _| Ok(Step::Unchanged(task_run));
                self.step(id, OnDisk::AtOnce, unchanged).await?;
            }
        }
        Ok(())
    }

    /// Ends a task run whose time is over and whose judge gave no answer. Others are not kept waiting for it: the attempt counts
    /// neither for nor against the agent.
    pub(super) async fn end_without_judge(
        &self,
        id: TaskRunId,
        judged: Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match judged {
            Err(EngineError::JudgeSilent(why)) => {
                tracing::warn!(%why, task_run = %id, "a task run ends without a score");
                self.fail(id, Fault::new(Cause::ScorerError, why.to_string()))
                    .await
            }
            other => other,
        }
    }

    /// Ends what is left of a run whose token has ended. What is being judged comes to its end first.
    pub(crate) async fn sweep_run(&self, id: RunId) -> Result<(), EngineError> {
        loop {
            let current = self.active_run(id).await?;
            if current.run.run.value.is_over() {
                return Ok(());
            }
            self.end_playgrounds(current.active.iter().map(|one| &one.value))
                .await?;
            let swept = self.change_run(id, |whole, now| {
                if whole.run.value.is_over() {
                    return Ok(Decision::Unchanged(Some(())));
                }
                if whole.has_playground_at_work() {
                    return Ok(Decision::Unchanged(None));
                }
                let (task_runs, after) = whole.step_all(|task_run| task_run.sweep(now));
                let run = whole.run.value.clone().release();
                let wanted = whole.prepared.wanted_by(&whole.run.value);
                let run = match run.settle(now, &after, wanted) {
                    Step::Changed(run) => run,
                    // Something is being judged, and ends it by itself.
                    Step::Unchanged(_) if task_runs.is_empty() => {
                        return Ok(Decision::Unchanged(Some(())));
                    }
                    Step::Unchanged(run) => run,
                };
                let progress = Progress {
                    run: Some((whole.run.clone(), run)),
                    task_runs,
                    ..Progress::default()
                };
                Ok(Decision::Write(Box::new(progress), Some(())))
            });
            if swept.await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Completes a run of which nothing is left to do. A run ends with its last task run; this is for stores of versions that
    /// ended it in a transaction of its own.
    pub(crate) async fn settle(&self, id: RunId) -> Result<(), EngineError> {
        self.change_run(id, |whole, now| {
            let run = &whole.run.value;
            let task_runs: Vec<_> = whole
                .task_runs
                .iter()
                .map(|one| one.value.clone())
                .collect();
            let wanted = whole.prepared.wanted_by(run);
            match run.clone().settle(now, &task_runs, wanted) {
                Step::Changed(after) => {
                    let progress = Progress {
                        run: Some((whole.run.clone(), after)),
                        ..Progress::default()
                    };
                    Ok(Decision::Write(Box::new(progress), ()))
                }
                Step::Unchanged(_) => Ok(Decision::Unchanged(())),
            }
        })
        .await
    }
}
