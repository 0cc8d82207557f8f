//! What stands around devboxes, on real boxes: archives, mounts, blueprints.
mod blueprints;
mod mounts;
mod support;
mod unpacking;
