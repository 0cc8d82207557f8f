//! Scenario runs and benchmark runs: how they are started, looked at and ended.

pub(crate) mod benchmark_runs;
mod log_files;
mod logs;
pub(crate) mod rescore;
pub(crate) mod scenario_runs;
mod view;
mod zip;

pub(crate) use self::view::{ScenarioRunView, run_state};
