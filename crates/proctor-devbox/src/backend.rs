//! The traits that every kind of sandbox implements.
//!
//! They are object safe: the engine holds `Arc<dyn Backend>` and `Arc<dyn Devbox>` and never asks which one it is.
//! What each method promises is written here and tried by [`crate::conformance`].

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    doctor::Report,
    error::{Error, Result},
    name::{BaseName, BoxId, ExecId, LayerId},
    network::EgressPolicy,
    record::{BoxRecord, Exit, LayerRecord, OutputChunk, Progress, Usage},
    spec::{BoxSpec, ExecSpec, FileMode, Stream, Terminal, User},
};

/// A way to make boxes.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Its name in configuration and messages.
    fn name(&self) -> &'static str;

    /// Tries what the host offers and says what is missing.
    async fn doctor(&self) -> Report;

    /// Makes a box. It has a disk and no processes until it is started.
    async fn create(&self, spec: BoxSpec) -> Result<Arc<dyn Devbox>>;

    /// The box of that name, also one that an earlier process made, with its executions attached again.
    async fn open(&self, id: &BoxId) -> Result<Arc<dyn Devbox>>;

    /// Every box there is, whoever made it.
    async fn list(&self) -> Result<Vec<BoxRecord>>;

    /// Destroys every box that is not in `owned`, and every remainder of boxes that are no more. To be called before anything is
    /// made: a box or a layer that is coming to be looks like a remainder.
    async fn sweep(&self, owned: &BTreeSet<BoxId>) -> Result<Sweep>;

    /// Makes the root file system in `directory` usable as a base. It must not change while boxes use it.
    async fn register_rootfs(&self, name: &BaseName, directory: &std::path::Path) -> Result<()>;

    /// Every layer there is.
    async fn layers(&self) -> Result<Vec<LayerRecord>>;

    /// How many bytes a layer takes by itself, without those that it stands on. It is counted now, which takes as long as it
    /// has files.
    async fn layer_bytes(&self, id: &LayerId) -> Result<u64>;

    /// What a layer changed against those that it stands on, by path; as many files as people look at. Layers directly below it whose
    /// names begin with `same_disk` are earlier states of the same disk, and count as changes too.
    async fn layer_changes(&self, id: &LayerId, _same_disk: &str) -> Result<Vec<DiskChange>> {
        let _ = id;
        Err(Error::NotOffered("what a layer changed"))
    }

    /// Removes a layer that no box and no other layer needs.
    async fn delete_layer(&self, id: &LayerId) -> Result<()>;

    /// Waits until what goes on in the background (removing disks) is done, and starts nothing new.
    async fn drain(&self);
}

/// A file that differs from what was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskChange {
    /// Its path in the box.
    pub path: String,
    /// What was there.
    pub before: FileVersion,
    /// What is there now.
    pub after: FileVersion,
}

/// A file at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileVersion {
    /// It is not there.
    Missing,
    /// A file with contents.
    File {
        /// Its size.
        size: u64,
        /// Its first bytes.
        beginning: Vec<u8>,
    },
    /// Something else, in a word.
    Other(&'static str),
}

/// What a sweep found and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Boxes that nobody owned.
    pub boxes: Vec<BoxId>,
    /// Remainders that belonged to no box: control groups, half-made or half-removed directories.
    pub remainders: Vec<String>,
}

/// A file that is being read out of a box.
pub struct FileContent {
    /// Its size when it was opened.
    pub size: u64,
    /// Its permission bits.
    pub mode: FileMode,
    /// Its bytes.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
}

impl std::fmt::Debug for FileContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileContent")
            .field("size", &self.size)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// A connection into a box, both ways.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A program whose streams are the caller's.
pub struct Session {
    /// The program: its end, its signals. It keeps no output.
    pub execution: Arc<dyn Execution>,
    /// What it reads; dropping it is the end of its input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// What it writes as errors, unless it has a terminal, where both are one.
    pub errors: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// Its terminal, if it has one.
    pub window: Option<Arc<dyn Window>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(self.execution.id()).finish()
    }
}

/// The window of a terminal.
pub trait Window: Send + Sync {
    /// Gives it another size; the program hears of it.
    fn resize(&self, size: Terminal) -> Result<()>;
}

/// One sandbox.
#[async_trait]
pub trait Devbox: Send + Sync {
    /// Its name.
    fn id(&self) -> &BoxId;

