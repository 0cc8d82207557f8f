//! What Proctor's tests and benchmarks share.
//!
//! - [`postgres`]: real PostgreSQL servers, started and removed by the tests themselves.
//! - `server`: Proctor's own server as people run it (with the feature of that name).
//! - [`figures`]: what benchmarks measure, and how they print it.

pub mod figures;
pub mod postgres;
#[cfg(feature = "server")]
pub mod server;
