//! The checks through the public surface: worlds are made of exhibits, rubrics of assertions.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on has failed"
)]

mod authoring;
mod dependencies;
mod documents;
mod fhir;
mod harm;
mod hl7;
mod portal;
mod properties;
mod sftp;
mod support;
mod templates;
mod voice;
mod x12;
