//! The API through its public surface: a real server on a loopback port, real clients.

mod bad_input;
mod drain;
mod manners;
mod observe;
mod protocols;
mod support;
mod telemetry;
