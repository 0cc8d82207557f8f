//! The worlds at work on this node. The journal has them all; here are those that were used lately.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use proctor_core::{
    id::kinds::{PlaygroundId, WorldId},
    time::Timestamp,
};
use proctor_playground::{
    environment::Blueprint,
    world::{NotOpened, OpenError, Origin, Rehearsal, Scenario, Surroundings, World},
};
use proctor_simulation::seed::Seed;

use crate::error::EngineError;

/// The worlds at work.
pub(crate) struct Worlds {
    around: Surroundings,
    public_url: String,
    open: Mutex<HashMap<PlaygroundId, World>>,
}

/// How a world begins, should it not have begun.
pub(crate) struct Beginning<'a> {
    pub(crate) blueprint: &'a Arc<Blueprint>,
    pub(crate) scenario: Scenario,
    pub(crate) at: Timestamp,
    /// Where agents reach it, below the server's address.
    pub(crate) path: String,
    /// What its ids and passwords follow from.
    pub(crate) seed: Seed,
}

impl Worlds {
    pub(crate) fn new(around: Surroundings, public_url: String) -> Self {
        Self {
            around,
            public_url,
            open: Mutex::default(),
        }
    }

    pub(crate) fn around(&self) -> &Surroundings {
        &self.around
    }

    /// What a world is made from.
    pub(crate) fn origin(&self, id: PlaygroundId, beginning: &Beginning<'_>) -> Origin {
        Origin {
            id: world_of(id),
            blueprint: Arc::clone(beginning.blueprint),
            seed: beginning.seed,
            base_url: format!("{}{}", self.public_url, beginning.path),
            scenario: beginning.scenario.clone(),
        }
    }

    /// The world if it is at work here.
    pub(crate) fn get(&self, id: PlaygroundId) -> Option<World> {
        self.open().get(&id).cloned()
    }

    /// The world: as it is at work, as its journal tells, or begun now. A world begins in the same
    /// way whenever that happens, so it may safely happen late.
    pub(crate) async fn ensure(
        &self,
        id: PlaygroundId,
        beginning: &Beginning<'_>,
    ) -> Result<World, EngineError> {
        if let Some(world) = self.get(id) {
            return Ok(world);
        }
        let origin = self.origin(id, beginning);
        match World::open(origin, &self.around).await {
            Ok(world) => Ok(self.keep(id, world)),
            Err(OpenError::NotOpened) => self.begin(id, self.rehearse(id, beginning)?).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Lets the scenario of a world happen in memory.
    pub(crate) fn rehearse(
        &self,
        id: PlaygroundId,
        beginning: &Beginning<'_>,
    ) -> Result<Rehearsal, NotOpened> {
        let origin = self.origin(id, beginning);
        Rehearsal::of(origin, beginning.at)
    }

    /// Begins a world as it was rehearsed.
    pub(crate) async fn begin(
        &self,
        id: PlaygroundId,
        rehearsal: Rehearsal,
    ) -> Result<World, EngineError> {
        let world = World::begin(rehearsal, &self.around).await?;
        Ok(self.keep(id, world))
    }

    /// Two may have opened a world at once: all go on with the first, so that they share its state.
    fn keep(&self, id: PlaygroundId, world: World) -> World {
        self.open().entry(id).or_insert(world).clone()
    }

    /// Lets go of a world that is over; its journal remains.
    pub(crate) fn close(&self, id: PlaygroundId) {
        self.open().remove(&id);
    }

    /// How many worlds are at work.
    pub(crate) fn count(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<PlaygroundId, World>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a playground's journal.
pub(crate) const fn world_of(id: PlaygroundId) -> WorldId {
    WorldId::from_uuid(id.uuid())
}
