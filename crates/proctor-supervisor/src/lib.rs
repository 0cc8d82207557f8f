//! What brings a box of Linux namespaces up and stands by it until its end: [`inside`] has its processes.
//!
//! This crate is a program of its own, small on purpose. It forks several times for every box, and every fork of a large program pays for what
//! that program has in memory. It is also all that runs next to somebody else's code, so it has no network, no database and no threads.
//! `proctor-devbox` carries it and is the other side of it.
//!
//! What both sides share is here too: the words for boxes ([`name`], [`spec`], [`network`], [`record`], [`error`]), the plan on disk ([`plan`]) and
//! the messages ([`wire`]), and what both do to files and control groups ([`tree`], [`cgroup`]).

pub mod cgroup;
mod check;
pub mod error;
pub mod image;
pub mod inside;
pub mod name;
pub mod network;
pub mod plan;
pub mod record;
mod scatter;
pub mod spec;
mod sys;
pub mod tree;
pub mod wire;

pub use inside::run;
pub use scatter::scatter;
pub use sys::seccomp_available;
