//! What a backend knows and says: records of boxes, how an execution ended, what could not be enforced.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{name::LayerId, spec::BoxSpec};

/// Where a box is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxState {
    /// It has a disk and no processes: new, stopped, or found like this after a crash.
    Stopped,
    /// Programs can be run in it.
    Running,
    /// Its processes stand still and keep their memory.
    Suspended,
    /// It was running and is no more, without having been asked to stop.
    Lost,
}

/// Something that a box should have, and may not have on every host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Property {
    /// Processes, mounts, network, host name and IPC of its own.
    Isolation,
    /// Users inside are ids outside that nothing else has.
    DistinctUsers,
    /// Several users inside the box.
    ManyUsers,
    /// Only harmless system calls.
    SystemCallFilter,
    /// The limit on processor time.
    CpuLimit,
    /// The limit on memory.
    MemoryLimit,
    /// The limit on processes.
    PidsLimit,
    /// The limit on bytes and files on disk.
    DiskLimit,
    /// The limit on open files.
    OpenFilesLimit,
    /// An execution's time-out ends everything it started.
    TreeKill,
    /// Suspending stops every process.
    Suspend,
    /// The limit on bytes and files on disk, to the byte and at once.
    ExactDisk,
    /// The network policy.
    Egress,
    /// The base can be written to (into the box's own layer) everywhere.
    WritableBase,
}

/// How well a property is had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// By the kernel, exactly.
    Enforced,
    /// Watched or approximated; the text says what that leaves open.
    Soft(String),
    /// Not at all; the text says why.
    Missing(String),
}

/// One line of the statement of what a box has and has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// What it is about.
    pub property: Property,
    /// How well the box has it.
    pub how: How,
}

/// What a backend knows of a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxRecord {
    /// What was asked for.
    pub spec: BoxSpec,
    /// Where it is in its life.
    pub state: BoxState,
    /// What it has and has not; only properties that were asked for or that matter to every box.
    pub enforcement: Vec<Enforcement>,
    /// A fingerprint of the base, where the base is not reproducible.
    pub base_fingerprint: Option<String>,
}

/// What ended an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitCause {
    /// The program ended, by itself or by a signal from whomever.
    Itself,
    /// Its time was over.
    TimedOut,
    /// Somebody asked for its end.
    Killed,
    /// The kernel ended a process of it because the box had no memory left.
    OutOfMemory,
    /// The box had used up its disk.
    OutOfDisk,
    /// The box ended around it.
    BoxEnded,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, if it ended with one.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Why it ended.
    pub cause: ExitCause,
    /// How long it ran.
    pub wall: Duration,
}

impl Exit {
    /// The one number that a shell would show: the code, or 128 and the signal.
    pub fn status(&self) -> i32 {
        match (self.code, self.signal) {
            (Some(code), _) => code,
            (None, Some(signal)) => 128 + signal,
            (None, None) => 128 + 9,
        }
    }

    /// Whether it ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

/// How far an execution has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Bytes of standard output that can be read.
    pub stdout: u64,
    /// Bytes of standard error that can be read.
    pub stderr: u64,
    /// Bytes of standard output beyond the limit, which were dropped.
    pub stdout_dropped: u64,
    /// Bytes of standard error beyond the limit, which were dropped.
    pub stderr_dropped: u64,
    /// How it ended, once it has.
    pub exit: Option<Exit>,
}

/// A piece of an execution's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputChunk {
    /// The bytes.
    pub bytes: Bytes,
    /// The position behind them: where to go on.
    pub end: u64,
    /// Whether the execution has ended and nothing comes after these bytes.
    pub last: bool,
}

/// How a snapshot was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SnapshotWay {
    /// The box's own layer became the snapshot; nothing was copied.
    Renamed,
    /// What the box had changed was copied: processes were running, which stood still meanwhile, or there was so little of it that a
    /// copy was the shorter way.
    Copied,
}

/// What a backend knows of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRecord {
    /// Its name.
    pub id: LayerId,
    /// How it was made.
    pub way: SnapshotWay,
    /// Notes of the owner.
    pub labels: std::collections::BTreeMap<String, String>,
    /// How many bytes of the disk it takes, if that came to be known when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// What a box uses now. `None` where the host does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Processor time so far, in microseconds.
    pub cpu_micros: Option<u64>,
    /// Bytes added to the base, as last counted.
    pub disk_bytes: Option<u64>,
    /// Files and directories added to the base, as last counted.
    pub disk_files: Option<u64>,
}