    /// What is known of it.
    async fn record(&self) -> Result<BoxRecord>;

    /// Brings it up. A running box stays as it is.
    async fn start(&self) -> Result<()>;

    /// Runs a program and answers as soon as it runs. The same id again answers with the same execution.
    async fn exec(&self, spec: ExecSpec) -> Result<Arc<dyn Execution>>;

    /// The execution of that name, running or ended.
    async fn execution(&self, id: &ExecId) -> Result<Arc<dyn Execution>>;

    /// The names of all executions since the box was made.
    async fn executions(&self) -> Result<Vec<ExecId>>;

    /// Opens a regular file for reading as `user`; links resolve inside the box. Larger than `limit` is refused.
    async fn read_file(&self, path: &str, user: &User, limit: Option<u64>) -> Result<FileContent>;

    /// Writes a regular file as `user`, making missing directories; links resolve inside the box. The file is
    /// replaced as a whole: until all bytes have arrived the old one stays. Without `mode` it keeps the bits of
    /// the file it replaces, or gets `rw-r--r--`. Answers how many bytes were written.
    async fn write_file(
        &self,
        path: &str,
        user: &User,
        mode: Option<FileMode>,
        content: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<u64>;

    /// Connects to a port of the box's loopback interface. [`Error::NoListener`] if nobody is there.
    async fn connect(&self, port: u16) -> Result<Box<dyn Duplex>> {
        let _ = port;
        Err(Error::NotOffered("ports that can be reached from outside"))
    }

    /// Runs a program whose streams are the caller's, with a terminal if the specification has one. Every name is good for one
    /// session. It ends by itself; when its streams are dropped, it reads the end of its input or loses its terminal.
    async fn session(&self, spec: ExecSpec) -> Result<Session> {
        let _ = spec;
        Err(Error::NotOffered("sessions"))
    }

    /// Speaks SFTP (version 3) as `user`; relative paths begin in `directory`.
    async fn sftp(&self, user: &User, directory: &str) -> Result<Box<dyn Duplex>> {
        let _ = (user, directory);
        Err(Error::NotOffered("SFTP"))
    }

    /// Lets a box that has a way out reach this from now on, and nothing else. Connections that are open end.
    async fn set_egress(&self, policy: EgressPolicy) -> Result<()> {
        let _ = policy;
        Err(Error::NotOffered("another network policy while it runs"))
    }

    /// Keeps the disk as it is now as a layer; the box goes on.
    async fn snapshot(
        &self,
        layer: LayerId,
        labels: std::collections::BTreeMap<String, String>,
    ) -> Result<LayerRecord>;

    /// Makes every process stand still; memory is kept. A suspended box stays as it is.
    async fn suspend(&self) -> Result<()>;

    /// Lets the processes of a suspended box go on.
    async fn resume(&self) -> Result<()>;

    /// Ends every process and keeps the disk. A stopped box stays as it is.
    async fn stop(&self) -> Result<()>;

    /// Ends every process and removes everything. Repeating it is fine.
    async fn destroy(&self) -> Result<()>;

    /// What it uses now.
    async fn usage(&self) -> Result<Usage>;

    /// Returns when the box has ended: stopped, destroyed or lost.
    async fn ended(&self);
}

/// One program that runs or ran in a box.
#[async_trait]
pub trait Execution: Send + Sync {
    /// Its name.
    fn id(&self) -> &ExecId;

    /// What was found when it was started, if that was just now: places of its view that were not as they should be.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// How far it is.
    fn progress(&self) -> Progress;

    /// Waits for its end. That is the end of the process, whether or not something still holds its streams.
    async fn wait(&self) -> Result<Exit>;

    /// Up to `most` bytes of a stream from `offset` on; waits until there is at least one or the stream is over.
    async fn read_output(&self, stream: Stream, offset: u64, most: usize) -> Result<OutputChunk>;

    /// Writes to its standard input; returns when the bytes are in the process's hands.
    async fn write_stdin(&self, bytes: &[u8]) -> Result<()>;

    /// Ends its standard input.
    async fn close_stdin(&self) -> Result<()>;

    /// Sends a signal to the program itself and its process group.
    async fn signal(&self, signal: i32) -> Result<()>;

    /// Ends everything that the execution started, for sure.
    async fn kill(&self) -> Result<()>;

    /// Forgets an ended execution and its output.
    async fn forget(&self) -> Result<()>;
}
