//! The Runloop dialect's routes.

mod accounts;
mod benchmarks;
mod contract;
mod lists;
mod scenarios;
mod secrets;
