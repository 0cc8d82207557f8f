//! Agents: programs that take tasks by themselves, and where they come from.

pub mod briefing;
mod manifest;

pub use self::manifest::{AgentErrorPattern, AgentManifest};

use serde::{Deserialize, Serialize};

use crate::{
    id::kinds::{AgentId, ObjectId},
    time::Timestamp,
};

/// A program that takes tasks by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name for programs.
    pub id: AgentId,
    /// Its name for people; several versions share one.
    pub name: String,
    /// Which version it is.
    pub version: Option<String>,
    /// Where it comes from.
    pub source: Option<AgentSource>,
    /// How it is started, if that was said.
    pub manifest: Option<AgentManifest>,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// Where an agent comes from and what makes it ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSource {
    /// Where it comes from.
    pub origin: AgentOrigin,
    /// Commands to run once it is there.
    pub setup: Vec<String>,
}

/// Where an agent comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentOrigin {
    /// A package of npm.
    Npm(Package),
    /// A package of pip.
    Pip(Package),
    /// A repository.
    Git {
        /// Its address.
        repository: String,
        /// A branch, tag or commit.
        reference: Option<String>,
    },
    /// An archive or a file that was uploaded.
    Object(ObjectId),
}

/// A package in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Another registry than the usual one.
    pub registry_url: Option<String>,
}

/// The kinds of origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// A package of npm.
    Npm,
    /// A package of pip.
    Pip,
    /// A repository.
    Git,
    /// Uploaded bytes.
    Object,
}

impl OriginKind {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Npm, Self::Pip, Self::Git, Self::Object];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pip => "pip",
            Self::Git => "git",
            Self::Object => "object",
        }
    }

    /// What a word names.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == word)
    }
}

impl AgentOrigin {
    /// Which kind it is.
    pub const fn kind(&self) -> OriginKind {
        match self {
            Self::Npm(_) => OriginKind::Npm,
            Self::Pip(_) => OriginKind::Pip,
            Self::Git { .. } => OriginKind::Git,
            Self::Object(_) => OriginKind::Object,
        }
    }
}
