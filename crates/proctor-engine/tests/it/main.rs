//! The engine through its public surface, on a store of each test's own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod authoring;
mod old_worlds;
