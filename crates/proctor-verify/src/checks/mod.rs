//! The checks, one file each; [`crate::registry`] lists them.

pub(crate) mod disclosure;
pub(crate) mod events;
pub(crate) mod fhir;
pub(crate) mod hl7;
pub(crate) mod judge;
pub(crate) mod portal;
pub(crate) mod sftp;
pub(crate) mod unchanged;
pub(crate) mod voice;
pub(crate) mod x12;
