//! A FHIR R4 store as a deterministic state machine.
//!
//! * [`base`]: seeded resources and indexes, shared by all playgrounds on them.
//! * [`state`]: one playground's store, an overlay on a base.
//! * [`rest`]: the interactions of FHIR's RESTful API, as functions of the state.
//! * [`search`]: search, from parameters to pages.
//! * [`change`]: what a request leaves behind for the journal; [`said`]: what it keeps of an answer;
//!   [`interaction`]: how both are read again.
//! * [`simulator`]: the store as a simulator of a world, which has the clock and the journal;
//!   [`blueprint`]: what it is made from.
//! * [`smart`]: the tokens that a store gives out; [`entrance`]: what they are good for.
//! * [`serve`]: a store by itself, a world of one simulator, with what is in [`beginning`];
//!   [`http`]: that over HTTP.
//!
//! Everything but the last point is pure: the same requests at the same times give the same bytes.

pub mod base;
pub mod beginning;
mod blueprint;
mod capability;
pub mod change;
pub(crate) mod entrance;
pub mod http;
mod index;
pub mod interaction;
pub(crate) mod json_writer;
pub mod kind;
pub mod outcome;
mod overlay;
mod provide;
mod query;
mod references;
pub mod resource;
pub mod rest;
pub mod said;
pub mod search;
pub mod serve;
pub mod settings;
pub(crate) mod simulator;
pub mod smart;
pub mod state;
mod view;

pub use crate::seed::{self, Seed};
pub use base::{Base, BaseBuilder};
pub(crate) use blueprint::{Blueprint, LoneStore};
pub use settings::{Settings, Validation};
pub use state::State;
