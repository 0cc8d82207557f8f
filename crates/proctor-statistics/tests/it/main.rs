//! The contract of the numbers: vectors with expected results, and what must hold for any scores.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod properties;
mod support;
mod vectors;
