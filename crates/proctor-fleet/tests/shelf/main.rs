//! What stands around devboxes, on real boxes: archives, mounts, blueprints.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod blueprints;
mod mounts;
mod support;
mod unpacking;
