//! The Runloop dialect's routes.

mod accounts;
mod lists;
mod secrets;
