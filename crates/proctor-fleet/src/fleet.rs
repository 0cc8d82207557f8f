//! The fleet: what it owns, how it begins and ends.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

use proctor_core::{
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
    time::{Clock, Timestamp},
};
use proctor_devbox::{Backend, scatter};
use proctor_macros::boxed_futures;
use proctor_store::Store;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    error::FleetError,
    executions::Keeping,
    frozen::{KeepFrozen, Uses},
    git::{GitOptions, Repositories},
    live::Live,
    mounts::Mounter,
};

/// How a fleet works.
#[derive(Clone)]
pub struct FleetOptions {
    /// A directory of its own, for logs and for the name of this machine. Devboxes of a store belong to the machine that
    /// made them.
    pub data: PathBuf,
    /// What puts mounts into boxes; one with repositories in `data` if absent.
    pub mounter: Option<Mounter>,
    /// How many frozen disks are kept.
    pub keep_frozen: KeepFrozen,
    /// How much is kept of commands that have ended.
    pub keeping: Keeping,
}

impl FleetOptions {
    /// The usual options, with files in `data`.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            mounter: None,
            keep_frozen: KeepFrozen::default(),
            keeping: Keeping::default(),
        }
    }
}

/// All devboxes of this machine; cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) data: PathBuf,
    pub(crate) node: String,
    pub(crate) mounter: Mounter,
    pub(crate) keeping: Keeping,
    pub(crate) tasks: TaskTracker,
    pub(crate) closing: CancellationToken,
    pub(crate) keep_frozen: KeepFrozen,
    pub(crate) frozen_uses: Uses,
    /// Held while frozen disks are given up, so that none is that somebody is about to use.
    pub(crate) giving_up_frozen: tokio::sync::Mutex<()>,
    /// Held to read while a devbox is asked for that starts from a snapshot, and to write while layers of snapshots are removed.
    pub(crate) snapshot_bases: tokio::sync::RwLock<()>,
    /// Whether somebody is about to tidy up.
    pub(crate) tidying_up: AtomicBool,
    backend: Result<Arc<dyn Backend>, String>,
    clock: Arc<dyn Clock>,
    live: Mutex<HashMap<DevboxId, Arc<Live>>>,
}

#[boxed_futures]
impl Fleet {
    /// A fleet on a store and a backend. What an earlier process left is taken up by [`Fleet::recover`].
    pub async fn open(
        options: FleetOptions,
        store: Store,
        backend: Arc<dyn Backend>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FleetError> {
        Self::with(options, store, Ok(backend), clock)
    }

    /// A fleet on a machine that cannot have boxes: what was is still known, and new ones are refused with `why`.
    pub async fn without_boxes(
        options: FleetOptions,
        store: Store,
        why: impl Into<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FleetError> {
        Self::with(options, store, Err(why.into()), clock)
    }

    fn with(
        options: FleetOptions,
        store: Store,
        backend: Result<Arc<dyn Backend>, String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FleetError> {
        let logs = options.data.join("logs");
        fs_err::create_dir_all(&logs)?;
        scatter(&logs);
        let fresh: Uuid = store.fresh_id::<DevboxKind>().uuid();
        let node = name_of_this_machine(&options.data, fresh)?;
        let mounter = options.mounter.unwrap_or_else(|| {
            let repositories = GitOptions::new(options.data.join("repositories"));
            Mounter::new(store.clone(), Repositories::new(repositories))
        });
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                data: options.data,
                node,
                mounter,
                keeping: options.keeping,
                tasks: TaskTracker::new(),
                closing: CancellationToken::new(),
                keep_frozen: options.keep_frozen,
                frozen_uses: Uses::default(),
                giving_up_frozen: tokio::sync::Mutex::default(),
                snapshot_bases: tokio::sync::RwLock::default(),
                tidying_up: AtomicBool::new(false),
                backend,
                clock,
                live: Mutex::default(),
            }),
        })
    }

    /// Ends everything that waits: long polls, streams, clocks.
    pub fn stop_waiting(&self) {
        self.inner.closing.cancel();
    }

    /// Lets go of the boxes, which stay as they are, and waits for what is under way.
    pub async fn close(&self) {
        self.stop_waiting();
        let live = self.all_live();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        for devbox in live {
            devbox.followers.close();
            devbox.followers.wait().await;
        }
        if let Ok(backend) = &self.inner.backend {
            backend.drain().await;
        }
    }

    /// Cancelled when the server is about to end and nothing should wait any longer.
    pub fn closing(&self) -> &CancellationToken {
        &self.inner.closing
    }

    /// What is remembered.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// What makes boxes, or why nothing can.
    pub fn backend(&self) -> Result<&Arc<dyn Backend>, FleetError> {
        self.inner
            .backend
            .as_ref()
            .map_err(|why| FleetError::Impossible(why.clone()))
    }

    /// The name that this machine's devboxes carry in the store.
    pub fn machine(&self) -> &str {
        &self.inner.node
    }

    /// How many devboxes of this machine have not ended.
    pub fn live_devboxes(&self) -> usize {
        self.live().len()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn live(&self) -> MutexGuard<'_, HashMap<DevboxId, Arc<Live>>> {
        self.inner
            .live
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all_live(&self) -> Vec<Arc<Live>> {
        self.live().values().cloned().collect()
    }

    pub(crate) fn insert(&self, live: Arc<Live>) {
        self.live().insert(live.id, live);
    }

    pub(crate) fn remove(&self, id: DevboxId) {
        self.live().remove(&id);
    }

    pub(crate) fn find_live(&self, id: DevboxId) -> Option<Arc<Live>> {
        self.live().get(&id).cloned()
    }

    /// The devbox of that name that has not ended, if it is the organization's.
    pub(crate) fn live_of(&self, organization: OrganizationId, id: DevboxId) -> Option<Arc<Live>> {
        self.find_live(id)
            .filter(|live| live.organization() == organization)
    }

    /// A directory for what boxes are shown and must not change. It holds nothing when none is.
    pub fn shown(&self) -> PathBuf {
        self.inner.data.join("shown")
    }

    /// In one of a few directories: as many files as there ever were devboxes do not belong into one.
    pub(crate) fn log_file(&self, id: DevboxId) -> PathBuf {
        let name = id.to_string();
        let shelf = name.chars().next_back().unwrap_or('0').to_lowercase();
        let logs = self.inner.data.join("logs");
        logs.join(shelf.to_string()).join(format!("{name}.jsonl"))
    }
}

/// The name that this machine's devboxes carry in the store, chosen once.
fn name_of_this_machine(data: &Path, fresh: Uuid) -> std::io::Result<String> {
    let path = data.join("node");
    match fs_err::read_to_string(&path) {
        Ok(name) if !name.trim().is_empty() => Ok(name.trim().to_owned()),
        Ok(_) => write_name(&path, fresh),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => write_name(&path, fresh),
        Err(error) => Err(error),
    }
}

fn write_name(path: &Path, fresh: Uuid) -> std::io::Result<String> {
    let name = fresh.simple().to_string();
    fs_err::write(path, &name)?;
    Ok(name)
}
