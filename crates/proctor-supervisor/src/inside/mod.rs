//! The processes behind a box: a launcher per server, a supervisor per box, the box's first process.
//!
//! ```text
//! server ──socket──▶ launcher ──fork──▶ supervisor ──clone3──▶ first process (namespaces, mounts; then it only reaps)
//!                                        │   ▲
//!                                        │   └─ control socket: the server, or the next one
//!                                        └─fork─▶ enter the box ──▶ exec the program, read or write a file, speak SFTP
//!                                                               └─▶ or wait to be told which program
//! ```
//!
//! The server carries this program and starts the launcher from it; the launcher has one thread and little memory, so it and what it forks may
//! fork on without executing anything, which is why a box costs neither time nor memory for loading a program.
//! The launcher ends with its server; supervisors do not.
//!
//! Everything below this module is synchronous and single-threaded and must stay so: it forks.

mod actions;
mod boot;
mod capabilities;
mod control;
mod endings;
mod enter;
mod entrant;
mod executions;
mod failure;
mod files;
mod first;
mod identity;
mod launcher;
mod mounts;
mod overlay;
mod seccomp;
mod sessions;
mod sftp;
mod shared;
mod spares;
mod spool;
mod supervisor;
mod system_calls;
mod terminal;
mod trees;
mod usage;
mod view;

pub use launcher::{Order, receive_with_fds, run, send_order};
pub use spool::StatusFile;
