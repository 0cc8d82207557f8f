//! Coding scenarios as files, in whatever form they come: our own YAML ([`mod@file`]), or instances of SWE-bench and SWE-smith ([`swe`]).
//!
//! Everything here is a pure function from text to a [`ScenarioSet`], whose scenarios are written in the shape that the API takes
//! ([`Scenario::to_parameters`]). This crate owns no connection, no box and no store; who brings scenarios to a server, or runs
//! them, is elsewhere.

pub mod file;
pub mod patch;
pub mod reference;
pub mod scenario;
pub mod shipped;
pub mod swe;

pub use file::{BadFile, read_file};
pub use reference::Reference;
pub use scenario::{Scenario, ScenarioSet};
pub use shipped::{SHIPPED, Shipped};
