//! The local backend through its public surface: the conformance suite, escape attempts, crashes, remainders.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "a skipped case says why")]

mod attacks;
mod conformance;
mod crashes;
mod egress;
mod entrance;
mod escapes;
mod mass;
mod remainders;
mod revealing;
mod rootfs;
mod starving;
mod support;
mod view;
mod waiting;
