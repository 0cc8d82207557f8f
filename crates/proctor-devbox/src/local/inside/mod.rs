//! The processes behind a box: a launcher per server, a supervisor per box, the box's first process.
//!
//! ```text
//! server ──socket──▶ launcher ──fork──▶ supervisor ──clone3──▶ first process (namespaces, mounts; then it only reaps)
//!                                        │   ▲
//!                                        │   └─ control socket: the server, or the next one
//!                                        └─fork─▶ enter the box ──▶ exec the program, or read or write a file
//!                                                               └─▶ or wait to be told which program
//! ```
//!
//! The server starts the launcher by executing its own program again ([`maybe_run_inner`]); the launcher has one thread, so
//! it and what it forks may fork on without executing anything, which is why a box costs neither time nor memory for loading a program.
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
mod shared;
mod spares;
mod spool;
mod supervisor;
mod system_calls;
mod trees;
mod usage;

pub(crate) use launcher::{Order, receive_with_fds, send_order};
pub(crate) use spool::StatusFile;

use super::sys;

/// The hidden first argument that turns the program into the launcher.
pub(crate) const LAUNCHER: &str = "__devbox-launcher";

/// Runs the launcher and ends the process if `args` (with the program's name) ask for it; otherwise returns at once.
///
/// To be called first thing in `main`, before any thread is started.
pub fn maybe_run_inner(args: impl IntoIterator<Item = std::ffi::OsString>) {
    if args
        .into_iter()
        .nth(1)
        .is_some_and(|first| first == LAUNCHER)
    {
        let code = i32::from(launcher::run().is_err());
        sys::exit_now(code);
    }
}
