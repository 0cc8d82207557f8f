//! A task begins: its workspace is made and handed over.

use std::sync::Arc;

use proctor_core::{
    definition::{Task, World as Where},
    id::kinds::{OrganizationId, PlaygroundId, RunId, TaskId, TaskRunId},
    profile::{Particulars, RunProfile},
    refused::Refused,
    run::Run,
    task_run::{TaskRun, TaskRunState},
};
use proctor_macros::boxed_futures;
use proctor_playground::world::World;
use proctor_store::{
    OnDisk,
    progress::Progress,
    repeatable::Made,
    runs::{Revised, TalliedRun},
};

use super::{Asked, snapshot::ActiveRun};
use crate::{
    authoring, catalog::Prepared, change::Decision, engine::Engine, error::EngineError,
    workspace::Opening, worlds::Beginning,
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

/// A scenario that is to be taken.
#[derive(Clone, Debug)]
pub struct NewScenarioRun {
    /// The organization that starts it.
    pub organization: OrganizationId,
    /// What is taken.
    pub scenario: TaskId,
    /// The benchmark run that it belongs to, if it belongs to one.
    pub run: Option<RunId>,
    /// What was said about it.
    pub particulars: Particulars,
}

/// A task run that is about to start.
pub(super) struct Starting {
    pub(super) organization: OrganizationId,
    /// As it is before; its box is not asked for yet.
    pub(super) task_run: TaskRun,
    pub(super) prepared: Arc<Prepared>,
    /// What its workspace gets from outside, all levels taken together.
    pub(super) profile: RunProfile,
    /// How it comes to its run.
    pub(super) comes: Comes,
    /// Its run, if that was read before.
    pub(super) known_run: Option<TalliedRun>,
    /// How soon its start must be on disk.
    pub(super) when: OnDisk,
}

/// How a task run comes to its run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comes {
    /// It was made with it.
    Planned(RunId),
    /// It joins it now.
    Joining(RunId),
    /// It has none.
    Alone,
}

/// What the start of a task run is decided on.
struct Facts {
    /// The task run, if it was made before.
    planned: Option<Revised<TaskRun>>,
    run: Option<(TalliedRun, Vec<TaskRun>)>,
}

/// What came of the start of a task run.
enum Begun {
    /// It is at work since now.
    Now(TaskRun, Option<Run>, Box<Opening>),
    /// Somebody else started it.
    Before(TaskRun, Option<Run>),
}

#[boxed_futures]
impl Engine {
    /// Starts a task run of a run; starting it again changes nothing.
    pub async fn start_task(&self, run: RunId, id: TaskRunId) -> Result<StartedTask, EngineError> {
        let found = self.current_task_run(Asked::InRun(run), id).await?;
        let of_run = found
            .run
            .as_ref()
            .ok_or(EngineError::NotFound("task run"))?;
        let profile = of_run.run.value.particulars.profile.clone();
        if let TaskRunState::Started(_) = found.value().state {
            let run = of_run.run.value.clone();
            let workspace =
                self.workspace(found.organization, &found.prepared, found.value().task)?;
            if found.value().devbox.is_none() {
                workspace.open(found.value(), Opening::default()).await?;
            }
            return Ok(StartedTask {
                task_run: found.task_run.value,
                run,
                prepared: found.prepared,
            });
        }
        let prepared = Arc::clone(&found.prepared);
        let (task_run, run) = self
            .start(Starting {
                organization: found.organization,
                task_run: found.task_run.value,
                prepared: found.prepared,
                profile,
                comes: Comes::Planned(run),
                known_run: None,
                when: OnDisk::AtOnce,
            })
            .await?;
        Ok(StartedTask {
            task_run,
            run: run.ok_or(EngineError::NotFound("task run"))?,
            prepared,
        })
    }

    /// Starts a scenario: its box is asked for, and comes to be in the background.
    pub async fn start_scenario(&self, new: NewScenarioRun) -> Result<TaskRun, EngineError> {
        match self
            .store()
            .make_once(|id| self.store().task_run(id))
            .await?
        {
            Made::Before(task_run) => Ok(task_run.value),
            Made::New(id) => {
                self.workshop()?;
                self.start_scenario_as(id, new, OnDisk::AtOnce, false).await
            }
        }
    }

