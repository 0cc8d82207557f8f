//! The engine: what it owns, how it begins and ends.

use std::sync::Arc;

use proctor_core::{
    canonical::Digest,
    id::kinds::TaskRunId,
    time::{Clock, Timestamp},
};
use proctor_macros::boxed_futures;
use proctor_playground::world::Surroundings;
use proctor_store::Store;
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    catalog::Catalog, deadlines::Deadlines, error::EngineError, extensions::Extensions, jobs::Jobs,
    routes::Routes, runs::AgentBoxes, scenarios::Workshop, under_way::UnderWay, worlds::Worlds,
};

/// Makes things happen; cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) extensions: Extensions,
    pub(crate) catalog: Catalog,
    pub(crate) worlds: Worlds,
    pub(crate) routes: Routes,
    pub(crate) deadlines: Deadlines,
    pub(crate) workshop: Option<Workshop>,
    /// The scorings that are under way on this node.
    pub(crate) scorings: UnderWay<TaskRunId>,
    /// The task runs whose boxes this node looks after.
    pub(crate) watches: UnderWay<TaskRunId>,
    pub(crate) jobs: Jobs,
    /// The task runs whose agents have boxes of their own, as far as this node knows.
    pub(crate) agent_boxes: AgentBoxes,
    /// The definitions that are being tried on this node, and whose turn it is: one at a time.
    pub(crate) admissions: UnderWay<Digest>,
    pub(crate) admitting: Mutex<()>,
    pub(crate) tasks: TaskTracker,
    pub(crate) closing: CancellationToken,
    clock: Arc<dyn Clock>,
}

#[boxed_futures]
impl Engine {
    /// An engine on a store. `public_url` is the server's address as agents see it, without a
    /// trailing slash; `workshop` is where tasks are done that need a box, if they can be done at all;
    /// `extensions` are the simulators, checks and kinds of scorers that tasks may use.
    /// Deadlines are kept once [`Engine::run`] was called.
    pub fn new(
        store: Store,
        clock: Arc<dyn Clock>,
        public_url: &str,
        workshop: Option<Workshop>,
        extensions: Extensions,
    ) -> Self {
        let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
        let around = Surroundings {
            journal: store.journal().clone(),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
            closing: closing.clone(),
        };
        let public_url = public_url.trim_end_matches('/').to_owned();
        Self {
            inner: Arc::new(Inner {
                worlds: Worlds::new(around, public_url),
                store,
                catalog: Catalog::new(extensions.clone()),
                extensions,
                routes: Routes::default(),
                deadlines: Deadlines::default(),
                workshop,
                scorings: UnderWay::default(),
                watches: UnderWay::default(),
                jobs: Jobs::default(),
                agent_boxes: AgentBoxes::default(),
                admissions: UnderWay::default(),
                admitting: Mutex::default(),
                clock,
                tasks,
                closing,
            }),
        }
    }

    /// Takes up what a former process left, and keeps deadlines from now on.
    pub async fn run(&self) -> Result<(), EngineError> {
        for (task_run, deadline) in self.store().deadlines().await? {
            self.inner.deadlines.keep(task_run, deadline);
        }
        for run in self.store().runs_to_settle().await? {
            self.settle(run).await?;
        }
        self.recover_scenarios().await?;
        self.recover_jobs().await?;
        self.inner.tasks.spawn(crate::deadlines::watch(
            self.clone(),
            self.inner.closing.clone(),
        ));
        Ok(())
    }

    /// Writes what is under way to the journal, and stops.
    pub async fn close(&self) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// How many worlds are at work on this node.
    pub fn live_worlds(&self) -> usize {
        self.inner.worlds.count()
    }

    /// What is remembered.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// What this server is extended by.
    pub fn extensions(&self) -> &Extensions {
        &self.inner.extensions
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }
}
