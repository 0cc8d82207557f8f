//! A FHIR R4 store as a deterministic state machine.
//!
//! * [`base`]: seeded resources and indexes, shared by all playgrounds on them.
//! * [`state`]: one playground's store, an overlay on a base.
//! * [`rest`]: the interactions of FHIR's RESTful API, as functions of the state.
//! * [`search`]: search, from parameters to pages.
//! * [`change`]: what a request leaves behind for the journal; [`said`]: what it keeps of an answer;
//!   [`interaction`]: how both are read again.
//! * [`service`]: the store with a clock and a journal around it.
//! * [`http`]: the service over HTTP; [`smart`]: who may use it; [`serve`]: stand-alone,
//!   with what is in [`beginning`].
//!
//! Everything but the last two points is pure: the same requests at the same times give the same bytes.

pub mod base;
pub mod beginning;
mod capability;
pub mod change;
pub mod http;
mod index;
pub mod interaction;
pub(crate) mod json_writer;
pub mod kind;
pub mod outcome;
mod overlay;
pub(crate) mod provide;
mod query;
mod references;
pub mod resource;
pub mod rest;
pub mod said;
pub mod search;
pub mod serve;
pub mod service;
pub mod settings;
pub mod smart;
pub mod state;
mod view;

pub use crate::seed::{self, Seed};
pub use base::{Base, BaseBuilder};
pub use service::FhirService;
pub use settings::{Settings, Validation};
pub use state::State;
