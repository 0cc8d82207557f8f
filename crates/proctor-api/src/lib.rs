//! Proctor over HTTP: one server with two dialects' manners.
//!
//! * [`server`]: the listening socket, its connections, TLS and the drain.
//! * [`Api`]: all routes; around each of them one frame (request id, span, numbers, time-out,
//!   panics, problems in the dialect's words).
//! * [`error`]: what went wrong, before a dialect has put it into words.
//! * [`extract`]: what handlers ask for, parsed.
//! * [`auth`]: who is calling, as proofs that handlers ask for.
//! * [`verial`], [`runloop`]: each dialect's routes, lists and views.
//! * `tunnels`: what passes through to services in devboxes.
//! * [`metrics`], [`telemetry`]: what the server tells about itself.
//!
//! Dialects only translate: parse, authorise, call, render. A rule that both need does not belong
//! here.

mod agent_reports;
pub mod auth;
pub mod dialect;
mod docs;
pub mod error;
pub mod extract;
mod frame;
mod genai;
mod mcp;
pub mod metrics;
mod observe;
mod once_only;
mod openapi;
mod rate_limit;
mod request_id;
mod results;
mod router;
mod rubrics;
pub mod runloop;
pub mod server;
mod state;
pub mod telemetry;
mod tunnels;
pub mod verial;

pub use rate_limit::RateLimit;
pub use request_id::REQUEST_ID;
pub use router::Api;
pub use state::{ApiOptions, ApiState, OfferedDevboxes};
