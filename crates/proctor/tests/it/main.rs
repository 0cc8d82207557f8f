//! The program as people run it: its command line, its server, and real boxes behind it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod benchmarks;
mod cli;
mod clinical_jobs;
mod crash;
mod devboxes;
mod doctor;
mod faults;
mod full_disk;
mod images;
mod jobs;
mod leftovers;
mod mixed;
mod results;
mod run;
mod scenarios;
mod serve;
mod small_disk;
mod unprivileged;

/// The program under test.
const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");
