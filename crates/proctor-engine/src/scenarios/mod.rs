//! Task runs that are done in boxes.
//!
//! One file for each thing that can happen. A task run in a box goes through the same states as one in a playground, but
//! what judges it takes its time, and the box may end before the agent does. So every step goes one way ([`Engine::step`]):
//! read, ask `proctor-core`, write over what was read, and let go of the box of what is over.

mod agent_work;
mod box_log;
mod boxes;
mod find;
mod finish;
mod logs;
mod reference;
mod rescore;
mod score;
mod scorers;
mod seams;
mod start;
mod validate;
mod watch;

pub(crate) use self::start::BoxFor;
pub(crate) use self::validate::command;
pub use self::{
    boxes::FleetBoxes,
    find::{ScenarioRun, ScoredFunction},
    logs::LogFile,
    rescore::RescoredScenario,
    scorers::FleetJudge,
    seams::{
        AgentWork, BoxCommand, BoxEnd, BoxError, BoxLog, BoxOrder, Boxes, CommandEnd, Disk, Hold,
        Judge, LogStream, ScorerFinding, ScorerState, Scoring, ScoringError, ScoringOrder, WorkEnd,
    },
    start::{NewBenchmarkRun, NewScenarioRun},
    validate::{NewValidation, Trial, Validated},
};

use std::sync::Arc;

