//! The Runloop dialect's routes.

mod accounts;
mod agents;
mod benchmarks;
mod blueprints;
mod comparisons;
mod contract;
mod costs;
mod devboxes;
mod every_operation;
mod extensions;
mod harbor;
mod job_interruptions;
mod jobs;
mod lists;
mod network_policies;
mod objects;
mod publishing;
mod results;
mod run_ends;
mod runs;
mod scenarios;
mod secrets;
mod workshop;
