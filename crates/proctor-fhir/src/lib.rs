//! What is known about FHIR R4, independent of any store.
//!
//! * [`definitions`]: the official search parameters, structures, bindings and compartments.
//! * [`expression`]: the part of FHIRPath that search parameters and patches are written in.
//! * [`patch`]: JSON Patch and FHIRPath Patch.
//! * [`primitive`]: dates, decimals and text as they are compared.
//! * [`index`]: what search parameters find in a resource.
//! * [`query`]: what a search asks for, and whether index values answer it.
//! * [`mod@reference`]: the text of a literal reference.
//! * [`summary`]: views that leave parts of a resource out.
//! * [`validate`]: level-1 validation.
//!
//! ```
//! use proctor_core::time::Timestamp;
//! use proctor_fhir::{definitions::SearchDefinitions, index::extract, query::{Filter, QueryContext}, validate::validate};
//! # use serde_json::json;
//! let patient = json!({"resourceType": "Patient", "name": [{"family": "Muñoz"}], "birthDate": "1970-05-17"});
//! assert!(validate(&patient).is_empty());
//!
//! let definitions = SearchDefinitions::r4();
//! let values = extract(definitions, &patient);
//!
//! let context = QueryContext { now: Timestamp::from_millis(0), own_bases: &["http://localhost/fhir"] };
//! let family = definitions.find("Patient", "family").expect("R4 has it");
//! let filter = Filter::parse(family, None, "munoz", &context)?;
//! assert!(filter.holds(values.iter().filter(|(id, _)| *id == family.id).map(|(_, value)| value)));
//! # Ok::<(), proctor_fhir::query::QueryError>(())
//! ```
//!
//! Nothing here keeps a resource, does I/O, or reads a clock: everything is a function of the standard and of what is passed in.

pub mod definitions;
pub mod expression;
pub mod index;
pub mod patch;
pub mod primitive;
pub mod query;
pub mod reference;
pub mod summary;
pub mod validate;
