//! Playgrounds that belong to no run: for trying an environment, and for those who write tasks.

use std::sync::Arc;

use proctor_core::{
    canonical::Digest,
    environment::Dataset,
    id::kinds::{EnvironmentId, OrganizationId, PlaygroundId, RunId, SimulatorId, TaskRunId},
};
use proctor_macros::boxed_futures;
use proctor_playground::{
    environment::Blueprint,
    world::{Scenario, World, WorldEvent, WorldReader},
};
use proctor_simulation::{
    entrance::{Closed, Entrance, Entrances},
    registry::SimulatorPlugin,
    seed::Seed,
};
use proctor_store::playgrounds::{Place, Playground, Sandbox};
use serde_json::Value;

use crate::{
    engine::Engine,
    error::EngineError,
    runs::{Asked, playground_of},
    worlds::Beginning,
};

/// Where a sandbox leads to now.
pub struct Behind {
    /// The world.
    pub world: World,
    /// The door in it.
    pub door: usize,
}

#[boxed_futures]
impl Engine {
    /// Makes a playground from an environment as it stands.
    pub async fn create_playground(
        &self,
        organization: OrganizationId,
        environment: EnvironmentId,
    ) -> Result<(Playground, Vec<Sandbox>), EngineError> {
        let digest = self.freeze_environment(organization, environment).await?;
        self.open_playground(organization, Some(environment), digest)
            .await
    }

    async fn open_playground(
        &self,
        organization: OrganizationId,
        environment: Option<EnvironmentId>,
        digest: Digest,
    ) -> Result<(Playground, Vec<Sandbox>), EngineError> {
        let blueprint = self.inner.catalog.blueprint(self.store(), &digest).await?;
        let playground = Playground {
            id: self.store().fresh_id(),
            organization,
            environment,
            digest,
            task_run: None,
            created_at: self.now(),
            ended_at: None,
        };
        let sandboxes = self.sandboxes(organization, Place::Playground(playground.id), &blueprint);
        self.store()
            .create_playground(&playground, &sandboxes)
            .await?;
        self.world_of_playground(&playground).await?;
        Ok((playground, sandboxes))
    }

    /// Freezes a playground and lets go of it. Its events can still be read.
    pub async fn tear_down(&self, playground: &Playground) -> Result<(), EngineError> {
        if playground.task_run.is_some() {
            return Err(EngineError::Unclear(
                "this playground belongs to a task run; complete or cancel that instead".to_owned(),
            ));
        }
        let world = self.world_of_playground(playground).await?;
        world.freeze(self.now()).await?;
        self.store().end_playground(playground.id).await?;
        self.inner.worlds.close(playground.id);
        Ok(())
    }

    /// The world of a playground, whoever it belongs to.
    pub async fn world_of_playground(&self, playground: &Playground) -> Result<World, EngineError> {
        if let Some(world) = self.inner.worlds.get(playground.id) {
            return Ok(world);
        }
        if let Some(id) = playground.task_run {
            let found = self.task_run_snapshot(Asked::ByEngine, id).await?;
            return self.world_of_task(found.value(), &found.prepared).await;
        }
        let blueprint = self
            .inner
            .catalog
            .blueprint(self.store(), &playground.digest)
            .await?;
        let beginning = Beginning {
            blueprint: &blueprint,
            scenario: Scenario::default(),
            at: playground.created_at,
            path: format!("/playgrounds/{}", playground.id),
            seed: self.seed_of_playground(playground.id),
        };
        self.inner.worlds.ensure(playground.id, &beginning).await
    }

    /// What is behind a sandbox now.
    pub async fn behind(&self, sandbox: &Sandbox) -> Result<Behind, EngineError> {
        let world = match sandbox.place {
            Place::Run(run) => self.world_of_run(run, None).await?,
            Place::Playground(id) => {
                let playground = self.playground(id).await?;
                self.world_of_playground(&playground).await?
            }
        };
        Ok(Behind {
            world,
            door: sandbox.door as usize,
        })
    }

