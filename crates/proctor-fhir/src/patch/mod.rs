//! Patches: JSON Patch (RFC 6902) and FHIRPath Patch.
//!
//! A patch is applied as a whole or not at all, and never turns a resource into another one: type and id stay.

mod fhirpath;
#[cfg(test)]
mod fhirpath_tests;
mod json;
mod limits;
mod locate;
mod operation;

use serde_json::{Map, Value};

pub use fhirpath::fhirpath_patch;
pub use json::json_patch;

/// Why a patch was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch document itself has the wrong form.
    #[error("the patch cannot be read: {0}")]
    Malformed(String),
    /// One operation has the wrong form.
    #[error("operation {operation} of the patch cannot be read: {reason}")]
    MalformedOperation {
        /// Which one, counted from 0.
        operation: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A `test` of a JSON Patch did not hold.
    #[error(
        "operation {operation} of the patch failed: the value at `{path}` is not the one tested for"
    )]
    TestFailed {
        /// Which one, counted from 0.
        operation: usize,
        /// Where the test looked.
        path: String,
    },
    /// One operation does not fit the resource.
    #[error("operation {operation} of the patch cannot be applied at `{path}`: {reason}")]
    NotApplicable {
        /// Which one, counted from 0.
        operation: usize,
        /// Where it was to be applied.
        path: String,
        /// Why it cannot be.
        reason: String,
    },
    /// The patched resource is not the same one.
    #[error("a patch must not change the {0} of a resource")]
    ChangedIdentity(&'static str),
}

/// The patched resource, if it is still the same one; without the empty arrays and objects that removals leave behind.
fn finished(before: &Value, mut after: Value) -> Result<Value, PatchError> {
    prune(&mut after);
    if after.get("resourceType") != before.get("resourceType") {
        return Err(PatchError::ChangedIdentity("type"));
    }
    if after.get("id") != before.get("id") {
        return Err(PatchError::ChangedIdentity("id"));
    }
    Ok(after)
}

fn prune(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(prune);
            items.retain(|item| !is_empty(item));
        }
        Value::Object(map) => {
            map.iter_mut().for_each(|(_, inner)| prune(inner));
            let empty: Vec<String> = map
                .iter()
                .filter(|(_, inner)| is_empty(inner))
                .map(|(key, _)| key.clone())
                .collect();
            for key in empty {
                map.remove(&key);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A null holds a place in an array for a primitive that has only extensions; an array of nothing else holds nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(Value::is_null),
        Value::Object(map) => Map::is_empty(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
