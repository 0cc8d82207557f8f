//! What Proctor's tests share.
//!
//! [`postgres`]: real PostgreSQL servers, started and removed by the tests themselves.

pub mod postgres;
