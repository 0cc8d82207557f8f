//! Scorers on real boxes: the six kinds, the four modes, what is left behind, and what cheating is worth.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "a skipped case says why")]

mod cheating;
mod kinds;
mod modes;
mod python;
mod remainders;
mod scenarios;
mod support;
mod verifier;
