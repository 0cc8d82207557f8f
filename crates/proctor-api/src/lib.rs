//! Proctor over HTTP: one server with two dialects' manners.
pub mod dialect;
pub mod extract;
mod frame;
pub mod metrics;
pub mod problem;
mod rate_limit;
mod request_id;
pub mod server;
mod state;
pub mod telemetry;
