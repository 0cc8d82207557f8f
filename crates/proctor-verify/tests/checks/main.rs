//! The checks through the public surface: worlds are made of exhibits, rubrics of assertions.

mod authoring;
mod documents;
mod fhir;
mod hl7;
mod portal;
mod properties;
mod sftp;
mod support;
mod templates;
mod voice;
mod x12;
