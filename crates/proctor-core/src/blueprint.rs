//! Blueprints: recipes for disks, and what became of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    devbox::LaunchRequest,
    document::Document,
    id::kinds::{BlueprintId, NetworkPolicyId, ObjectId, OrganizationId},
    mount::CodeMount,
    time::Timestamp,
};

/// A recipe as its author wrote it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Its name for people; several blueprints may share one.
    pub name: String,
    /// The blueprint that it builds on.
    pub base: Option<BaseReference>,
    /// A Dockerfile.
    pub dockerfile: Option<String>,
    /// Values of the Dockerfile's arguments.
    pub build_args: BTreeMap<String, String>,
    /// An archive with the files that the Dockerfile copies.
    pub build_context: Option<ObjectId>,
    /// A directory of the server's with those files, instead of an archive. Clients cannot name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_directory: Option<String>,
    /// Files by their paths.
    pub file_mounts: BTreeMap<String, String>,
    /// Repositories. Their tokens are never part of a recipe that is kept.
    pub code_mounts: Vec<CodeMount>,
    /// Commands that root runs.
    pub system_setup_commands: Vec<String>,
    /// Secrets for commands of the build: names of variables and of secrets.
    pub secrets: BTreeMap<String, String>,
    /// What the build may reach.
    pub network_policy: Option<NetworkPolicyId>,
    /// How devboxes of this blueprint are launched unless they say otherwise, as their author wrote it.
    pub launch_parameters: Option<Document<LaunchRequest>>,
    /// Notes of its owner.
    pub metadata: BTreeMap<String, String>,
    /// The stage of the Dockerfile that is built; the last one if absent.
    #[serde(default)]
    pub target: Option<String>,
    /// What names of images meant when the blueprint was made: digests by the names after `FROM`. A build that begins again builds on the same.
    #[serde(default)]
    pub images: BTreeMap<String, String>,
}

/// How another blueprint is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaseReference {
    /// By its id.
    Id(BlueprintId),
    /// By its name: the newest that was built successfully.
    Name(String),
}

/// A recipe and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Blueprint {
    /// Its name for programs.
    pub id: BlueprintId,
    /// Whose it is.
    pub organization: OrganizationId,
    /// What was asked for.
    pub recipe: Recipe,
    /// The blueprint that it builds on, found when it was made.
    pub base: Option<BlueprintId>,
    /// How far its build is.
    pub build: Build,
    /// The layers that its build made or found, oldest first.
    pub layers: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
}

/// How far a build is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Build {
    /// It waits for its turn.
    Provisioning,
    /// Its steps are being carried out.
    Building,
    /// It is done.
    Complete {
        /// When.
        finished_at: Timestamp,
        /// What devboxes begin with.
        image: Image,
    },
    /// It did not work out.
    Failed {
        /// When.
        finished_at: Timestamp,
        /// What kind of failure.
        reason: BuildFailure,
        /// What went wrong, for people.
        message: String,
    },
}

/// What devboxes of a blueprint begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What their disk starts from.
    pub disk: ImageDisk,
    /// Variables that every program gets.
    pub env: BTreeMap<String, String>,
    /// Where programs start, if not at home.
    pub working_directory: Option<String>,
    /// Who runs programs, if not the usual user.
    pub user: Option<String>,
    /// The program, with its arguments, that runs commands in shell form; `/bin/sh -c` if empty.
    #[serde(default)]
    pub shell: Vec<String>,
    /// The program, with its arguments, that containers of the image start with; none if empty.
    #[serde(default)]
    pub entrypoint: Vec<String>,
    /// What the image says besides: labels as `label.NAME`, `cmd`, `expose`, …
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl Image {
    /// An image that says nothing besides its disk.
    pub const fn on(disk: ImageDisk) -> Self {
        Self {
            disk,
            env: BTreeMap::new(),
            working_directory: None,
            user: None,
            shell: Vec::new(),
            entrypoint: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }

    /// What runs in the background of a box whose image has an entry point: that, with a command that never ends as its arguments. `None` without one.
    pub fn entrypoint_command(&self) -> Option<Vec<String>> {
        if self.entrypoint.is_empty() {
            return None;
        }
        let sleep = ["sh", "-c", "sleep infinity"].map(str::to_owned);
        Some(self.entrypoint.iter().cloned().chain(sleep).collect())
    }
}

/// What a disk starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageDisk {
    /// The host's own programs.
    Host,
    /// A root file system that was registered under this name.
    RootFs(String),
    /// The layer of this name.
    Layer(String),
}