use proctor_core::{
    criterion_run::CriterionRun,
    id::kinds::{OrganizationId, RunId, TaskRunId},
    refused::{Refused, Step},
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_fleet::Fleet;
use proctor_store::{StoreError, run_lists::OwnedTaskRun, runs::Progress};

use crate::{
    catalog::Prepared,
    engine::Engine,
    error::EngineError,
    runs::{Decided, TRIES},
};

/// Where tasks are done that need a box.
#[derive(Clone)]
pub struct Workshop {
    /// Makes boxes.
    pub boxes: Arc<dyn Boxes>,
    /// Runs scorers.
    pub judge: Arc<dyn Judge>,
}

impl Workshop {
    /// The devboxes of a fleet.
    pub fn on(fleet: &Fleet) -> Self {
        Self {
            boxes: Arc::new(FleetBoxes::new(fleet.clone())),
            judge: Arc::new(FleetJudge::new(fleet.clone())),
        }
    }
}

impl Engine {
    pub(crate) fn workshop(&self) -> Result<&Workshop, EngineError> {
        self.inner.workshop.as_ref().ok_or_else(|| {
            EngineError::Unclear("this server has no devboxes to run scenarios in".to_owned())
        })
    }

    /// A task run in a box, whosever it is.
    pub(crate) async fn boxed(&self, id: TaskRunId) -> Result<OwnedTaskRun, EngineError> {
        let found = self.store().boxed_task_run(id).await?;
        found.ok_or(EngineError::NotFound("scenario run"))
    }

    /// A task run in a box, if it is the organization's.
    pub(crate) async fn owned(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<OwnedTaskRun, EngineError> {
        match self.boxed(id).await? {
            owned if owned.organization == organization => Ok(owned),
            _ => Err(EngineError::NotFound("scenario run")),
        }
    }

    /// The definition that a task run was started from.
    pub(crate) async fn definition_of_task_run(
        &self,
        task_run: &TaskRun,
    ) -> Result<Arc<Prepared>, EngineError> {
        let digest = match (task_run.definition, task_run.run) {
            (Some(digest), _) => digest,
            (None, Some(run)) => {
                let run = self.store().run(run).await?;
                run.ok_or(EngineError::NotFound("benchmark run"))?
                    .value
                    .pinned
                    .digest
            }
            (None, None) => {
                let message = format!("the task run {} has no definition", task_run.id);
                return Err(EngineError::Fault(message));
            }
        };
        self.inner.catalog.benchmark(self.store(), &digest).await
    }

    /// Takes a task run in a box one step on, with what was found; a clock that ran out goes before. What is over lets go
    /// of its box, and the run completes if this was its last.
    pub(crate) async fn step(
        &self,
        id: TaskRunId,
        step: impl Fn(TaskRun, Timestamp) -> Result<Step<TaskRun>, Refused>,
        criterion_runs: Vec<CriterionRun>,
    ) -> Result<Step<TaskRun>, EngineError> {
        let owned = self.boxed(id).await?;
        self.step_from(owned, step, criterion_runs).await
    }

    /// The same for one that was read already. It is read again only if it has changed since.
    pub(crate) async fn step_from(
        &self,
        owned: OwnedTaskRun,
        step: impl Fn(TaskRun, Timestamp) -> Result<Step<TaskRun>, Refused>,
        criterion_runs: Vec<CriterionRun>,
    ) -> Result<Step<TaskRun>, EngineError> {
        let (organization, id) = (owned.organization, owned.task_run.value.id);
        let mut read = Some(owned);
        for _ in 0..TRIES {
            let before = match read.take() {
                Some(owned) => owned.task_run,
                None => self.boxed(id).await?.task_run,
            };
            let now = self.now();
            // Apart, because every step would be as large as this.
            let expired = Box::pin(self.expired(before.value.clone(), now)).await?;
            let came_in_time = !expired.is_changed();
            let after = match came_in_time {
                true => step(before.value.clone(), now)?,
                false => expired,
            };
            let after = match after {
                Step::Unchanged(after) => {
                    // Whoever ended it may not have come to settle its run.
                    self.settle_after(&after).await?;
                    return Ok(Step::Unchanged(after));
                }
                Step::Changed(after) => after,
            };
            let progress = Progress {
                task_runs: vec![(before, after.clone())],
                criterion_runs: match came_in_time {
                    true => criterion_runs.clone(),
                    false => Vec::new(),
                },
                ..Progress::default()
            };
            match self.store().record(&progress).await {
                Ok(()) => {}
                Err(StoreError::Stale) => continue,
                Err(error) => return Err(error.into()),
            }
            if after.is_over() {
                self.let_go(organization, &after).await;
                self.settle_after(&after).await?;
            } else if let Some(deadline) = after.deadline() {
                self.inner.deadlines.keep(id, deadline);
            }
            if came_in_time {
                return Ok(Step::Changed(after));
            }
        }
        Err(StoreError::Stale.into())
    }

    /// Completes the run of a task run that is over, if nothing of it is left to do.
    async fn settle_after(&self, task_run: &TaskRun) -> Result<(), EngineError> {
        match task_run.run {
            // Apart, because every step would be as large as this.
            Some(run) if task_run.is_over() => Box::pin(self.settle(run)).await,
            _ => Ok(()),
        }
    }

    /// Completes a run by itself if nothing of it is left to do.
    pub(crate) async fn settle(&self, run: RunId) -> Result<(), EngineError> {
        self.decide(run, |standing, now| {
            let task_runs: Vec<TaskRun> = standing.values();
            let settled = standing
                .run
                .value
                .clone()
                .settle(now, &task_runs, standing.wanted());
            match settled {
                Step::Unchanged(_) => Ok(Decided::Unchanged(())),
                Step::Changed(after) => {
                    let progress = Progress {
                        run: standing.over_run(after),
                        ..Progress::default()
                    };
                    Ok(Decided::Changed(Box::new(progress), ()))
                }
            }
        })
        .await
    }

    /// Ends what goes on in the box of a task run that is over, and the box. The record says already that it is over, so
    /// that a box which cannot be ended now is ended by its own clock.
    pub(crate) async fn let_go(&self, organization: OrganizationId, task_run: &TaskRun) {
        self.inner.scorings.stop(&task_run.id);
        let (Some(devbox), Ok(workshop)) = (task_run.devbox, self.workshop()) else {
            return;
        };
        let ended = workshop.boxes.shut_down(organization, devbox).await;
        if let Err(error) = ended {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, task_run = %task_run.id, %devbox, "a devbox could not be ended");
        }
    }
}
