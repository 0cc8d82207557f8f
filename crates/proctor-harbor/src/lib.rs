//! Harbor's formats, read natively: task directories, job files, rewards and results.
//!
//! * [`task`]: `task.toml` and the directory around it; [`digest`]: its content hash, equal to the one in Harbor's `lock.json`.
//! * [`job`]: job files in YAML or JSON, with what is refused, ignored and unknown in them.
//! * [`results`]: a job in Harbor's own layout, for its viewer and its models.
//! * [`rewards`], [`metrics`], [`steps`], [`timeouts`], [`exceptions`]: the rules by which a trial becomes numbers.
//!
//! Harbor drops keys that it does not know. Here every key that has no effect is a [`Warning`] with its path, and whatever cannot be
//! done is a [`Problem`](proctor_core::problem::Problem); all of them are found at once. A warning never changes a run.
//!
//! Nothing here opens files, starts programs or knows the time: a tree is read through [`tree::TaskTree`].

pub mod digest;
pub mod exceptions;
pub mod job;
pub mod metrics;
pub mod pattern;
mod read;
pub mod results;
pub mod rewards;
pub mod selection;
pub mod steps;
pub mod task;
pub mod template;
pub mod timeouts;
pub mod tree;
pub mod trial_name;
mod warning;

pub use warning::Warning;

/// The version of Harbor whose behaviour is followed.
pub const HARBOR_VERSION: &str = "0.25.0";
