//! The store through its public face, each behaviour on both databases.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admissions;
mod authoring;
mod benchmarks;
mod comparisons;
mod counters;
mod credentials;
mod definitions;
mod devboxes;
mod faults;
mod fixture;
mod frozen_disks;
mod idempotency;
mod jobs;
mod journal;
mod journal_crash;
mod operators;
mod organizations;
mod pages;
mod run_figures;
mod runs;
mod scenarios;
mod sealed;
mod secrets;
mod server_lock;
mod shelf;
mod solvers;
mod trajectories;
mod versions;
mod web_sessions;
