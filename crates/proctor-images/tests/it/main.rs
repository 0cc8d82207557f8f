//! Images from every source, hostile ones, and registries that do not behave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod base;
mod hostile;
mod registry;
mod sources;
mod stored;
mod support;
