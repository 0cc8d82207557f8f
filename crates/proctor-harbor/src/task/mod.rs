//! `task.toml` and the directory around it.
//!
//! [`TaskConfig`] is what `task.toml` says; [`Task::load`] reads it with the files beside it, and says whether that is a task.

mod config;
mod environment;
mod load;
mod network;

pub(crate) use self::{config::artifacts, environment::mcp_server, network::allowed_hosts};
pub use self::{
    config::{
        AgentPhase, Artifact, CollectHook, Package, Step, TaskConfig, VerifierMode, VerifierPhase,
    },
    environment::{Environment, Healthcheck, McpServer, McpTransport},
    load::{BadTask, Task, TaskStep, strip_canary, with_extras},
    network::{NetworkMode, NetworkPolicy},
};
