//! What a devbox is made from and for whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LaunchParameters;
use crate::id::kinds::{AgentId, BlueprintId, ObjectId, SnapshotId, TaskRunId};

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
        /// The layer it ended with; none if it changed nothing.
        layer: Option<String>,
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
}

/// Something that is put into a devbox before anything runs in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mount {
    /// A text file.
    File {
        /// Where it goes.
        target: String,
        /// What is in it.
        content: String,
    },
    /// An uploaded object; an archive is unpacked.
    Object {
        /// Which.
        object: ObjectId,
        /// Where it goes.
        target: String,
    },
    /// A registered agent.
    Agent {
        /// Which; the newest of `name` if absent.
        agent: Option<AgentId>,
        /// What it is called.
        name: Option<String>,
        /// Where it goes.
        target: Option<String>,
        /// What opens a private repository.
        token: Option<String>,
    },
    /// A repository.
    Code {
        /// Whose it is.
        owner: String,
        /// What it is called.
        name: String,
        /// What opens a private one.
        token: Option<String>,
        /// The branch or tag; the default branch if absent.
        reference: Option<String>,
        /// What is run in it afterwards.
        install: Option<String>,
    },
}
