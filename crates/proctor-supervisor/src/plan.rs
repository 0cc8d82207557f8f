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
//!               volumes/    directories that it shares with boxes that join its network
//!               work-root/  overlayfs' own, as is work-usr
//!               exec-ID.*   json: the status of an execution; stdout and stderr: what it wrote, if it did, with `.sealed`
//!                           behind it where it is enciphered. Boxes of earlier versions have them as execs/ID.*
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
    spec::{BoxSpec, Stream, Volume},
};

/// The directory of what the box changed outside `/usr`, within `disk` or a layer.
pub const UPPER_ROOT: &str = "upper-root";
/// The directory of what the box changed in `/usr`, where that is a mount of its own.
pub const UPPER_USR: &str = "upper-usr";

/// The directory of overlayfs' own for the root of a box, within its directory, or within a disk that is a file system of its own.
pub const WORK_ROOT: &str = "work-root";
/// The same for its `/usr`.
pub const WORK_USR: &str = "work-usr";

/// Where an earlier version kept what is known of executions, within a box's directory.
const EXECS: &str = "execs";

/// What the directory of a box that changed nothing has of empty directories, those further down first. Overlayfs made the ones in `work-*`.
pub const EMPTY_IN_BOX: [&str; 11] = [
    "disk/upper-root",
    "disk/upper-usr",
    "disk",
    "work-root/work/incompat/volatile",
    "work-root/work/incompat",
    "work-root/work",
    "work-root",
    "work-usr/work/incompat/volatile",
    "work-usr/work/incompat",
    "work-usr/work",
    "work-usr",
];
/// What a layer without any change may have of empty directories.
pub const EMPTY_IN_LAYER: [&str; 2] = [UPPER_ROOT, UPPER_USR];

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
        BoxPlaces::at(self.boxes().join(id.as_str()))
    }

    /// Where a volume of a box is: with the box whose network it is in.
    pub fn volume(&self, spec: &BoxSpec, volume: &Volume) -> PathBuf {
        let owner = spec.joins.as_ref().unwrap_or(&spec.id);
        self.of(owner).volumes().join(&volume.name)
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
    /// Whether what is known of executions is in a directory of its own, as an earlier version made it.
    has_execs: bool,
}

impl BoxPlaces {
    /// The places of a box whose directory this is, or shall be.
    pub fn at(directory: PathBuf) -> Self {
        let has_execs = directory.join(EXECS).is_dir();
        Self {
            directory,
            has_execs,
        }
    }

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

    /// The volumes of all boxes of its network.
    pub fn volumes(&self) -> PathBuf {
        self.directory.join("volumes")
    }

    /// What the box changed.
    pub fn disk(&self) -> PathBuf {
        self.directory.join("disk")
    }

    /// The same as a file system of its own, where the limit is exact.
    pub fn image(&self) -> PathBuf {
        self.directory.join("disk.img")
    }

    /// What overlayfs needs for itself, for the root of the box and for its `/usr`.
    pub fn works(&self) -> [PathBuf; 2] {
        [WORK_ROOT, WORK_USR].map(|work| self.directory.join(work))
    }

    /// The directory of statuses and outputs, and how the names of their files begin.
    fn executions(&self) -> (PathBuf, &'static str) {
        match self.has_execs {
            true => (self.directory.join(EXECS), ""),
            false => (self.directory.clone(), "exec-"),
        }
    }

    fn of_execution(&self, id: &ExecId, kind: &str) -> PathBuf {
        let (directory, prefix) = self.executions();
        directory.join(format!("{prefix}{id}.{kind}"))
    }

    /// The executions that have a status, in the order of their names.
    pub fn known_executions(&self) -> Vec<ExecId> {
        let (directory, prefix) = self.executions();
        let entries = fs_err::read_dir(directory).into_iter().flatten().flatten();
        let mut ids: Vec<ExecId> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let name = name.to_str()?.strip_prefix(prefix)?;
                ExecId::new(name.strip_suffix(".json")?).ok()
            })
            .collect();
        ids.sort();
        ids
    }

    /// Where an execution's status is.
    pub fn status(&self, id: &ExecId) -> PathBuf {
        self.of_execution(id, "json")
    }

    /// Where a stream of an execution is, if it wrote to it and nobody gave a key.
    pub fn output(&self, id: &ExecId, stream: Stream) -> PathBuf {
        let kind = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        self.of_execution(id, kind)
    }

    /// Where a stream of an execution is that has an [`OutputKey`](crate::output_key::OutputKey), if it wrote to it.
    pub fn sealed_output(&self, id: &ExecId, stream: Stream) -> PathBuf {
        let kind = match stream {
            Stream::Stdout => "stdout.sealed",
            Stream::Stderr => "stderr.sealed",
        };
        self.of_execution(id, kind)
    }

    /// Removes everything of an execution.
    pub fn forget_execution(&self, id: &ExecId) -> std::io::Result<()> {
        for path in [
            self.output(id, Stream::Stdout),
            self.output(id, Stream::Stderr),
            self.sealed_output(id, Stream::Stdout),
            self.sealed_output(id, Stream::Stderr),
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

    /// Makes an empty `disk` and what overlayfs needs; what `disk` has is kept.
    pub fn prepare_disk(&self) -> std::io::Result<()> {
        let (disk, [work_root, work_usr]) = (self.disk(), self.works());
        for directory in [
            &self.directory,
            &disk,
            &disk.join(UPPER_ROOT),
            &disk.join(UPPER_USR),
            &work_root,
            &work_usr,
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
        let mut own = self.groups.iter().filter(|group| !group.shared);
        own.any(|group| roles.contains(&group.role))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_found_where_this_version_and_earlier_ones_keep_them() {
        let directory = tempfile::tempdir().unwrap();
        let ids = ["box", "exec-a", "z"].map(|id| ExecId::new(id).unwrap());
        for is_earlier in [false, true] {
            let box_directory = directory.path().join(is_earlier.to_string());
            fs_err::create_dir(&box_directory).unwrap();
            if is_earlier {
                fs_err::create_dir(box_directory.join("execs")).unwrap();
            }
            let places = BoxPlaces::at(box_directory.clone());
            places.prepare_disk().unwrap();
            fs_err::write(places.plan(), "{}").unwrap();
            for id in &ids {
                fs_err::write(places.status(id), "{}").unwrap();
                fs_err::write(places.output(id, Stream::Stdout), "text").unwrap();
            }
            assert_eq!(places.known_executions(), ids);
            assert_eq!(
                places
                    .status(&ids[0])
                    .starts_with(box_directory.join("execs")),
                is_earlier
            );
            assert_eq!(
                fs_err::read(places.plan()).unwrap(),
                b"{}",
                "the plan is the plan"
            );
            for id in &ids {
                places.forget_execution(id).unwrap();
            }
            assert!(places.known_executions().is_empty());
            assert!(places.plan().exists());
        }
    }

    #[test]
    fn what_is_expected_of_a_box_is_what_is_laid_out() {
        let directory = tempfile::tempdir().unwrap();
        let places = BoxPlaces::at(directory.path().join("box"));
        places.prepare_disk().unwrap();
        // What overlayfs adds when it mounts without synchronising.
        for work in places.works() {
            fs_err::create_dir_all(work.join("work/incompat/volatile")).unwrap();
        }
        for path in EMPTY_IN_BOX {
            fs_err::remove_dir(places.directory.join(path)).unwrap();
        }
        fs_err::remove_dir(&places.directory).unwrap();
    }
}