    /// The world whose events a sandbox shows: also of what is over. A run's door shows the task run
    /// that began last.
    pub async fn remembered(&self, sandbox: &Sandbox) -> Result<Option<Behind>, EngineError> {
        let id = match sandbox.place {
            Place::Playground(id) => id,
            Place::Run(run) => match self.latest_started(run).await? {
                Some(task_run) => playground_of(task_run),
                None => return Ok(None),
            },
        };
        let playground = self.playground(id).await?;
        Ok(Some(Behind {
            world: self.world_to_look_at(&playground).await?,
            door: sandbox.door as usize,
        }))
    }

    /// The world of a playground, which is not kept open for being looked at.
    async fn world_to_look_at(&self, playground: &Playground) -> Result<World, EngineError> {
        let is_live = self.inner.worlds.get(playground.id).is_some();
        let world = self.world_of_playground(playground).await?;
        if !is_live && world.frozen_at().is_some() {
            self.inner.worlds.close(playground.id);
        }
        Ok(world)
    }

    /// Everything that happened in the world of a task run, at all doors, oldest first; nothing if it has no such world.
    pub async fn task_run_events(&self, id: TaskRunId) -> Result<Vec<WorldEvent>, EngineError> {
        match self.store().playground(playground_of(id)).await? {
            None => Ok(Vec::new()),
            Some(playground) => {
                let world = self.world_to_look_at(&playground).await?;
                Ok(world.events(None).await?)
            }
        }
    }

    /// A reader of the world of a task run; none if it has no such world. Reading begins nothing and keeps no world at work.
    pub async fn task_run_reader(&self, id: TaskRunId) -> Result<Option<WorldReader>, EngineError> {
        let found = self.task_run_snapshot(Asked::ByEngine, id).await?;
        let task_run = found.value();
        if task_run.devbox.is_some() || task_run.started_at().is_none() {
            return Ok(None);
        }
        let beginning = self.beginning(task_run, &found.prepared)?;
        let origin = self.inner.worlds.origin(playground_of(id), &beginning);
        let journal = self.inner.worlds.around().journal.clone();
        Ok(Some(WorldReader::new(origin, journal)))
    }

    async fn latest_started(&self, run: RunId) -> Result<Option<TaskRunId>, EngineError> {
        let whole = self.whole_run(run).await?;
        let started = whole.task_runs.iter().map(|one| &one.value);
        Ok(started
            .filter(|one| one.started_at().is_some())
            .max_by_key(|one| (one.is_active(), one.started_at()))
            .map(|one| one.id))
    }

    /// Everything that happened in a sandbox, oldest first.
    pub async fn sandbox_events(&self, sandbox: &Sandbox) -> Result<Vec<WorldEvent>, EngineError> {
        match self.remembered(sandbox).await? {
            None => Ok(Vec::new()),
            Some(behind) => Ok(behind.world.events(Some(behind.door)).await?),
        }
    }

    /// Makes a playground with one simulator; its only sandbox.
    pub async fn create_sandbox(
        &self,
        organization: OrganizationId,
        simulator: SimulatorId,
    ) -> Result<Sandbox, EngineError> {
        let digest = self.freeze_simulator(organization, simulator).await?;
        let (_, mut sandboxes) = self.open_playground(organization, None, digest).await?;
        sandboxes
            .pop()
            .ok_or_else(|| EngineError::Fault("a playground without its sandbox".to_owned()))
    }

    /// What the passwords and tokens in a run's worlds follow from.
    pub(crate) fn seed_of_run(&self, run: RunId) -> Seed {
        let secret = self.store().derive_secret("run", run.uuid().as_bytes());
        Seed::from_bytes(&secret)
    }

    pub(crate) fn seed_of_playground(&self, id: PlaygroundId) -> Seed {
        let secret = self
            .store()
            .derive_secret("playground", id.uuid().as_bytes());
        Seed::from_bytes(&secret)
    }

