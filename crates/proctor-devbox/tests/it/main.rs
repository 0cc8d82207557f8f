//! The local backend through its public surface: the conformance suite, escape attempts, crashes, remainders.

mod conformance;
mod support;
