//! What handlers share.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use proctor_core::{id::kinds::TaskRunId, run::Run};
use proctor_engine::{Engine, EngineError};
use proctor_fleet::Fleet;
use proctor_store::Store;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{memo::Memos, run_model::RunModel, timeline::index::WorldIndex};

/// How many browser tabs may follow something at once; further ones poll.
const LIVE_VIEWERS: usize = 1000;

/// How many runs that are over are kept ready: their pages are turned over, sorted and filtered.
const KNOWN_RUNS: usize = 24;

/// How many worlds are kept ready, and how many events they may have together.
const KNOWN_WORLDS: usize = 12;
const KNOWN_EVENTS: usize = 400_000;

/// The index of a world, which one request at a time reads on.
pub(crate) type SharedIndex = Arc<tokio::sync::Mutex<WorldIndex>>;

/// A world that was looked at lately.
struct KnownWorld {
    id: TaskRunId,
    index: SharedIndex,
    events: usize,
}

/// How the pages are reached.
#[derive(Clone, Debug, Default)]
pub struct WebOptions {
    /// The server's address as people see it, without a slash at the end, if it is known.
    pub public_url: Option<String>,
    /// Where the server listens.
    pub listen: Option<SocketAddr>,
    /// Whether the server itself speaks TLS.
    pub is_tls: bool,
}

/// What every page can reach. Cheap to clone.
#[derive(Clone)]
pub struct WebState(Arc<Shared>);

struct Shared {
    engine: Engine,
    fleet: Option<Fleet>,
    options: WebOptions,
    live: Arc<Semaphore>,
    stop: CancellationToken,
    /// Runs that are over, the last used last. They do not change, except for their place on the leaderboard.
    runs: Mutex<Vec<Arc<RunModel>>>,
    memos: Memos,
    /// Worlds that were looked at, the last used last. Journals only grow, so an index is read on and never made anew.
    worlds: Mutex<Vec<KnownWorld>>,
}

impl WebState {
    /// The state of pages over this engine. Live updates end when `stop` is cancelled, so that they do not hold up the server.
    pub fn new(
        engine: Engine,
        fleet: Option<Fleet>,
        options: WebOptions,
        stop: CancellationToken,
    ) -> Self {
        Self(Arc::new(Shared {
            engine,
            fleet,
            options,
            live: Arc::new(Semaphore::new(LIVE_VIEWERS)),
            stop,
            runs: Mutex::default(),
            memos: Memos::default(),
            worlds: Mutex::default(),
        }))
    }

    /// The index of a task run's world, as far as it was read before.
    pub(crate) async fn world(&self, id: TaskRunId) -> Result<SharedIndex, EngineError> {
        let known = |worlds: &mut Vec<KnownWorld>| {
            let place = worlds.iter().position(|one| one.id == id)?;
            let found = worlds.remove(place);
            let index = Arc::clone(&found.index);
            worlds.push(found);
            Some(index)
        };
        if let Some(index) = known(&mut self.worlds()) {
            return Ok(index);
        }
        let reader = self.engine().task_run_reader(id).await?;
        // Nothing may have begun yet; whoever looks later begins anew.
        let is_kept = reader.is_some();
        let index = Arc::new(tokio::sync::Mutex::new(WorldIndex::new(reader)));
        let mut worlds = self.worlds();
        if let Some(index) = known(&mut worlds) {
            return Ok(index);
        }
        if is_kept {
            worlds.push(KnownWorld {
                id,
                index: Arc::clone(&index),
                events: 0,
            });
        }
        Ok(index)
    }

    /// Notes how large an index is now, and lets go of what was not used for longest where all are too large. One that could not
    /// be read to its end is not kept.
    pub(crate) fn note_world(&self, id: TaskRunId, index: &WorldIndex) {
        let mut worlds = self.worlds();
        if index.problem().is_some() {
            worlds.retain(|one| one.id != id);
        }
        if let Some(known) = worlds.iter_mut().find(|one| one.id == id) {
            known.events = index.entries().len();
        }
        let size = |worlds: &[KnownWorld]| worlds.iter().map(|one| one.events).sum::<usize>();
        while worlds.len() > KNOWN_WORLDS || (worlds.len() > 1 && size(&worlds) > KNOWN_EVENTS) {
            worlds.remove(0);
        }
    }

    fn worlds(&self) -> std::sync::MutexGuard<'_, Vec<KnownWorld>> {
        self.0.worlds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run that was read before and has not changed since.
    pub(crate) fn known_run(&self, run: &Run, shows_evidence: bool) -> Option<Arc<RunModel>> {
        let mut known = self.0.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |one: &Arc<RunModel>| one.run == *run && one.shows_evidence == shows_evidence;
        let place = known.iter().position(is_it)?;
        let found = known.remove(place);
        known.push(Arc::clone(&found));
        Some(found)
    }

    /// Keeps a run that is over.
    pub(crate) fn remember_run(&self, model: &Arc<RunModel>) {
        if !model.run.is_over() {
            return;
        }
        let mut known = self.0.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |one: &Arc<RunModel>| {
            one.run.id == model.run.id && one.shows_evidence == model.shows_evidence
        };
        known.retain(|one| !is_same(one));
        if known.len() >= KNOWN_RUNS {
            known.remove(0);
        }
        known.push(Arc::clone(model));
    }

    /// What makes things happen.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// What is remembered.
    pub fn store(&self) -> &Store {
        self.0.engine.store()
    }

    /// The devboxes, if this server has any.
    pub fn fleet(&self) -> Option<&Fleet> {
        self.0.fleet.as_ref()
    }

    /// What was computed from runs that are over.
    pub(crate) fn memo(&self) -> &Memos {
        &self.0.memos
    }

    pub(crate) fn options(&self) -> &WebOptions {
        &self.0.options
    }

    pub(crate) fn live(&self) -> &Arc<Semaphore> {
        &self.0.live
    }

    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.0.stop
    }
}
