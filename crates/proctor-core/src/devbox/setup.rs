//! What a devbox is made from and for whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LaunchParameters;
use crate::{
    blueprint::Image,
    id::kinds::{BlueprintId, DevboxId, SnapshotId, TaskRunId},
    mount::Mount,
};

/// Everything that was asked for when a devbox was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DevboxSetup {
    /// What its disk starts from.
    pub base: DevboxBase,
    /// How it is launched.
    pub launch: LaunchParameters,
    /// Environment of everything that runs in it.
    pub environment: BTreeMap<String, String>,
    /// Environment variables that hold secrets, each with the secret's name.
    pub secrets: BTreeMap<String, String>,
    /// What is put into it before anything runs.
    pub mounts: Vec<Mount>,
    /// The main program: the devbox ends with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// Directories that it shares with boxes beside it: their names by their paths.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, String>,
}

/// What the disk of a devbox starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DevboxBase {
    /// The server's own system, without what is private to it.
    #[default]
    Host,
    /// What was kept of another devbox.
    Snapshot(SnapshotId),
    /// What a recipe made.
    Blueprint {
        /// The recipe.
        blueprint: BlueprintId,
        /// What it came to.
        image: Box<Image>,
    },
}

/// Who had a devbox made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initiator {
    /// Somebody who asked for it.
    Invocation,
    /// The task run whose world it is.
    Scenario(TaskRunId),
    /// The task run whose agent works in it, beside the world.
    Agent(TaskRunId),
}

/// The devbox of a task run's agent, if it works in one of its own. A task run has at most one, so it has the task run's name.
pub const fn agent_devbox(task_run: TaskRunId) -> DevboxId {
    DevboxId::from_uuid(task_run.uuid())
}
