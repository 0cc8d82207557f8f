//! Where a task run is done: a playground or a box. The life cycle of runs (`crate::runs`) asks for nothing else of worlds.
//!
//! ```text
//! prepare → opening → (the start is written) → open → freeze → judge → (the end is written) → release
//!     └──────────────→ (it was not written)  → withdraw
//! ```

mod devbox;
mod playground;

use std::sync::Arc;

use async_trait::async_trait;
use proctor_core::{
    criterion_run::CriterionRun,
    definition::World,
    id::kinds::{CriterionId, DevboxId, OrganizationId, TaskId},
    profile::RunProfile,
    scorer::NotRun,
    scoring::Scorecard,
    task_run::{Fault, SlowScoring, TaskRun},
    time::Timestamp,
};
use proctor_playground::world::Rehearsal;
use proctor_store::playgrounds::{Playground, Sandbox};
use tokio_util::sync::CancellationToken;

use self::{devbox::DevboxWorkspace, playground::PlaygroundWorkspace};
use crate::{
    catalog::Prepared,
    engine::Engine,
    error::EngineError,
    scenarios::{BoxEnd, Hold},
};

/// Where the task runs of one task are done.
#[async_trait]
pub(crate) trait Workspace: Send + Sync {
    /// Asks for what takes its time to come to be; the box of the task run, if it is done in one.
    async fn prepare(
        &self,
        task_run: &TaskRun,
        profile: &RunProfile,
    ) -> Result<Option<DevboxId>, EngineError>;

    /// What is written together with the start of the task run. A scenario that cannot happen is found out here, so that it
    /// starts nothing.
    fn opening(&self, started: &TaskRun) -> Result<Opening, EngineError>;

    /// Hands the workspace over to the agent: the start is on record.
    async fn open(&self, started: &TaskRun, opening: Opening) -> Result<(), EngineError>;

    /// Gives back what was prepared: no task run came to own it.
    async fn withdraw(&self, devbox: Option<DevboxId>);

    /// Lets nobody change what is judged.
    async fn freeze(&self, task_run: &TaskRun, at: Timestamp) -> Result<Frozen, NotJudged>;

    /// Judges what was frozen.
    async fn judge(
        &self,
        task_run: &TaskRun,
        frozen: &Frozen,
        scope: Scope,
        limits: Limits,
    ) -> Result<Judged, NotJudged>;

    /// Lets go of the workspace of a task run that is over. The record says so already: what cannot be released now is merely
    /// left, and nobody is let in any more.
    async fn release(&self, task_run: &TaskRun);
}

/// What comes to be with the start of a task run.
#[derive(Default)]
pub(crate) struct Opening {
    /// The rows of its playground.
    pub(crate) playground: Option<(Playground, Vec<Sandbox>)>,
    /// Its world as it begins.
    pub(crate) rehearsal: Option<Rehearsal>,
}

/// A workspace that nobody can change.
pub(crate) struct Frozen {
    /// Since when.
    pub(crate) at: Timestamp,
    /// Keeps clocks from ending a box as long as it is judged.
    _hold: Option<Hold>,
}

/// Which criteria are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of them.
    All,
    /// In a box only the critical ones, because scorers take their time. A playground is judged as a whole.
    Critical,
}

/// How long judging may take.
pub(crate) struct Limits {
    /// When it must be over.
    pub(crate) deadline: Option<Timestamp>,
    /// Ends it early.
    pub(crate) cancel: CancellationToken,
}

/// What judging found.
pub(crate) struct Judged {
    /// The score.
    pub(crate) card: Scorecard,
    /// What explains it.
    pub(crate) criterion_runs: Vec<CriterionRun>,
    /// What took so long, if the time was over before all was judged: then there is no score.
    pub(crate) timed_out: Option<SlowScoring>,
    /// The scorers that did not even run, and why.
    pub(crate) not_run: Vec<(CriterionId, NotRun)>,
}

/// Why there is nothing to be found.
pub(crate) enum NotJudged {
    /// It was ended early: by whoever ended the task run, or by the server's end. Then it is judged after the next start.
    Cancelled,
    /// The box ended before.
    Lost(BoxEnd),
    /// What the task says cannot be judged: a fault of its author.
    Unfit(String),
    /// The platform failed to judge.
    Failed {
        /// What that means for the task run.
        fault: Fault,
        /// Why.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The engine failed; judging can be tried again.
    Engine(EngineError),
}

impl From<EngineError> for NotJudged {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Engine {
    /// Where the task runs of a task are done.
    pub(crate) fn workspace(
        &self,
        organization: OrganizationId,
        prepared: &Arc<Prepared>,
        task: TaskId,
    ) -> Result<Box<dyn Workspace>, EngineError> {
        let (definition, _) = prepared.task(task)?;
        let (engine, prepared) = (self.clone(), Arc::clone(prepared));
        Ok(match definition.world {
            World::Playground { .. } => Box::new(PlaygroundWorkspace {
                engine,
                organization,
                prepared,
            }),
            World::Devbox { .. } => Box::new(DevboxWorkspace {
                engine,
                organization,
                prepared,
            }),
        })
    }
}
