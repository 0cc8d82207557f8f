//! What happens when: publishing, runs, task runs, deadlines, recovery after a crash.
//!
//! * [`engine`]: what the engine owns, how it begins and ends.
//! * [`authoring`]: from drafts to frozen benchmarks.
//! * [`runs`]: one life cycle of runs and task runs, a file for each thing that can happen.
//! * `workspace`: where a task run is done, a playground or a box; `change`: how anything is changed.
//! * [`scenarios`]: what the engine needs of boxes and scorers; logs, and proving scenarios.
//! * [`jobs`]: agents that take scenarios without anybody's help.
//! * [`results`]: our own numbers of runs and jobs.
//! * [`playgrounds`]: playgrounds that belong to no run, and what is behind sandboxes.
//! * [`admission`]: whether a frozen benchmark sees harm.
//! * [`oracle`]: who does in a playground what its author says solves the task.
//! * [`text_judge`]: who answers questions about free text.
//! * [`extensions`]: the simulators and checks that there are.
//! * [`catalog`]: frozen definitions, prepared once.
//! * [`harbor`]: jobs that Harbor's job files describe.
//! * [`problems`]: what is wrong with what somebody asks for.
//!
//! Rules that both dialects need live here, once. The engine asks `proctor-core` what may happen,
//! keeps what was decided in `proctor-store`, and owns the live worlds.

pub mod admission;
pub mod authoring;
pub mod catalog;
mod change;
pub mod comparisons;
mod deadlines;
mod drafts;
mod egress;
pub mod engine;
pub mod error;
pub mod extensions;
pub mod harbor;
pub mod jobs;
pub mod leaderboards;
pub mod oracle;
pub mod playgrounds;
pub mod problems;
pub mod results;
mod routes;
pub mod runs;
pub mod scenarios;
pub mod text_judge;
mod under_way;
mod workspace;
mod worlds;

pub use engine::Engine;
pub use error::EngineError;
pub use extensions::Extensions;
