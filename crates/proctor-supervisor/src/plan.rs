//! A box on disk: where its files are and what its supervisor must do.
//!
//! ```text
//! DATA/lock                 held by the one server that uses DATA
//! DATA/boxes/ID/box.json    the plan
//!               lock        held by the supervisor as long as it lives
//!               control     the supervisor's socket
//!               up          there while the box should be running
//!               disk/       upper-root, upper-usr: what the box changed; layer.json once it is a layer
//!               disk.img    the same as a file system of its own, where the limit is exact; then disk/ is empty
//!               work/       overlayfs' own
//!               execs/      ID.json, and ID.stdout and ID.stderr if something was written
//! DATA/layers/ID/           a `disk` that became read-only
//! DATA/bases/host-HASH/     the skeleton around the host's /usr
//! DATA/rootfs/NAME.json     where a registered root file system is
//! DATA/stage/               empty directories to mount on
//! DATA/trash/               what is being removed
//! ```

use std::{
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::cgroup::{BoxGroup, Role};
use crate::{
    error::{Error, Result},
    name::{BaseName, BoxId, ExecId, LayerId},
    record::{Enforcement, LayerRecord},
    scatter::scatter,
    spec::{BoxSpec, Stream},
};

/// The directory of what the box changed outside `/usr`, within `disk` or a layer.
pub const UPPER_ROOT: &str = "upper-root";
/// The directory of what the box changed in `/usr`, where that is a mount of its own.
pub const UPPER_USR: &str = "upper-usr";

/// How ids inside the box relate to ids outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ids {
    /// A range that this box alone has; the layers are mapped, so that on disk ids are the box's own.
    Range {
        /// The id outside that is root inside.
        first: u32,
    },
    /// Root inside is the unprivileged user that runs the server, and there is nobody else.
    Single,
}

/// The lowest layer of a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bottom {
    /// The skeleton of that name in `bases`, around the host's `/usr`.
    Host {
        /// `host-HASH`.
        skeleton: String,
    },
    /// A registered root file system.
    RootFs {
        /// Its name.
        name: BaseName,
        /// Where it is.
        directory: PathBuf,
    },
}

/// `box.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// What was asked for.
    pub spec: BoxSpec,
    /// Whose ids the box has.
    pub ids: Ids,
    /// What its disk stands on.
    pub bottom: Bottom,
    /// The layers over the bottom, topmost first.
    pub layers: Vec<LayerId>,
    /// Its control groups.
    pub groups: Vec<BoxGroup>,
    /// What holds of what was asked for, and how.
    pub enforcement: Vec<Enforcement>,
    /// Whether its disk is a file system of its own.
    #[serde(default)]
    pub exact_disk: bool,
    /// Without a server for this long, the supervisor suspends the box.
    pub orphan_freeze_secs: u64,
    /// Without a server for this long, the supervisor stops the box.
    pub orphan_stop_secs: u64,
}

/// `layer.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LayerFile {
    /// What is said of the layer.
    pub record: LayerRecord,
    /// What it stands on, with the layers below it.
    pub bottom: Bottom,
    /// The layers below it, topmost first.
    pub below: Vec<LayerId>,
}

/// Where everything is.
#[derive(Clone, Debug)]
pub struct Places {
    /// The backend's directory.
    pub data: PathBuf,
}

impl Places {
    /// The directory of all boxes.
    pub fn boxes(&self) -> PathBuf {
        self.data.join("boxes")
    }

    /// Where the files of a box are.
    pub fn of(&self, id: &BoxId) -> BoxPlaces {
        BoxPlaces {
            directory: self.boxes().join(id.as_str()),
        }
    }

    /// The directory of all layers.
    pub fn layers(&self) -> PathBuf {
        self.data.join("layers")
    }

    /// Where a layer is.
    pub fn layer(&self, id: &LayerId) -> PathBuf {
        self.layers().join(id.as_str())
    }

    /// The directory of skeletons around the host's `/usr`.
    pub fn bases(&self) -> PathBuf {
        self.data.join("bases")
    }

    /// The file that says where a registered root file system is.
    pub fn rootfs(&self, name: &BaseName) -> PathBuf {
        self.data.join("rootfs").join(format!("{name}.json"))
    }

    /// Empty directories to mount on.
    pub fn stage(&self) -> PathBuf {
        self.data.join("stage")
    }

    /// What is being removed.
    pub fn trash(&self) -> PathBuf {
        self.data.join("trash")
    }

