//! What every simulated service and every check has in common, without a server or a database.
//!
//! * [`simulator`]: the shape that every simulator has; [`exchange`]: what it is asked and answers.
//! * [`registry`]: a type of simulator as a value that registers itself, and the list of all of them.
//! * [`machine`]: simulators behind one face, so that a world can hold any of them.
//! * [`scenario`]: what happens before the agent comes; [`exhibits`]: what checks look at after,
//!   [`record`]: what happened between.
//! * [`entrance`]: who comes in with credentials of a simulator's own.
//! * [`rows`]: the plain state that some simulators have; [`seed`]: where ids, numbers and passwords
//!   come from.
//! * [`account`], [`content`], [`json_writer`], [`payload`]: how events are told and kept.
//! * [`fields`], [`config`]: bodies and configurations, read so that everything wrong is said at once.
//! * [`tool`]: what a simulator offers to agents that call tools.
//! * `rehearsal`, with the feature of that name: for tests of simulators.
//!
//! Nothing here does I/O, reads a clock or draws a random number, and nothing knows which simulators
//! there are.

pub mod account;
pub mod config;
pub mod content;
pub mod entrance;
pub mod exchange;
pub mod exhibits;
pub mod fields;
pub mod json_writer;
pub mod machine;
pub mod payload;
pub mod record;
pub mod registry;
#[cfg(feature = "rehearsal")]
pub mod rehearsal;
pub mod rows;
pub mod scenario;
pub mod schema;
pub mod seed;
pub mod simulator;
pub mod tool;
