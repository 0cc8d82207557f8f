//! A FHIR R4 store as a deterministic state machine.
//!
//! * [`base`]: seeded resources and indexes, shared by all playgrounds on them.
//! * [`state`]: one playground's store, an overlay on a base.
//! * [`rest`]: the interactions of FHIR's RESTful API, as functions of the state.
//! * [`search`]: search, from parameters to pages.
//! * [`change`]: what a request leaves behind for the journal; [`said`]: what it keeps of an answer;
//!   [`interaction`]: how both are read again.
//! * [`simulator`]: the store as a simulator of a world, which has the clock and the journal;
//!   [`blueprint`]: what it is made from; [`plugin`]: how it registers itself.
//! * [`smart`]: the tokens that a store gives out; [`entrance`]: what they are good for.
//!
//! Everything is pure: the same requests at the same times give the same bytes. A store by itself
//! over HTTP is `proctor-fhir-server`.

mod addresses;
pub mod base;
mod blueprint;
mod capability;
pub mod change;
mod entrance;
mod index;
pub mod interaction;
pub mod kind;
pub mod outcome;
mod overlay;
mod plugin;
mod provide;
mod query;
mod references;
pub mod resource;
pub mod rest;
pub mod said;
pub mod search;
pub mod settings;
mod simulator;
pub mod smart;
pub mod state;
mod tools;
mod view;
mod writes;

pub use base::{Base, BaseBuilder};
pub use blueprint::LoneStore;
pub use plugin::{FhirPlugin, PATH};
pub(crate) use proctor_simulation::json_writer;
pub use proctor_simulation::seed::{self, Seed};
pub use settings::{Settings, Validation};
pub use state::State;
