//! Playgrounds: the worlds that simulators make up.
//!
//! * [`environment`]: what a playground is made from.
//! * [`world`]: a playground at work.
//! * [`recorder`]: how events reach the journal.
//!
//! What a simulator is, `proctor-simulation` says. This crate knows none by name: which there are is
//! said by the registry that an environment is read with.

pub mod environment;
pub mod recorder;
pub mod world;
