//! Linux sandboxes, called devboxes: a file system, processes, limits and a network policy of their own.
//!
//! This crate owns the [`Backend`] and [`Devbox`] traits, the [`conformance`] suite that every backend must pass,
//! the [`Registry`] of backends, and the [`local`] backend, which makes boxes of Linux namespaces without a container
//! engine. The processes behind those are another program, `proctor-supervisor`, which this crate builds and carries; what is said about boxes
//! comes from `proctor-devbox-types`. It knows nothing of HTTP, of runs or of scores, and it must never hand a descriptor, a path or a
//! credential of the host to what runs inside a box.
//!
//! ```text
//! Registry ── Backend ── Devbox ── Execution
//!             create      exec      output, stdin, signals, exit
//!             open, list  files, snapshot, suspend, resume, stop, destroy
//! ```

pub mod backend;
pub mod conformance;
pub mod doctor;
pub mod egress;
pub mod local;
pub mod registry;

pub use backend::{
    Backend, Devbox, DiskChange, Duplex, Execution, FileContent, FileVersion, Session, Sweep,
    Window,
};
pub use doctor::{Finding, Report, Severity};
pub use error::{Error, Result};
pub use name::{BaseName, BoxId, ExecId, LayerId};
pub use network::{EgressPolicy, Host, HostPattern, Network, SERVER_URL, Target};
pub use proctor_devbox_types::{error, name, network, record, spec};
pub use proctor_supervisor::scatter;
pub use record::{
    BoxRecord, BoxState, Enforcement, Exit, ExitCause, How, LayerRecord, OutputChunk, Progress,
    Property, SnapshotWay, Usage,
};
pub use registry::{Factory, Registry, Settings, UnknownBackend};
pub use spec::{
    Base, BoxSpec, ExecSpec, FileMode, Limits, Shared, Stream, Terminal, User, View, Volume,
};
