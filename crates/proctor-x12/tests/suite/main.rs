//! The crate through its public surface.

mod answers;
mod common;
mod envelopes;
mod fixtures;
mod paths;
mod reading;
mod syntax;