/// The kinds of failure that clients tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BuildFailure {
    /// A step used up the memory.
    OutOfMemory,
    /// A step used up the disk.
    OutOfDisk,
    /// Anything else.
    BuildFailed,
}

impl BuildFailure {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfMemory => "out_of_memory",
            Self::OutOfDisk => "out_of_disk",
            Self::BuildFailed => "build_failed",
        }
    }
}

/// What a list can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStatus {
    /// It waits for its turn.
    Provisioning,
    /// Its steps are being carried out.
    Building,
    /// It is done.
    Complete,
    /// It did not work out.
    Failed,
}

impl BuildStatus {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Provisioning,
        Self::Building,
        Self::Complete,
        Self::Failed,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Building => "building",
            Self::Complete => "build_complete",
            Self::Failed => "failed",
        }
    }

    /// What a word names.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == word)
    }
}

/// A build that is over cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the build is over")]
pub struct BuildOver;

impl Build {
    /// The word for how far it is.
    pub const fn status(&self) -> BuildStatus {
        match self {
            Self::Provisioning => BuildStatus::Provisioning,
            Self::Building => BuildStatus::Building,
            Self::Complete { .. } => BuildStatus::Complete,
            Self::Failed { .. } => BuildStatus::Failed,
        }
    }

    /// When it ended, if it has.
    pub const fn finished_at(&self) -> Option<Timestamp> {
        match self {
            Self::Provisioning | Self::Building => None,
            Self::Complete { finished_at, .. } | Self::Failed { finished_at, .. } => {
                Some(*finished_at)
            }
        }
    }

    /// Its steps begin. A build that a former process began is begun again.
    pub fn begin(self) -> Result<Self, BuildOver> {
        match self {
            Self::Provisioning | Self::Building => Ok(Self::Building),
            Self::Complete { .. } | Self::Failed { .. } => Err(BuildOver),
        }
    }

    /// All its steps are done.
    pub fn complete(self, finished_at: Timestamp, image: Image) -> Result<Self, BuildOver> {
        self.begin().map(|_| Self::Complete { finished_at, image })
    }

    /// It cannot go on.
    pub fn fail(
        self,
        finished_at: Timestamp,
        reason: BuildFailure,
        message: String,
    ) -> Result<Self, BuildOver> {
        self.begin().map(|_| Self::Failed {
            finished_at,
            reason,
            message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_ends_once() {
        let now = Timestamp::from_millis(5);
        let image = Image::on(ImageDisk::Host);
        let building = Build::Provisioning.begin().unwrap();
        assert_eq!(building.clone().begin(), Ok(Build::Building));
        let complete = building.clone().complete(now, image.clone()).unwrap();
        assert_eq!(complete.finished_at(), Some(now));
        let failed = building
            .fail(now, BuildFailure::OutOfDisk, "full".to_owned())
            .unwrap();
        for over in [complete, failed] {
            assert_eq!(over.clone().begin(), Err(BuildOver));
            assert_eq!(over.clone().complete(now, image.clone()), Err(BuildOver));
            let again = over.fail(now, BuildFailure::BuildFailed, String::new());
            assert_eq!(again, Err(BuildOver));
        }
    }

    #[test]
    fn an_image_that_was_stored_before_it_had_an_entry_point_is_still_read() {
        let stored = r#"{"disk":"Host","env":{},"working_directory":null,"user":null}"#;
        let mut image: Image = serde_json::from_str(stored).unwrap();
        assert_eq!(image, Image::on(ImageDisk::Host));
        assert_eq!(image.entrypoint_command(), None);
        image.entrypoint = vec!["/start".to_owned()];
        let command = image.entrypoint_command().unwrap();
        assert_eq!(command, ["/start", "sh", "-c", "sleep infinity"]);
    }

    #[test]
    fn every_word_reads_as_what_it_names() {
        for one in BuildStatus::ALL {
            assert_eq!(BuildStatus::read(one.name()), Some(*one));
        }
    }
}
