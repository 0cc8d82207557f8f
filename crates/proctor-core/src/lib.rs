//! The domain of Proctor, free of I/O and of async.
//!
//! * [`id`]: typed ids, one registry of kinds, each dialect's prefixes.
//! * [`time`]: instants with millisecond precision and the [`time::Clock`] they come from.
//! * [`definition`]: what is examined: [`definition::Benchmark`], its tasks and their criteria.
//! * [`document`]: parts of definitions that are types, and are written back exactly as they were read.
//! * [`environment`]: what a playground is made of.
//! * [`devbox`]: what a Linux box is asked to be, and the states of its life.
//! * [`canonical`]: the one byte form of a JSON value, and its digest.
//! * [`run`], [`task_run`], [`job`]: the state machines; a transition is a method that either
//!   succeeds or says why not.
//! * [`object`], [`network_policy`], [`agent`], [`mount`], [`blueprint`]: what stands around devboxes.
//! * [`reader`]: reading documents of authors so that every [`problem`] is told at once, with its place.
//! * [`limits`]: how much an organization may have.
//! * [`profile`]: what whoever starts a run brings along.
//! * [`numeral`]: how decimal numbers are written; [`shell`]: texts for a shell.
//! * [`phrase`]: whether words were said, however they were written.
//! * [`scorer`]: what scorers of tasks in boxes look at.
//! * [`scoring`]: marks, axes, verdicts; [`criterion_run`]: the record behind each mark.
//! * [`cause`]: why something was not judged; [`results`]: our own numbers, in which that counts.
//! * [`causes`]: how an error is told with what caused it.
//!
//! Nothing here reads a clock, draws a random number, or knows how it is stored or shown.

pub mod agent;
pub mod blueprint;
pub mod canonical;
pub mod cause;
pub mod causes;
pub mod criterion_run;
pub mod definition;
pub mod devbox;
pub mod document;
pub mod environment;
pub mod id;
pub mod job;
pub mod limits;
pub mod mount;
pub mod network_policy;
pub mod numeral;
pub mod object;
pub mod phrase;
pub mod policy;
pub mod problem;
pub mod profile;
pub mod reader;
pub mod refused;
pub mod results;
pub mod run;
pub mod scorer;
pub mod scoring;
pub mod shell;
pub mod task_run;
pub mod time;
pub mod trajectory;
pub mod usage;
