//! The journal: everything that happens in worlds, append-only and hash-chained.
//!
//! An append names the position it expects to write at. A primary key of the database decides
//! between writers, so any number of them, on any number of machines, can share a world: who
//! loses is told where the journal stands, catches up and tries again. An append returns when
//! its events are on disk; appends that arrive while the disk is busy are committed together.
//!
//! A world is frozen by sealing its journal. The seal is itself an event: it takes a place in the
//! chain, so no writer can miss it, and nothing can be appended behind it.

mod committer;
mod event;
pub mod file;
mod log;
mod verify;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use proctor_core::id::kinds::WorldId;
use tokio::sync::{mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    committer::{Append, Committer},
    log::Tip,
};
pub use self::{
    event::{Event, Head, NewEvent, SEAL},
    verify::{Broken, Flaw, Verified},
};
use crate::{StoreError, database::Database, error::DatabaseError};
use proctor_macros::boxed_futures;

/// How many appends may wait for the disk before further ones wait to be taken.
const QUEUE: usize = 4096;

/// The journal of all worlds; cheap to clone.
#[derive(Clone)]
pub struct Journal {
    database: Database,
    appends: mpsc::Sender<Append>,
    stats: Arc<Counters>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// Why an append was not made. Nothing of it was written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// Somebody else wrote first: read from `expected` on, decide anew, try again.
    #[error("the journal of {world} stands at {actual}, not at {expected}")]
    Conflict {
        /// The world.
        world: WorldId,
        /// Where the caller thought the journal stood.
        expected: u64,
        /// Where it stands.
        actual: u64,
    },
    /// The world is frozen.
    #[error("{world} is frozen; its journal ends at {at}")]
    Sealed {
        /// The world.
        world: WorldId,
        /// How many events it has, the seal included.
        at: u64,
    },
    /// An append of nothing.
    #[error("an append needs at least one event")]
    Empty,
    /// The database failed. Whether the events were written is known after reading.
    #[error("the journal could not be written")]
    Store(#[source] Arc<StoreError>),
}

/// Counts since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Events written.
    pub events: u64,
    /// Commits made for them.
    pub commits: u64,
    /// Appends refused because somebody else wrote first.
    pub conflicts: u64,
    /// Appends that failed with the database.
    pub failures: u64,
}

#[derive(Debug, Default)]
struct Counters {
    events: AtomicU64,
    commits: AtomicU64,
    conflicts: AtomicU64,
    failures: AtomicU64,
}

#[boxed_futures]
impl Journal {
    pub(crate) fn open(database: Database) -> Self {
        let (appends, queue) = mpsc::channel(QUEUE);
        let (stats, closing, tasks) =
            (Arc::default(), CancellationToken::new(), TaskTracker::new());
        let committer = Committer::new(database.clone(), Arc::clone(&stats));
        tasks.spawn(committer.run(queue, closing.clone()));
        tasks.close();
        Self {
            database,
            appends,
            stats,
            closing,
            tasks,
        }
    }

    /// Appends `events`, all or none, to the journal of `world`, which must hold exactly
    /// `expected` events. Returns when they are on disk.
    pub async fn append(
        &self,
        world: WorldId,
        expected: u64,
        events: Vec<NewEvent>,
    ) -> Result<Head, AppendError> {
        if events.is_empty() {
            return Err(AppendError::Empty);
        }
        let closed = || AppendError::Store(Arc::new(DatabaseError::Closed.into()));
        let (reply, answer) = oneshot::channel();
        self.appends
            .send(Append {
                world,
                expected,
                events,
                reply,
            })
            .await
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Freezes `world` by appending the seal.
    pub async fn seal(
        &self,
        world: WorldId,
        expected: u64,
        at: proctor_core::time::Timestamp,
    ) -> Result<Head, AppendError> {
        self.append(
            world,
            expected,
            vec![NewEvent {
                at,
                kind: SEAL.into(),
                payload: Vec::new(),
            }],
        )
        .await
    }

    /// Where the journal of `world` stands.
    pub async fn head(&self, world: WorldId) -> Result<Head, StoreError> {
        Ok(Tip::load(&self.database, world).await?.head)
    }

    /// Where the journals of those of `worlds` that are frozen end.
    pub async fn sealed_heads(
        &self,
        worlds: &[WorldId],
    ) -> Result<HashMap<WorldId, Head>, StoreError> {
        log::sealed_heads(&self.database, worlds).await
    }

    /// At most `limit` events of `world`, from the one with number `from` on.
    pub async fn read(
        &self,
        world: WorldId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
        log::read(&self.database, world, from, limit).await
    }

    /// The first world after `after` that has events, in the order of their ids.
    pub async fn next_world(&self, after: Option<WorldId>) -> Result<Option<WorldId>, StoreError> {
        log::next_world(&self.database, after).await
    }

    /// Checks every link of the chain of `world`.
    pub async fn verify(&self, world: WorldId) -> Result<Result<Verified, Broken>, StoreError> {
        verify::verify(&self.database, world).await
    }

    /// What was counted so far.
    pub fn stats(&self) -> JournalStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        JournalStats {
            events: read(&self.stats.events),
            commits: read(&self.stats.commits),
            conflicts: read(&self.stats.conflicts),
            failures: read(&self.stats.failures),
        }
    }

    /// Commits what was taken, takes no more.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.wait().await;
    }
}
