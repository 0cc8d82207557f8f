//! What somebody asks of a devbox, before anything is looked up.
//!
//! A [`DevboxRequest`] names blueprints, secrets and policies; whether they are there, and what devbox comes of it, is decided
//! where devboxes are made. How it is launched may be said at several levels: [`LaunchRequest::over`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AfterIdle, LaunchParameters, ResourceSize, Resources, Sizing, UserParameters, launch::Dimension,
};
use crate::{
    document::Readable,
    id::{
        Dialect,
        kinds::{BlueprintId, NetworkPolicyId, SnapshotId},
    },
    mount::Mount,
};

mod stored;
#[cfg(test)]
mod tests;

/// A devbox that somebody asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DevboxRequest {
    /// What its disk starts from.
    pub base: BaseRequest,
    /// How it is launched.
    pub launch: LaunchRequest,
    /// Environment of everything that runs in it.
    pub environment: BTreeMap<String, String>,
    /// Environment variables that hold secrets, each with the secret's name.
    pub secrets: BTreeMap<String, String>,
    /// What is put into it before anything runs.
    pub mounts: Vec<Mount>,
    /// The main program: the devbox ends with it.
    pub entrypoint: Option<String>,
    /// Directories that it shares with boxes beside it: their names by their paths. Clients cannot name any.
    pub volumes: BTreeMap<String, String>,
}

/// What the disk of a devbox shall start from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BaseRequest {
    /// The server's own system.
    #[default]
    Host,
    /// What was kept of another devbox.
    Snapshot(SnapshotId),
    /// What a recipe made.
    Blueprint(BlueprintId),
    /// What the newest recipe of this name made.
    NewestBlueprint(String),
    /// A snapshot by something that is not an id. No devbox comes of it.
    NotASnapshot(String),
    /// A blueprint by something that is not an id. No devbox comes of it.
    NotABlueprint(String),
}

impl BaseRequest {
    /// The snapshot that a client names.
    pub fn snapshot(text: &str) -> Self {
        SnapshotId::from_wire(text, Dialect::Runloop)
            .map_or_else(|_| Self::NotASnapshot(text.to_owned()), Self::Snapshot)
    }

    /// The blueprint that a client names.
    pub fn blueprint(text: &str) -> Self {
        BlueprintId::from_wire(text, Dialect::Runloop)
            .map_or_else(|_| Self::NotABlueprint(text.to_owned()), Self::Blueprint)
    }
}

/// What a task says of its devbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DevboxDefinition {
    /// What its disk starts from.
    pub base: BaseRequest,
    /// How it is launched, unless whoever starts the task says otherwise; `None` if the task says nothing of it.
    pub launch: Option<LaunchRequest>,
    /// Where the agent and the scorers work.
    pub working_directory: Option<String>,
}

/// Why what a task says of its devbox cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableDevbox {
    /// It has another form.
    #[error("{0}")]
    Form(String),
    /// It starts from several things at once.
    #[error("it starts from several things at once")]
    SeveralBases,
}

impl Readable for DevboxDefinition {
    type Error = UnreadableDevbox;

    fn read(document: &Value) -> Result<Self, UnreadableDevbox> {
        stored::read_definition(document)
    }

    fn write(&self) -> Value {
        stored::write_definition(self)
    }
}

/// How a devbox shall be launched. What is absent is said elsewhere, or has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::StoredLaunch", into = "stored::StoredLaunch")]
pub struct LaunchRequest {
    /// How large it is.
    pub size: Option<SizeRequest>,
    /// Halves of a processor, of a size of its own.
    pub cpu_halves: Option<u32>,
    /// Memory in GiB, of a size of its own.
    pub memory_gib: Option<u32>,
    /// Disk in GiB, of a size of its own.
    pub disk_gib: Option<u32>,
    /// How long it lives without being asked for, in seconds.
    pub keep_alive_seconds: Option<u32>,
    /// What happens when nobody uses it.
    pub after_idle: Option<AfterIdle>,
    /// What happens to it on its way.
    pub lifecycle: Option<LifecycleRequest>,
    /// What runs before it can be worked with, one after the other.
    pub launch_commands: Option<Vec<String>>,
    /// Who works in it.
    pub user: Option<UserParameters>,
    /// What it may reach.
    pub network_policy: Option<NetworkPolicyId>,
    /// The architecture that it must have.
    pub architecture: Option<String>,
}

impl Readable for LaunchRequest {
    type Error = String;

