//! The values that FHIR writes as text or numbers, and what they mean when they are compared.

pub mod decimal;
pub mod moment;
pub mod text;