    /// The same under a name that was chosen before; `when` says how soon it must be on disk. A job also `takes_playgrounds`: nobody needs
    /// a token of its runs.
    pub(crate) async fn start_scenario_as(
        &self,
        id: TaskRunId,
        new: NewScenarioRun,
        when: OnDisk,
        takes_playgrounds: bool,
    ) -> Result<TaskRun, EngineError> {
        let (prepared, definition, general, known_run) = match new.run {
            Some(run) => {
                let (prepared, run) = self.definition_for_joining(&new, run).await?;
                let general = run.run.value.particulars.profile.clone();
                (prepared, None, general, Some(run))
            }
            None => {
                let (prepared, digest) = self.definition_of_draft(&new).await?;
                (prepared, Some(digest), RunProfile::default(), None)
            }
        };
        let (task, _) = prepared.task(new.scenario)?;
        if let Where::Playground { .. } = &task.world
            && !takes_playgrounds
        {
            let message = "this task is done in a playground, not in a devbox";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let profile = new.particulars.profile.over(&general);
        let task_run = TaskRun {
            definition,
            particulars: Particulars {
                profile: profile.clone(),
                ..new.particulars
            },
            ..TaskRun::new(id, new.run, new.scenario, self.now())
        };
        let (started, _) = self
            .start(Starting {
                organization: new.organization,
                task_run,
                prepared,
                profile,
                comes: new.run.map_or(Comes::Alone, Comes::Joining),
                known_run,
                when,
            })
            .await?;
        Ok(started)
    }

    /// Prepares the workspace of a task run, writes its start and hands the workspace over.
    pub(super) async fn start(
        &self,
        starting: Starting,
    ) -> Result<(TaskRun, Option<Run>), EngineError> {
        let Starting {
            organization,
            task_run,
            prepared,
            profile,
            comes,
            known_run,
            when,
        } = starting;
        let (task, _) = prepared.task(task_run.task)?;
        let limit = prepared.benchmark.limit(task);
        // What may not start does not ask for a box.
        let facts = match known_run {
            Some(run) => self.facts_to_join(run).await?,
            None => self.facts_to_start(task_run.id, comes).await?,
        };
        task_run.clone().start(self.now(), limit)?;
        if let Some((run, active)) = &facts.run {
            run.run.value.clone().admit(self.now(), active)?;
        }
        let workspace = self.workspace(organization, &prepared, task_run.task)?;
        let devbox = workspace.prepare(&task_run, &profile).await?;
        let decide = |facts: &Facts, now| {
            let before = match &facts.planned {
                Some(planned) => planned.value.clone(),
                None => task_run.clone(),
            };
            let started = before.start(now, limit)?;
            let run = facts.run.as_ref().map(|(run, _)| run.run.value.clone());
            if !started.is_changed() {
                return Ok(Decision::Unchanged(Begun::Before(
                    started.into_inner(),
                    run,
                )));
            }
            let started = TaskRun {
                devbox,
                ..started.into_inner()
            };
            let opening = workspace.opening(&started)?;
            let mut progress = Progress {
                playground: opening.playground.clone(),
                on_disk: when,
                ..Progress::default()
            };
            let mut admitted = None;
            if let Some((run, active)) = &facts.run {
                let after = run.run.value.clone().admit(now, active)?.into_inner();
                let is_changed = after != run.run.value;
                // How many are at work decides who may begin: two such decisions at once must not both be right. Where any
                // number may, hundreds may join at once.
                if comes != Comes::Alone && (is_changed || run.run.value.is_limited()) {
                    progress.run = Some((run.run.clone(), after.clone()));
                }
                admitted = Some(after);
            }
            match (&facts.planned, comes) {
                (Some(planned), _) => {
                    progress.task_runs = vec![(planned.clone(), started.clone())];
                }
                (None, Comes::Alone) => progress.begins = Some((organization, started.clone())),
                (None, Comes::Planned(_) | Comes::Joining(_)) => {
                    progress.joins = Some(started.clone());
                }
            }
            let begun = Begun::Now(started, admitted, Box::new(opening));
            Ok(Decision::Write(Box::new(progress), begun))
        };
        let read = || self.facts_to_start(task_run.id, comes);
        match Box::pin(self.change(Some(facts), read, decide)).await {
            Ok(changed) => match changed.answer {
                Begun::Now(started, run, opening) => {
                    if let Some(deadline) = started.deadline() {
                        self.inner.deadlines.keep(started.id, deadline);
                    }
                    if let Some(run) = started.run {
                        self.inner.routes.forget(run);
                    }
                    workspace.open(&started, *opening).await?;
                    Ok((started, run))
                }
                Begun::Before(started, run) => {
                    workspace.withdraw(devbox).await;
                    Ok((started, run))
                }
            },
            Err(error) => {
                workspace.withdraw(devbox).await;
                Err(error)
            }
        }
    }

    async fn facts_to_start(&self, id: TaskRunId, comes: Comes) -> Result<Facts, EngineError> {
        match comes {
            Comes::Alone => Ok(Facts {
                planned: None,
                run: None,
            }),
            Comes::Planned(run) => {
                let run = self.run_with_active(run).await?;
                let planned = self.store().task_run(id).await?;
                Ok(Facts {
                    planned: Some(planned.ok_or(EngineError::NotFound("task run"))?),
                    run: Some(run),
                })
            }
            Comes::Joining(run) => {
                let run = self.store().tallied_run(run).await?;
                let run = run.ok_or(EngineError::NotFound("benchmark run"))?;
                self.facts_to_join(run).await
            }
        }
    }

    /// What joining a run is decided on: the run, and the task runs at work if it matters how many these are.
    async fn facts_to_join(&self, run: TalliedRun) -> Result<Facts, EngineError> {
        let run = match run.run.value.is_limited() {
            false => (run, Vec::new()),
            true => self.run_with_active(run.run.value.id).await?,
        };
        Ok(Facts {
            planned: None,
            run: Some(run),
        })
    }

    async fn run_with_active(&self, id: RunId) -> Result<(TalliedRun, Vec<TaskRun>), EngineError> {
        let ActiveRun { run, active, .. } = self.active_run(id).await?;
        Ok((run, active.into_iter().map(|one| one.value).collect()))
    }

    /// What a scenario of a benchmark run is started from: the run, and its definition.
    async fn definition_for_joining(
        &self,
        new: &NewScenarioRun,
        run: RunId,
    ) -> Result<(Arc<Prepared>, TalliedRun), EngineError> {
        let unknown = || EngineError::NotFound("benchmark run");
        let tallied = self.store().tallied_run(run).await?.ok_or_else(unknown)?;
        let run = &tallied.run.value;
        if run.organization != new.organization {
            return Err(unknown());
        }
        if run.is_over() {
            return Err(Refused::RunOver(run.status()).into());
        }
        let digest = &run.pinned.digest;
        let prepared = self.inner.catalog.benchmark(self.store(), digest).await?;
        if !prepared.has_task(new.scenario) {
            let message = "the scenario is not part of the benchmark that this benchmark run takes";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        Ok((prepared, tallied))
    }

    /// What a scenario by itself is started from: its draft as it stands.
    async fn definition_of_draft(
        &self,
        new: &NewScenarioRun,
    ) -> Result<(Arc<Prepared>, proctor_core::canonical::Digest), EngineError> {
        let scenario = self
            .store()
            .scenario(new.organization, new.scenario)
            .await?
            .ok_or(EngineError::NotFound("scenario"))?;
        if scenario.placed.archived {
            let message = "the scenario is archived; unarchive it before it is run";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let frozen = authoring::freeze_scenario(self.store(), new.scenario).await?;
        let prepared = self
            .inner
            .catalog
            .benchmark(self.store(), &frozen.digest)
            .await?;
        Ok((prepared, frozen.digest))
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
            scenario: playground.scenario.clone(),
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

/// The name of a task run's playground.
pub(crate) const fn playground_of(task_run: TaskRunId) -> PlaygroundId {
    PlaygroundId::from_uuid(task_run.uuid())
}
