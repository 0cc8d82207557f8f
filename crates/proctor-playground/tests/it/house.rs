//! A journal on disk, and the recorders that write to one world of it.

use std::sync::Arc;

use proctor_core::{id::kinds::WorldId, time::Clock};
use proctor_playground::world::Surroundings;
use proctor_store::{
    Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
    journal::Event,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// The world that everything happens in.
pub(crate) const WORLD: WorldId = WorldId::from_uuid(Uuid::from_u128(42));

/// A journal that goes when it is dropped.
pub(crate) struct House {
    pub(crate) store: Store,
    tasks: TaskTracker,
    closing: CancellationToken,
    _directory: tempfile::TempDir,
}

impl House {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = StoreOptions::embedded(directory.path());
        let ids = Arc::new(RandomIds::default());
        let store = Store::open(&options, Arc::new(SystemClock), ids).await;
        Self {
            store: store.unwrap(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            _directory: directory,
        }
    }

    /// What surrounds a world, or a recorder of its own, as another node would have.
    pub(crate) fn around(&self, clock: Arc<dyn Clock>) -> Surroundings {
        Surroundings {
            journal: self.store.journal().clone(),
            clock,
            tasks: self.tasks.clone(),
            closing: self.closing.clone(),
        }
    }

    /// What the journal holds now.
    pub(crate) async fn events(&self) -> Vec<Event> {
        self.store.journal().read(WORLD, 0, 1_000).await.unwrap()
    }

    /// What the journal holds when every recorder has ended.
    pub(crate) async fn final_events(&self) -> Vec<Event> {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.events().await
    }
}
