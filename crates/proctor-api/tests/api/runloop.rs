//! The Runloop dialect's routes.

mod accounts;
mod agents;
mod lists;
mod network_policies;
mod objects;
mod secrets;
