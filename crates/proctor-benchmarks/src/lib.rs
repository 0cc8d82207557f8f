//! Benchmarks as files: a whole benchmark in one YAML file, from its data to its solutions.
//!
//! * [`ReadFile::read`]: from text to content, with everything that is wrong named at once and in its
//!   place; [`BenchmarkFile::to_yaml`]: the way back.
//! * [`ReadFile::check`]: all that can be known before anybody takes it, without a server.
//! * [`push`], [`pull`]: to a server and back, over the public API; [`push_scenarios`]: the same way for coding scenarios.
//! * [`take`]: the built-in agents that prove a benchmark, the oracle and the null agent.
//! * [`SHIPPED`]: the benchmarks that are part of the program.
//!
//! The format is described in docs/benchmark-files.md. Nothing here prints; nothing here knows how
//! a server works inside.

mod admission;
mod api;
mod check;
mod definition;
mod document;
mod file;
mod folder;
mod push;
mod read;
mod remote;
mod replayer;
mod report;
mod scenarios;
mod shipped;
mod solution;
mod take;
mod take_scenarios;
mod write;
mod yaml;

pub use admission::{
    AdmissionError, Admitter, Certificate, HarmRow, Rehearsed, Survivor, TaskCertificate,
};
pub use api::{Api, ApiError};
pub use check::Checked;
pub use definition::NoFile;
pub use file::{
    BenchmarkFile, CriterionPart, DatasetPart, EntityPart, EnvironmentPart, SimulatorPart, TaskPart,
};
pub use folder::Folder;
pub use proctor_core::problem::{Problem, Severity, Span};
pub use push::{Pushed, push};
pub use read::ReadFile;
pub use remote::{PullError, pull};
pub use replayer::Replayer;
pub use report::{Report, Source};
pub use scenarios::{PushedScenario, PushedScenarios, push_scenarios};
pub use shipped::{SHIPPED, Shipped};
pub use solution::Solution;
pub use take::{
    Agent, StartedTask, TakeError, Taken, TakenCheck, TakenMiss, TakenTask, enroll, replay, take,
};
pub use take_scenarios::{box_is_ready, solve_scenario, take_scenarios};