    /// What the passwords and tokens of a sandbox follow from.
    async fn seed_of_sandbox(&self, sandbox: &Sandbox) -> Result<Seed, EngineError> {
        let id = match sandbox.place {
            Place::Run(run) => return Ok(self.seed_of_run(run)),
            Place::Playground(id) => id,
        };
        let Some(task_run) = self.playground(id).await?.task_run else {
            return Ok(self.seed_of_playground(id));
        };
        let run = self.store().task_run(task_run).await?;
        let run = run.and_then(|task_run| task_run.value.run);
        Ok(match run {
            Some(run) => self.seed_of_run(run),
            None => self.seed_of_playground(id),
        })
    }

    /// The entrance to the first simulator of a type in the worlds of a run, which are asked at `base`.
    pub fn entrance_of_run(
        &self,
        run: RunId,
        plugin: &dyn SimulatorPlugin,
        base: &str,
    ) -> Box<dyn Entrance> {
        match plugin.entrances() {
            Entrances::Fixed(entrance) => entrance,
            Entrances::Seeded(make) => make(self.seed_of_run(run), 0, base),
        }
    }

    /// The entrance to a sandbox, which is asked at `base`.
    pub async fn entrance_of_sandbox(
        &self,
        sandbox: &Sandbox,
        base: &str,
    ) -> Result<Box<dyn Entrance>, EngineError> {
        let plugin = self.extensions().simulators.find(sandbox.kind.as_str());
        let make = match plugin.map(|plugin| plugin.entrances()) {
            Some(Entrances::Seeded(make)) => make,
            Some(Entrances::Fixed(entrance)) => return Ok(entrance),
            None => return Ok(Box::new(Closed)),
        };
        let seed = self.seed_of_sandbox(sandbox).await?;
        let siblings = self.store().sandboxes_of(sandbox.place).await?;
        let is_before = |one: &&Sandbox| one.kind == sandbox.kind && one.door < sandbox.door;
        let number = siblings.iter().filter(is_before).count();
        Ok(make(seed, number, base))
    }

    /// A playground.
    pub async fn playground(&self, id: PlaygroundId) -> Result<Playground, EngineError> {
        self.store()
            .playground(id)
            .await?
            .ok_or(EngineError::NotFound("playground"))
    }

    /// What an agent needs to use a sandbox.
    pub async fn sandbox_credentials(&self, sandbox: &Sandbox) -> Result<Value, EngineError> {
        let (blueprint, seed, prefix): (Arc<Blueprint>, Seed, String) = match sandbox.place {
            Place::Run(run) => {
                let blueprint = self
                    .active_run(run)
                    .await?
                    .prepared
                    .blueprint()
                    .cloned()
                    .ok_or(EngineError::NotFound("sandbox"))?;
                (
                    blueprint,
                    self.seed_of_run(run),
                    format!("/v1/benchmark-runs/{run}"),
                )
            }
            Place::Playground(id) => {
                let playground = self.playground(id).await?;
                let seed = self.seed_of_sandbox(sandbox).await?;
                let blueprint = self
                    .inner
                    .catalog
                    .blueprint(self.store(), &playground.digest)
                    .await?;
                (blueprint, seed, format!("/sandboxes/{}", sandbox.id))
            }
        };
        let mut all = self.credentials(&blueprint, seed, &prefix);
        let door = sandbox.door as usize;
        if door < all.len() {
            Ok(all.swap_remove(door))
        } else {
            Err(EngineError::Fault("a sandbox without a door".to_owned()))
        }
    }

    /// Puts a data set into a sandbox, or takes out what it brought.
    pub async fn attach(
        &self,
        sandbox: &Sandbox,
        dataset: &Dataset,
        attached: bool,
    ) -> Result<(), EngineError> {
        let Behind { world, door } = self.behind(sandbox).await?;
        if attached {
            world.load(door, dataset).await?;
        } else {
            world.unload(door, dataset).await?;
        }
        Ok(())
    }
}
