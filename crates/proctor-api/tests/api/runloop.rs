//! The Runloop dialect's routes.

mod accounts;
mod benchmarks;
mod contract;
mod devboxes;
mod lists;
mod runs;
mod scenarios;
mod secrets;
mod workshop;
