//! The domain of Proctor, free of I/O and of async.
//!
//! * [`id`]: typed ids, one registry of kinds, each dialect's prefixes.
//! * [`time`]: instants with millisecond precision and the [`time::Clock`] they come from.
//!
//! Nothing here reads a clock, draws a random number, or knows how it is stored or shown.

pub mod id;
pub mod time;
