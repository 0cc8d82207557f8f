//! What brings a box of Linux namespaces up and stands by it until its end: [`inside`] has its processes.
//!
//! This crate is a program of its own, small on purpose. It forks several times for every box, and every fork of a large program pays for what
//! that program has in memory. It is also all that runs next to somebody else's code, so it has no network, no database and no threads.
//! `proctor-devbox` carries it and is the other side of it.
//!
//! What only these two share is here too: the plan on disk ([`plan`]) and the messages ([`wire`]), and what both do to files and control groups
//! ([`tree`], [`cgroup`]). The vocabulary of boxes is in `proctor-devbox-types`, because every backend speaks it.

pub mod cgroup;
pub mod image;
pub mod inside;
pub mod output_key;
pub mod plan;
mod scatter;
mod sys;
pub mod tree;
pub mod wire;

pub use inside::run;
use proctor_devbox_types::{error, name, network, record, spec};
pub use scatter::scatter;
pub use sys::seccomp_available;
