//! What a caller asks for: a box, an execution, a file.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    name::{BaseName, BoxId, ExecId, LayerId},
    network::Network,
    record::Property,
};

/// What the disk of a new box starts from. The box never writes to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Base {
    /// The host's own programs, without its secrets, home directories, sockets and data. Needs no download and is
    /// not reproducible: the record carries a fingerprint of the installed packages.
    Host,
    /// A root file system that was registered with the backend.
    RootFs(BaseName),
    /// What a snapshot kept, on whatever that box was based on.
    Layer(LayerId),
}

/// What a box may use. `None` is no limit of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Thousandths of a processor.
    pub cpu_millis: Option<u32>,
    /// Bytes of memory, also for files in memory.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at once.
    pub pids: Option<u32>,
    /// Bytes that the box may add to its base.
    pub disk_bytes: Option<u64>,
    /// Files and directories that the box may add to its base.
    pub disk_files: Option<u64>,
    /// Open files per process.
    pub open_files: Option<u32>,
}

/// A directory of the host that a box sees and can never change.
///
/// Its files have the owners inside that they have outside; none of them gives privileges or is a device. Neither it nor the directories that
/// lead to it can be moved away, removed or covered by anybody in the box. What is mounted below it on the host may be missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Where it is on the host.
    pub host: PathBuf,
    /// Where it is in the box: an absolute path without `.`, `..` or links, made where it is missing.
    pub at: String,
}

/// A directory that boxes of one network share, and may all change. It is empty at first, and goes with the box whose network it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Its name: boxes of the same network that say the same name see the same directory.
    pub name: String,
    /// Where it is in the box: an absolute path without `.`, `..` or links, made where it is missing.
    pub at: String,
}

/// A box to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxSpec {
    /// Its name.
    pub id: BoxId,
    /// What its disk starts from.
    pub base: Base,
    /// What it may use.
    pub limits: Limits,
    /// What it can reach.
    pub network: Network,
    /// The box whose network it is in, if it has none of its own: programs of both find each other at the loopback addresses. It goes when
    /// that box does.
    #[serde(default)]
    pub joins: Option<BoxId>,
    /// Directories of the host that it sees.
    #[serde(default)]
    pub read_only: Vec<Shared>,
    /// Directories that it shares with other boxes of its network.
    #[serde(default)]
    pub volumes: Vec<Volume>,
    /// Whether programs with the set-user-id bit work inside (`sudo`). Off: no process ever gains a privilege.
    pub allow_sudo: bool,
    /// What must hold. A box that cannot have all of it is refused; what is not listed is done as well as the
    /// host allows, and the record says how well.
    pub require: Vec<Property>,
    /// Environment of every execution, below what the execution itself says.
    pub env: BTreeMap<String, String>,
    /// Notes of the owner, kept with the box and given back after a crash.
    pub labels: BTreeMap<String, String>,
}

impl BoxSpec {
    /// A box on `base` with no limits, no network and nothing required.
    pub fn new(id: BoxId, base: Base) -> Self {
        Self {
            id,
            base,
            limits: Limits::default(),
            network: Network::None,
            joins: None,
            read_only: Vec::new(),
            volumes: Vec::new(),
            allow_sudo: false,
            require: Vec::new(),
            env: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }
}

/// Who runs something inside a box. All ids are the box's own and mean nothing outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum User {
    /// Root of the box.
    #[default]
    Root,
    /// The account of this name in the box's `/etc/passwd`.
    Named(String),
    /// These ids, whether or not an account has them.
    Ids {
        /// The user id.
        uid: u32,
        /// The group id.
        gid: u32,
    },
}

/// A program to be run inside a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecSpec {
    /// Its name. The same name again gives back the same execution instead of a second one.
    pub id: ExecId,
    /// The program and its arguments; a program without a slash is looked for in `PATH`.
    pub argv: Vec<String>,
    /// Environment, over the box's own.
    pub env: BTreeMap<String, String>,
    /// The directory to start in; the user's home if absent.
    pub cwd: Option<String>,
    /// Who runs it.
    pub user: User,
    /// Whether something will be written to its standard input; otherwise that is empty.
    pub stdin: bool,
    /// After this long the whole process tree is ended.
    pub timeout: Option<Duration>,
    /// How many bytes of each stream are kept; what comes after is counted and dropped.
    pub output_limit: u64,
    /// The terminal that a session has instead of pipes.
    #[serde(default)]
    pub terminal: Option<Terminal>,
    /// What it sees that the rest of the box does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
}

/// What one program sees of the host that the rest of its box does not, and who sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Directories that it cannot change.
    #[serde(default)]
    pub read_only: Vec<Shared>,
    /// Directories that it may write to. They are for this program alone.
    #[serde(default)]
    pub writable: Vec<Shared>,
    /// Whether it has a process namespace of its own: nothing else in the box can see or signal it, it sees nothing else, and all
    /// that it starts ends with it. What stands at its paths is replaced if it is not a directory; [`View`]s of programs that are
    /// not sealed are for boxes whose programs can be trusted.
    #[serde(default)]
    pub sealed: bool,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

impl ExecSpec {
    /// How many bytes of each stream are kept unless the caller says otherwise.
    pub const DEFAULT_OUTPUT_LIMIT: u64 = 128 << 20;

    /// `argv` as root in its home, without input or time limit.
    pub fn new<S: Into<String>>(id: ExecId, argv: impl IntoIterator<Item = S>) -> Self {
        Self {
            id,
            argv: argv.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            cwd: None,
            user: User::Root,
            stdin: false,
            timeout: None,
            output_limit: Self::DEFAULT_OUTPUT_LIMIT,
            terminal: None,
            view: None,
        }
    }

    /// `script` run by `/bin/sh`.
    pub fn shell(id: ExecId, script: impl Into<String>) -> Self {
        Self::new(id, ["/bin/sh".to_owned(), "-c".to_owned(), script.into()])
    }
}

/// One of the two streams that an execution writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The permission bits of a file to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMode(pub u32);
