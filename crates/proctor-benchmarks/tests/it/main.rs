//! Benchmarks as files, from the outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admission;
mod malformed;
mod reference;
mod schema;
mod shipped;
mod support;
mod wrong_agents;
