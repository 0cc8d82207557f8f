//! Devboxes that were being made when the server died.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use proctor_core::devbox::{DevboxBase, DevboxSetup, DevboxStatus, Initiator};
use proctor_devbox::{
    Backend, BaseName, BoxId, BoxRecord, BoxSpec, Devbox, LayerId, LayerRecord, Report, Result,
    Sweep,
};
use proctor_fleet::{NewDevbox, snapshots::NewSnapshot};
use tokio::runtime::Runtime;

use crate::support::{House, PATIENCE};

/// A backend that can be stuck in making a box, and that notes what is made before a sweep is over.
struct Watched {
    backend: Arc<dyn Backend>,
    stuck: bool,
    swept: AtomicBool,
    made_early: Mutex<Vec<BoxId>>,
}

#[async_trait]
impl Backend for Watched {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    async fn doctor(&self) -> Report {
        self.backend.doctor().await
    }

    async fn create(&self, spec: BoxSpec) -> Result<Arc<dyn Devbox>> {
        if self.stuck {
            std::future::pending::<()>().await;
        }
        if !self.swept.load(Ordering::SeqCst) {
            self.made_early.lock().unwrap().push(spec.id.clone());
        }
        self.backend.create(spec).await
    }

    async fn open(&self, id: &BoxId) -> Result<Arc<dyn Devbox>> {
        self.backend.open(id).await
    }

    async fn list(&self) -> Result<Vec<BoxRecord>> {
        self.backend.list().await
    }

    async fn sweep(&self, owned: &BTreeSet<BoxId>) -> Result<Sweep> {
        // Long enough for every launch that was begun before.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let swept = self.backend.sweep(owned).await;
        self.swept.store(true, Ordering::SeqCst);
        swept
    }

    async fn register_rootfs(&self, name: &BaseName, directory: &Path) -> Result<()> {
        self.backend.register_rootfs(name, directory).await
    }

    async fn layers(&self) -> Result<Vec<LayerRecord>> {
        self.backend.layers().await
    }

    async fn layer_bytes(&self, id: &LayerId) -> Result<u64> {
        self.backend.layer_bytes(id).await
    }

    async fn delete_layer(&self, id: &LayerId) -> Result<()> {
        self.backend.delete_layer(id).await
    }

    async fn drain(&self) {
        self.backend.drain().await;
    }
}

impl Watched {
    fn over(backend: &Arc<dyn Backend>, stuck: bool) -> Arc<Self> {
        Arc::new(Self {
            backend: Arc::clone(backend),
            stuck,
            swept: AtomicBool::new(false),
            made_early: Mutex::default(),
        })
    }
}

fn new() -> NewDevbox {
    NewDevbox {
        name: None,
        metadata: [].into(),
        setup: DevboxSetup::default(),
        initiator: Initiator::Invocation,
        tunnel: None,
    }
}

#[tokio::test]
async fn nothing_is_made_before_the_remainders_of_the_last_process_are_gone() {
    let house = House::open().await;
    let before = house.fleet_on(Watched::over(&house.backend, true)).await;
    let id = before.create(house.organization, new()).await.unwrap().id;

    let watched = Watched::over(&house.backend, false);
    let after = house.fleet_on(watched.clone()).await;
    after.recover().await.unwrap();
    let statuses = [DevboxStatus::Running, DevboxStatus::Failure];
    let waited = after.wait_for(house.organization, id, &statuses, PATIENCE);
    let record = waited.await.unwrap().unwrap();
    assert_eq!(record.status(), DevboxStatus::Running, "{:?}", record.life);
    assert_eq!(*watched.made_early.lock().unwrap(), []);
    house.end().await;
}

#[test]
fn every_devbox_that_was_acknowledged_comes_to_be_after_the_server_died() {
    let mut directory = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    // At first no launch gets anywhere, then each as far as it comes.
    for stuck in [true, false, true] {
        let runtime = Runtime::new().unwrap();
        let (left, backend) = runtime.block_on(async {
            let house = House::in_directory(directory).await;
            let fleet = house.fleet_on(Watched::over(&house.backend, stuck)).await;
            for _ in 0..16 {
                let made = fleet.create(house.organization, new()).await;
                ids.push(made.unwrap().id);
            }
            house.abandon()
        });
        // Every task ends wherever it is, as in a process that is killed.
        drop(runtime);
        Runtime::new().unwrap().block_on(backend.drain());
        directory = left;
    }
    Runtime::new().unwrap().block_on(async {
        let house = House::in_directory(directory).await;
        for id in ids {
            let record = house.reaches(id, DevboxStatus::Running).await;
            assert_eq!(record.status(), DevboxStatus::Running, "{:?}", record.life);
        }
        house.end().await;
    });
}

#[test]
fn a_devbox_that_is_being_made_keeps_the_snapshot_that_it_starts_from() {
    let runtime = Runtime::new().unwrap();
    let (directory, backend, id) = runtime.block_on(async {
        let house = House::open().await;
        let first = house.running(DevboxSetup::default()).await;
        house.sh(first, "echo kept >notes").await;
        let organization = house.organization;
        let taken = house
            .fleet
            .snapshot(organization, first, NewSnapshot::default());
        let snapshot = taken.await.unwrap().id;
        let stuck = house.fleet_on(Watched::over(&house.backend, true)).await;
        let mut new = new();
        new.setup.base = DevboxBase::Snapshot(snapshot);
        let id = stuck.create(organization, new).await.unwrap().id;
        let deleted = stuck.delete_disk_snapshot(organization, snapshot);
        deleted.await.unwrap();
        let (directory, backend) = house.abandon();
        (directory, backend, id)
    });
    drop(runtime);
    Runtime::new().unwrap().block_on(backend.drain());
    drop(backend);
    Runtime::new().unwrap().block_on(async {
        let house = House::in_directory(directory).await;
        let record = house.reaches(id, DevboxStatus::Running).await;
        assert_eq!(record.status(), DevboxStatus::Running, "{:?}", record.life);
        assert_eq!(house.sh(id, "cat notes").await.1, "kept\n");
        house.end().await;
    });
}
