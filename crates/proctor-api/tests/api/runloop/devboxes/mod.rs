//! Devboxes over HTTP, on real boxes.

mod bad_input;
mod commands;
mod costs;
mod files;
mod job_logs;
mod lives;
mod mcp;
mod snapshots;
pub(super) mod support;
mod tunnels;
