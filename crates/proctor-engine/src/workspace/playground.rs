//! Task runs that are done in playgrounds.

use std::sync::Arc;

use async_trait::async_trait;
use proctor_core::causes::with_causes;
use proctor_core::{
    id::kinds::{DevboxId, OrganizationId},
    profile::RunProfile,
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_store::playgrounds::{Place, Playground};
use proctor_verify::JudgeAnswers;

use super::{Frozen, Judged, Limits, NotJudged, Opening, Scope, Workspace};
use crate::{
    catalog::Prepared,
    engine::Engine,
    error::EngineError,
    runs::{
        judge::{judge, questions},
        playground_of,
    },
};

/// The playgrounds of one benchmark's task runs.
pub(super) struct PlaygroundWorkspace {
    pub(super) engine: Engine,
    pub(super) organization: OrganizationId,
    pub(super) prepared: Arc<Prepared>,
}

#[async_trait]
impl Workspace for PlaygroundWorkspace {
    async fn prepare(&self, _: &TaskRun, _: &RunProfile) -> Result<Option<DevboxId>, EngineError> {
        Ok(None)
    }

    fn opening(&self, started: &TaskRun) -> Result<Opening, EngineError> {
        let (_, task) = self.prepared.task(started.task)?;
        let Some(playground) = &task.playground else {
            return Ok(Opening::default());
        };
        let (engine, id) = (&self.engine, playground_of(started.id));
        let beginning = engine.beginning(started, &self.prepared)?;
        let rehearsal = engine.inner.worlds.rehearse(id, &beginning)?;
        let row = Playground {
            id,
            organization: self.organization,
            environment: Some(playground.environment),
            digest: playground.blueprint.digest(),
            task_run: Some(started.id),
            created_at: beginning.at,
            ended_at: None,
        };
        let place = Place::Playground(row.id);
        let doors = engine.sandboxes(row.organization, place, &playground.blueprint);
        Ok(Opening {
            playground: Some((row, doors)),
            rehearsal: Some(rehearsal),
        })
    }

    async fn open(&self, started: &TaskRun, opening: Opening) -> Result<(), EngineError> {
        let worlds = &self.engine.inner.worlds;
        match opening.rehearsal {
            Some(rehearsal) => {
                worlds.begin(playground_of(started.id), rehearsal).await?;
            }
            // It was handed over before, perhaps by a process that ended right then.
            None => {
                self.engine.world_of_task(started, &self.prepared).await?;
            }
        }
        Ok(())
    }

    async fn withdraw(&self, _: Option<DevboxId>) {}

    async fn freeze(&self, task_run: &TaskRun, at: Timestamp) -> Result<Frozen, NotJudged> {
        let world = self.engine.world_of_task(task_run, &self.prepared).await?;
        let at = world.freeze(at).await.map_err(EngineError::from)?;
        Ok(Frozen { at, _hold: None })
    }

    async fn judge(
        &self,
        task_run: &TaskRun,
        _: &Frozen,
        _: Scope,
        _: Limits,
    ) -> Result<Judged, NotJudged> {
        let (_, prepared) = self.prepared.task(task_run.task)?;
        let world = self.engine.world_of_task(task_run, &self.prepared).await?;
        let began = self.engine.now();
        let record = match prepared.rubric.reads_record() {
            true => Some(world.history().await.map_err(EngineError::from)?),
            false => None,
        };
        let rubric = &prepared.rubric;
        let questions = world
            .look_with(record.as_ref(), |exhibits| {
                questions(rubric, task_run, exhibits)
            })
            .await
            .map_err(EngineError::from)??;
        let answers = self
            .engine
            .answers(questions, JudgeAnswers::default())
            .await?;
        let judgement = world
            .look_with(record.as_ref(), |exhibits| {
                judge(rubric, task_run, exhibits, &answers)
            })
            .await
            .map_err(EngineError::from)??;
        Ok(Judged {
            card: judgement.scorecard,
            criterion_runs: self
                .engine
                .criterion_runs(task_run.id, judgement.findings, began),
            timed_out: None,
            not_run: Vec::new(),
        })
    }

    async fn release(&self, task_run: &TaskRun) {
        let engine = &self.engine;
        if let Some(run) = task_run.run {
            engine.inner.routes.forget(run);
        }
        if task_run.started_at().is_none() {
            return;
        }
        match self.freeze(task_run, engine.now()).await {
            Ok(_) => {}
            Err(NotJudged::Engine(error)) => {
                tracing::warn!(error = %with_causes(&error), task_run = %task_run.id, "a world could not be frozen");
            }
            Err(_) => {
                tracing::warn!(task_run = %task_run.id, "a world could not be frozen");
            }
        }
        engine.inner.worlds.close(playground_of(task_run.id));
    }
}
