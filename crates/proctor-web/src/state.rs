//! What handlers share.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use proctor_core::run::Run;

use proctor_engine::Engine;
use proctor_fleet::Fleet;
use proctor_store::Store;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::run_model::RunModel;

/// How many browser tabs may follow something at once; further ones poll.
const LIVE_VIEWERS: usize = 1000;

/// How many runs that are over are kept ready: their pages are turned over, sorted and filtered.
const KNOWN_RUNS: usize = 24;

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
        }))
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