    /// The lock of the one server that uses all this.
    pub fn lock(&self) -> PathBuf {
        self.data.join("lock")
    }

    /// Makes the directories that are always there, and keeps everybody else out.
    ///
    /// Files in a box's disk belong to the ids they have inside, so root of a box can put programs there that would run as the host's
    /// root. Nobody but the owner of this directory may ever reach them.
    pub fn prepare(&self) -> std::io::Result<()> {
        fs_err::set_permissions(&self.data, std::fs::Permissions::from_mode(0o700))?;
        for directory in [
            self.boxes(),
            self.layers(),
            self.bases(),
            self.data.join("rootfs"),
            self.stage().join("root"),
            self.stage().join("usr"),
            self.stage().join("base"),
            self.trash(),
        ] {
            fs_err::create_dir_all(directory)?;
        }
        for directory in [self.boxes(), self.layers(), self.bases()] {
            scatter(&directory);
        }
        Ok(())
    }
}

/// Where the files of one box are.
#[derive(Clone, Debug)]
pub struct BoxPlaces {
    /// The box's directory.
    pub directory: PathBuf,
}

impl BoxPlaces {
    /// The plan.
    pub fn plan(&self) -> PathBuf {
        self.directory.join("box.json")
    }

    /// The lock that the supervisor holds as long as it lives.
    pub fn lock(&self) -> PathBuf {
        self.directory.join("lock")
    }

    /// There while the box should be running.
    pub fn up(&self) -> PathBuf {
        self.directory.join("up")
    }

    /// What the box changed.
    pub fn disk(&self) -> PathBuf {
        self.directory.join("disk")
    }

    /// The same as a file system of its own, where the limit is exact.
    pub fn image(&self) -> PathBuf {
        self.directory.join("disk.img")
    }

    /// What overlayfs needs for itself.
    pub fn work(&self) -> PathBuf {
        self.directory.join("work")
    }

    /// The directory of statuses and outputs.
    pub fn executions(&self) -> PathBuf {
        self.directory.join("execs")
    }

    /// Where an execution's status is.
    pub fn status(&self, id: &ExecId) -> PathBuf {
        self.executions().join(format!("{id}.json"))
    }

    /// Where a stream of an execution is, if it wrote to it.
    pub fn output(&self, id: &ExecId, stream: Stream) -> PathBuf {
        let name = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        self.executions().join(format!("{id}.{name}"))
    }

    /// Removes everything of an execution.
    pub fn forget_execution(&self, id: &ExecId) -> std::io::Result<()> {
        for path in [
            self.output(id, Stream::Stdout),
            self.output(id, Stream::Stderr),
            self.status(id),
        ] {
            remove_if_there(&path)?;
        }
        Ok(())
    }

    /// Reads the plan.
    pub fn read_plan(&self) -> Result<Plan> {
        read_json(&self.plan())
    }

    /// Makes an empty `disk` and a fresh `work`; what `disk` has is kept.
    pub fn prepare_disk(&self) -> std::io::Result<()> {
        let (disk, work) = (self.disk(), self.work());
        for directory in [
            &self.directory,
            &disk,
            &disk.join(UPPER_ROOT),
            &disk.join(UPPER_USR),
            &work,
            &work.join("root"),
            &work.join("usr"),
            &self.executions(),
        ] {
            match fs_err::create_dir(directory) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads a JSON file of this backend.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = fs_err::read(path).map_err(|source| Error::platform("reading a record", source))?;
    serde_json::from_slice(&bytes).map_err(|error| Error::Corrupt {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// Replaces a JSON file as a whole: a reader sees the old one or the new one.
pub fn write_json(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let fresh = path.with_extension("json.new");
    fs_err::write(&fresh, serde_json::to_vec(value)?)?;
    fs_err::rename(fresh, path)
}

impl Plan {
    fn has_group(&self, roles: &[Role]) -> bool {
        self.groups.iter().any(|group| roles.contains(&group.role))
    }

    /// Whether a control group limits the number of processes.
    pub fn limits_pids(&self) -> bool {
        self.has_group(&[Role::Unified, Role::Pids])
    }

    /// Whether a control group limits memory.
    pub fn limits_memory(&self) -> bool {
        self.has_group(&[Role::Unified, Role::Memory])
    }

    /// Whether a control group can end and suspend everything at once.
    pub fn can_kill(&self) -> bool {
        self.groups.iter().any(BoxGroup::holds_executions)
    }
}

/// Removes a file that may not be there.
pub fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
