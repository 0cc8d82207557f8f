//! The crate through its public surface.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests stand outside of test functions"
)]

mod answers;
mod common;
mod envelopes;
mod fixtures;
mod paths;
mod reading;
mod syntax;
