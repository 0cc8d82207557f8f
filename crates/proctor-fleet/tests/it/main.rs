//! The fleet through its public surface, on real boxes.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on stops where it is"
)]

mod clocks;
mod commands;
mod frozen;
mod interrupted_launches;
mod lives;
mod recovery;
mod shelf;
mod shells;
mod snapshots;
mod support;