    fn read(document: &Value) -> Result<Self, String> {
        Self::deserialize(document).map_err(|error| error.to_string())
    }

    fn write(&self) -> Value {
        serde_json::to_value(self).expect("launch parameters are numbers and texts")
    }
}

/// How large a devbox shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeRequest {
    /// One of the usual sizes.
    Usual(ResourceSize),
    /// A size of its own.
    Custom,
}

/// What shall happen to a devbox on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifecycleRequest {
    /// What happens when nobody uses it.
    pub after_idle: Option<AfterIdle>,
    /// What happens before a suspend.
    pub before_suspend: Option<BeforeSuspend>,
    /// Whether a request through its tunnel brings it back when it is suspended.
    pub wake_on_http: Option<bool>,
}

/// What shall happen before a devbox is suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BeforeSuspend {
    /// What runs.
    pub commands: Option<Vec<String>>,
    /// How long that may take, in milliseconds.
    pub deadline_millis: Option<u32>,
}

/// What contradicts itself in how a devbox shall be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchProblem {
    /// A size of its own lacks a part.
    #[error("is required")]
    Missing(Dimension),
    /// A size of its own breaks a rule.
    #[error("{1}")]
    Size(Dimension, &'static str),
    /// What happens when nobody uses it is said twice, and not the same.
    #[error("what happens when nobody uses it is said twice, and not the same")]
    AfterIdleTwice,
}

impl LaunchRequest {
    /// This over what is said more generally, field by field.
    #[must_use]
    pub fn over(&self, general: &Self) -> Self {
        let (near, far) = (self.clone(), general.clone());
        Self {
            size: near.size.or(far.size),
            cpu_halves: near.cpu_halves.or(far.cpu_halves),
            memory_gib: near.memory_gib.or(far.memory_gib),
            disk_gib: near.disk_gib.or(far.disk_gib),
            keep_alive_seconds: near.keep_alive_seconds.or(far.keep_alive_seconds),
            after_idle: near.after_idle.or(far.after_idle),
            lifecycle: near.lifecycle.or(far.lifecycle),
            launch_commands: near.launch_commands.or(far.launch_commands),
            user: near.user.or(far.user),
            network_policy: near.network_policy.or(far.network_policy),
            architecture: near.architecture.or(far.architecture),
        }
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a devbox is launched with that is asked for so.
    pub fn resolve(&self) -> Result<LaunchParameters, Vec<LaunchProblem>> {
        let mut problems = Vec::new();
        let lifecycle = self.lifecycle.clone().unwrap_or_default();
        let before_suspend = lifecycle.before_suspend.unwrap_or_default();
        if let (Some(outer), Some(inner)) = (self.after_idle, lifecycle.after_idle)
            && outer != inner
        {
            problems.push(LaunchProblem::AfterIdleTwice);
        }
        let sizing = match self.size {
            None => Sizing::Default,
            Some(SizeRequest::Usual(size)) => Sizing::Usual(size),
            Some(SizeRequest::Custom) => self.custom_size(&mut problems),
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(LaunchParameters {
            sizing,
            user: self.user.clone(),
            launch_commands: self.launch_commands.clone().unwrap_or_default(),
            keep_alive_seconds: self.keep_alive_seconds,
            after_idle: lifecycle.after_idle.or(self.after_idle),
            suspend_commands: before_suspend.commands.unwrap_or_default(),
            suspend_deadline_millis: before_suspend.deadline_millis,
            network_policy: self.network_policy,
            wake_on_http: lifecycle.wake_on_http,
        })
    }

    fn custom_size(&self, problems: &mut Vec<LaunchProblem>) -> Sizing {
        let (Some(cpu_halves), Some(memory_gib)) = (self.cpu_halves, self.memory_gib) else {
            let parts = [
                (Dimension::Cpu, self.cpu_halves),
                (Dimension::Memory, self.memory_gib),
            ];
            let missing = parts.into_iter().filter(|(_, part)| part.is_none());
            problems.extend(missing.map(|(dimension, _)| LaunchProblem::Missing(dimension)));
            return Sizing::Default;
        };
        let resources = Resources {
            cpu_halves,
            memory_gib,
            disk_gib: self.disk_gib.unwrap_or(Resources::DEFAULT_CUSTOM_DISK),
        };
        let broken = resources.problems().into_iter();
        problems.extend(broken.map(|(dimension, rule)| LaunchProblem::Size(dimension, rule)));
        Sizing::Custom(resources)
    }
}
