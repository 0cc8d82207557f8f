//! Devboxes as users see them.
//!
//! `proctor-devbox` makes boxes and knows nothing of who asked for one. This crate owns what lies between a box and the
//! HTTP surface: the record of every devbox and its life (launch, keep-alive, idle, suspend, resume, shutdown, recovery
//! after a crash), executions and named shells, files, disk snapshots, blueprints, objects, network policies and
//! mounts. It knows nothing of HTTP and nothing of scores, and it must never show one organization what belongs to
//! another.
//!
//! ```text
//! Fleet ── devboxes: create, find, list, wait, shut down, suspend, resume, hold
//!   │        ├ requests: from what somebody asks for to what a devbox is made from
//!   │        └ launch: from a record to a box that can be worked with
//!   ├── executions, shells: commands, their output, their order
//!   ├── files, logs, snapshots
//!   ├── tunnels, ssh: ways into a devbox from outside
//!   ├── frozen: disks that are kept after their devbox ended, to be judged again
//!   ├── objects, archives, mounts, network_policies, blueprints: what boxes are made of and filled with
//!   └── recover, clocks: what happens without anybody asking
//! ```

mod accounts;
pub mod archives;
pub mod blueprints;
mod clocks;
mod commands;
pub mod devboxes;
mod endings;
mod error;
pub mod executions;
pub mod files;
mod fleet;
mod frozen;
mod git;
mod launch;
mod live;
pub mod logs;
mod masks;
pub mod mounts;
pub mod network_policies;
pub mod objects;
pub mod output;
mod recover;
pub mod references;
mod requests;
mod shells;
pub mod snapshots;
mod ssh;
mod suspending;
pub mod trees;
mod tunnels;
mod workplace;

pub use devboxes::{DevboxChange, Hold, NewDevbox};
pub use error::FleetError;
pub use executions::{Command, Keeping, NewCommand};
pub use fleet::{Fleet, FleetOptions};
pub use frozen::{Freezing, KeepFrozen, KeptDisk};
pub use git::{
    CodeHosts, GitError, GitOptions, Repositories, check_address, check_reference,
    is_repository_name,
};
pub use masks::Masks;
pub use proctor_store::devboxes::DevboxRecord;
pub use requests::{RequestProblem, architecture};
pub use ssh::{Entrance, NewSshKey, SessionRequest, SshEndpoint, SshService};
pub use tunnels::{OpenTunnel, TunnelAddress, TunnelStream};
pub use workplace::Workplace;
