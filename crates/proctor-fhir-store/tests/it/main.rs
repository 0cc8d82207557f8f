//! The store through its public surface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod examples;
mod replay;
mod wire;
