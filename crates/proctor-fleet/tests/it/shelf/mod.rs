//! What stands around devboxes, on real boxes: archives, mounts, blueprints.
mod blueprints;
mod code_hosts;
mod dockerfiles;
mod mounts;
mod support;
mod unpacking;
