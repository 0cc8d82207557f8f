//! A FHIR store by itself, for tests and for people who want to try it: a world of one simulator.
//!
//! * [`serve`]: how it begins, listens and ends, with what is in [`beginning`].
//! * [`http`]: its requests over HTTP.

pub mod beginning;
pub mod http;
pub mod serve;
