//! The Verial dialect's routes.

mod admissions;
mod api_keys;
mod authoring;
mod benchmarks;
mod criteria;
mod datasets;
mod environments;
mod extensions;
mod judge;
mod lists;
pub(crate) mod organizations;
mod publishing;
mod reviewing;
mod runs;
mod simulators;
mod solver_keys;
mod solvers;
mod studio;
mod tasks;
mod tenants;

use serde_json::{Value, json};

/// A good body for a Solver.
pub(crate) fn solver(alias: &str) -> Value {
    json!({
        "alias": alias,
        "real_name": "Ada Lovelace",
        "agent_description": "Books appointments.",
        "contact_email": "ada@example.org",
    })
}
