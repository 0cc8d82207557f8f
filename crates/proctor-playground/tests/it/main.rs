//! Worlds on real journals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clinic;
mod freezing;
mod house;
mod journal;
mod reading;
mod recorder;
mod time;
mod world;
