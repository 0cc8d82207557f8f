//! The API through its public surface: a real server on a loopback port, real clients.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on stops where it is"
)]

mod auth;
mod bad_input;
mod drain;
mod hardening;
mod logs;
mod manners;
mod mcp;
mod observe;
mod once_only;
mod protocols;
mod rate_limit;
mod runloop;
mod support;
mod unavailable;
mod verial;
