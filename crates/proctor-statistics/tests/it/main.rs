//! The contract of the numbers: vectors with expected results, and what must hold for any scores.

mod properties;
mod support;
mod vectors;
