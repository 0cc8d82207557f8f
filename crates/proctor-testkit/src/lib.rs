//! What Proctor's tests share.
//!
//! [`postgres`]: real PostgreSQL servers, started and removed by the tests themselves.
//! [`traces`]: what boxes leave behind.

pub mod postgres;
pub mod traces;
