//! Harbor jobs: the tasks of a job file become scenarios, and its trials tries of a job like any other ([`crate::jobs`]).
//!
//! * `sources`: from the paths of a job file to task directories that are kept ([`proctor_fleet::trees`]).
//! * `scenario`: a task as a frozen definition; all that a trial needs to know of it stands there.
//! * [`create`]: a job file becomes a plan, with everything that is wrong with it named at once.
//! * `environment`: the box that a task describes, built once for each content (`builds`); `agent_layer`: the same with an agent installed.
//! * `sidecars`: boxes beside it, in its network.
//! * `phases`: what happens in the box before and after the agent. `verifier`: what its work is worth. `outcome`: what failures are called.
//!
//! * `export`: what came of a job, in Harbor's own layout.
//!
//! What a task's files say is read by `proctor-harbor`, which opens nothing itself.

mod agent_layer;
mod assembled;
mod builds;
mod collect;
pub mod create;
mod directory;
mod environment;
mod export;
mod metrics;
mod network;
mod outcome;
mod phases;
mod plan;
mod repositories;
mod scenario;
mod sidecars;
mod sources;
mod step_verifier;
mod steps;
mod variables;
mod verifier;

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use proctor_core::id::kinds::{BlueprintId, OrganizationId, TaskRunId};
use proctor_fleet::{Fleet, blueprints::Blueprints, trees::TreeStore};

pub(crate) use self::{
    collect::AgentLeft,
    create::HarborRules,
    network::NetworkPhase,
    outcome::{fault, named_outcome},
    phases::{AgentPhase, Phase},
    scenario::HarborScenario,
    steps::{CurrentStep, StepsRecord},
    verifier::{BoxUser, PreparedVerifier},
};
pub use self::{
    create::{HarborPlan, ImageNeed, NewHarborJob, PlannedAgent},
    directory::DirectoryTree,
    export::HarborExport,
    metrics::AgentMetrics,
};

/// What the server's settings say of Harbor jobs.
#[derive(Clone, Debug, Default)]
pub struct HarborSettings {
    /// Directories with tasks that job files may name as `tasks:NAME/…`.
    pub tasks: BTreeMap<String, PathBuf>,
    /// The network policy of boxes whose task says `public`, by its name; they reach nothing without it.
    pub public_policy: Option<String>,
    /// The network policy of builds, by its name; they reach nothing without it.
    pub build_policy: Option<String>,
}

/// A build that goes on, or went on last, for an environment.
type Building = Arc<tokio::sync::Mutex<Option<BlueprintId>>>;

/// What Harbor jobs need besides boxes and scorers; cheap to clone.
#[derive(Clone)]
pub struct HarborWorkshop {
    inner: Arc<Inner>,
}

struct Inner {
    fleet: Fleet,
    blueprints: Blueprints,
    settings: HarborSettings,
    /// Task directories.
    trees: TreeStore,
    /// What boxes are shown of them, put together.
    assembled: TreeStore,
    /// What trials left.
    trials: PathBuf,
    builds: Mutex<HashMap<(OrganizationId, String), Building>>,
    /// What was put together of which directories of which task.
    shown: Mutex<HashMap<(String, Vec<String>), PathBuf>>,
}

impl HarborWorkshop {
    /// Harbor jobs with their files below `data`.
    pub fn open(
        data: impl Into<PathBuf>,
        fleet: Fleet,
        blueprints: Blueprints,
        settings: HarborSettings,
    ) -> io::Result<Self> {
        let data = data.into();
        let trials = data.join("trials");
        fs_err::create_dir_all(&trials)?;
        // What a box wrote is not followed through links, so the way there must have none.
        let data = fs_err::canonicalize(&data)?;
        Ok(Self {
            inner: Arc::new(Inner {
                fleet,
                blueprints,
                settings,
                trees: TreeStore::open(data.join("tasks"))?,
                assembled: TreeStore::open(data.join("assembled"))?,
                trials: data.join("trials"),
                builds: Mutex::default(),
                shown: Mutex::default(),
            }),
        })
    }

    /// Where what a trial, or the step of it that is being done, left is.
    pub(crate) fn place_of(&self, task_run: TaskRunId, scenario: &HarborScenario) -> PathBuf {
        let trial = self.trial(task_run);
        match &scenario.step {
            Some(name) => trial.join("steps").join(name),
            None => trial,
        }
    }

    /// Where what a trial left is.
    pub(crate) fn trial(&self, task_run: TaskRunId) -> PathBuf {
        self.inner.trials.join(task_run.uuid().to_string())
    }
}
