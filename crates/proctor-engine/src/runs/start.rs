//! A task begins: its world is made and handed over.

use std::sync::Arc;

use proctor_core::{
    definition::{Task, World as Where},
    id::kinds::{PlaygroundId, RunId, TaskRunId},
    run::Run,
    task_run::TaskRun,
};
use proctor_playground::world::World;
use proctor_store::{
    StoreError,
    playgrounds::{Place, Playground},
    runs::Progress,
};

use super::TRIES;
use crate::{
    catalog::Prepared, engine::Engine, error::EngineError, scenarios::BoxFor, worlds::Beginning,
};

/// A task run that is at work.
pub struct StartedTask {
    /// The task run.
    pub task_run: TaskRun,
    /// Its run.
    pub run: Run,
    /// The definition.
    pub prepared: Arc<Prepared>,
}

impl StartedTask {
    /// The task that is taken.
    pub fn task(&self) -> Result<&Task, EngineError> {
        Ok(self.prepared.task(self.task_run.task)?.0)
    }
}

impl Engine {
    /// Starts a task run of a run; starting it again changes nothing.
    pub async fn start_task(&self, run: RunId, id: TaskRunId) -> Result<StartedTask, EngineError> {
        for _ in 0..TRIES {
            let standing = self.current(run).await?;
            let before = standing
                .task_runs
                .iter()
                .find(|one| one.value.id == id)
                .ok_or(EngineError::NotFound("task run"))?;
            let now = self.now();
            let (task, prepared) = standing.prepared.task(before.value.task)?;
            let limit = standing.prepared.benchmark.limit(task);
            let started = before.value.clone().start(now, limit)?;
            if started.is_changed() {
                let others: Vec<TaskRun> = standing
                    .task_runs
                    .iter()
                    .map(|one| one.value.clone())
                    .collect();
                let after = standing.run.value.clone().admit(now, &others)?.into_inner();
                let mut task_run = started.into_inner();
                if let Where::Devbox { parameters } = &task.world {
                    let wanted = BoxFor {
                        organization: after.organization,
                        benchmark: &standing.prepared.benchmark,
                        task,
                        parameters,
                        profile: &after.particulars.profile,
                    };
                    task_run.devbox = Some(self.box_for(&task_run, wanted).await?);
                }
                // A scenario that cannot happen must not start anything.
                let mut rehearsal = None;
                let playground = match &prepared.playground {
                    None => None,
                    Some(playground) => {
                        let beginning = self.beginning(&task_run, &standing.prepared)?;
                        let id = playground_of(task_run.id);
                        rehearsal = Some(self.inner.worlds.rehearse(id, &beginning)?);
                        let row = Playground {
                            id: playground_of(task_run.id),
                            organization: after.organization,
                            environment: Some(playground.environment),
                            digest: playground.blueprint.digest(),
                            task_run: Some(task_run.id),
                            created_at: now,
                            ended_at: None,
                        };
                        let place = Place::Playground(row.id);
                        let doors = self.sandboxes(row.organization, place, &playground.blueprint);
                        Some((row, doors))
                    }
                };
                let progress = Progress {
                    run: standing.over_run(after.clone()),
                    task_runs: vec![(before.clone(), task_run.clone())],
                    playground,
                    ..Progress::default()
                };
                let written = self.store().record(&progress).await;
                match (&written, task_run.devbox) {
                    (Ok(()), Some(devbox)) => {
                        self.watch(after.organization, task_run.id, devbox);
                    }
                    (Err(_), Some(devbox)) => self.give_back(after.organization, devbox).await,
                    (_, None) => {}
                }
                match written {
                    Ok(()) => {}
                    Err(StoreError::Stale) => continue,
                    Err(error) => return Err(error.into()),
                }
                if let Some(deadline) = task_run.deadline() {
                    self.inner.deadlines.keep(task_run.id, deadline);
                }
                self.inner.routes.forget(run);
                if let Some(rehearsal) = rehearsal {
                    let id = playground_of(task_run.id);
                    self.inner.worlds.begin(id, rehearsal).await?;
                }
                return Ok(StartedTask {
                    task_run,
                    run: after,
                    prepared: standing.prepared,
                });
            }
            // It was handed over before, perhaps by a process that ended right then.
            let task_run = started.into_inner();
            if task_run.devbox.is_none() {
                self.world_of_task(&task_run, &standing.prepared).await?;
            }
            return Ok(StartedTask {
                task_run,
                run: standing.run.value,
                prepared: standing.prepared,
            });
        }
        Err(StoreError::Stale.into())
    }

    /// The world of a task run that was started.
    pub(crate) async fn world_of_task(
        &self,
        task_run: &TaskRun,
        prepared: &Prepared,
    ) -> Result<World, EngineError> {
        let beginning = self.beginning(task_run, prepared)?;
        self.inner
            .worlds
            .ensure(playground_of(task_run.id), &beginning)
            .await
    }
}

/// The name of a task run's playground.
pub(crate) const fn playground_of(task_run: TaskRunId) -> PlaygroundId {
    PlaygroundId::from_uuid(task_run.uuid())
}

impl Engine {
    /// How the world of a task run begins.
    pub(crate) fn beginning<'a>(
        &self,
        task_run: &TaskRun,
        prepared: &'a Prepared,
    ) -> Result<Beginning<'a>, EngineError> {
        let (_, task) = prepared.task(task_run.task)?;
        let playground = task
            .playground
            .as_ref()
            .ok_or_else(|| EngineError::Unclear("this task has no playground".to_owned()))?;
        let at = task_run
            .started_at()
            .ok_or_else(|| EngineError::Unclear("the task run has not been started".to_owned()))?;
        Ok(Beginning {
            blueprint: &playground.blueprint,
            scenario: &playground.scenario,
            at,
            path: format!("/v1/task-runs/{}", task_run.id),
            // All worlds of a run share their passwords, so that those told when it was made are right.
            seed: match task_run.run {
                Some(run) => self.seed_of_run(run),
                None => self.seed_of_playground(playground_of(task_run.id)),
            },
        })
    }
}
