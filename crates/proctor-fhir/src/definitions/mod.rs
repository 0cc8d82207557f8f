//! The official R4 definitions (4.0.1), reduced and compressed by `scripts/fhir-definitions`.
//!
//! Owns loading them, once per process and only when asked: searching needs [`SearchDefinitions`] alone, validation and
//! summaries need [`Structures`] too. Never changes what HL7 published.

mod data_type;
mod primitive;
mod search;
mod structures;

pub use data_type::DataType;
pub use primitive::Primitive;
pub use search::{
    CompiledParameter, Component, ParameterId, ParameterType, SearchDefinitions, SearchParameter,
};
pub use structures::{
    Content, Element, Key, Kind, Structure, StructureId, Structures, ValueSetCodes,
};

/// Text that lives as long as the process, as all definitions do.
pub type Name = &'static str;

/// Decompresses an embedded archive into text that lives as long as the process, so that definitions borrow from it.
fn unpack(archive: &[u8]) -> &'static str {
    let bytes =
        zstd::decode_all(archive).expect("the embedded archive was compressed by our own script");
    let text = String::from_utf8(bytes).expect("the embedded archive holds JSON, which is UTF-8");
    Box::leak(text.into_boxed_str())
}
