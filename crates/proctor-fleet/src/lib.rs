//! Devboxes as users see them.
//!
//! `proctor-devbox` makes boxes and knows nothing of who asked for one. This crate owns what lies between a box and the
//! HTTP surface: the record of every devbox and its life (launch, keep-alive, idle, suspend, resume, shutdown, recovery
//! after a crash), executions and named shells, files, disk snapshots, blueprints, objects, network policies and
//! mounts. It knows nothing of HTTP and nothing of scores, and it must never show one organization what belongs to
//! another.

pub mod archives;
pub mod blueprints;
mod commands;
mod git;
pub mod mounts;
pub mod network_policies;
pub mod objects;

pub use git::{GitError, GitOptions, Repositories, is_repository_name};
