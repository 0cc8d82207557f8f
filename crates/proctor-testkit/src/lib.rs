//! What Proctor's tests and benchmarks share.
//!
//! - [`postgres`]: real PostgreSQL servers, started and removed by the tests themselves.
//! - `server`: Proctor's own server as people run it (with the feature of that name).
//! - `archive`: what is in an archive that a server answered with (with the feature of that name).
//! - [`cpu`]: how much of the processors a process has used.
//! - [`eventually()`]: waiting for what happens by itself.
//! - [`figures`]: what benchmarks measure, and how they print it.
//! - [`traces`]: what boxes leave behind.

#[cfg(feature = "archive")]
pub mod archive;
pub mod cpu;
mod eventually;
pub mod figures;
pub mod postgres;
#[cfg(feature = "server")]
pub mod server;
pub mod traces;

pub use self::eventually::{eventually, eventually_seen};
