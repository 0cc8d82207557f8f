//! Linux sandboxes, called devboxes: a file system, processes, limits and a network policy of their own.
//!
//! This crate owns the [`Backend`] and [`Devbox`] traits, the [`conformance`] suite that every backend must pass,
//! the [`Registry`] of backends, and the [`local`] backend, which makes boxes of Linux namespaces without a container
//! engine. It knows nothing of HTTP, of runs or of scores, and it must never hand a descriptor, a path or a
//! credential of the host to what runs inside a box.
//!
//! ```text
//! Registry ── Backend ── Devbox ── Execution
//!             create      exec      output, stdin, signals, exit
//!             open, list  files, snapshot, suspend, resume, stop, destroy
//! ```

pub mod backend;
mod check;
pub mod conformance;
pub mod doctor;
pub mod egress;
pub mod error;
pub mod local;
pub mod name;
pub mod network;
pub mod record;
pub mod registry;
mod scatter;
pub mod spec;

pub use backend::{Backend, Devbox, Execution, FileContent, Sweep};
pub use doctor::{Finding, Report, Severity};
pub use error::{Error, Result};
pub use name::{BaseName, BoxId, ExecId, LayerId};
pub use network::{EgressPolicy, HostPattern, Network};
pub use record::{
    BoxRecord, BoxState, Enforcement, Exit, ExitCause, How, LayerRecord, OutputChunk, Progress,
    Property, SnapshotWay, Usage,
};
pub use registry::{Factory, Registry, Settings};
pub use scatter::scatter;
pub use spec::{Base, BoxSpec, ExecSpec, FileMode, Limits, Shared, Stream, User};
