//! How large a patch may be, and how large it may make a resource: copies of copies grow without bound, and what is too deep
//! cannot be read again.

use serde_json::Value;

use super::PatchError;

/// The most operations that a patch may have; each may walk through the whole resource.
const MOST_OPERATIONS: usize = 1_000;

/// The most values that a patched resource may have; the largest official example has some 100,000.
const MOST_VALUES: usize = 1_000_000;

/// How deep values may be nested in a patched resource; readers of JSON give up at 128.
const DEEPEST: usize = 100;

/// Refuses a patch with too many operations.
pub(super) fn check_operations(count: usize) -> Result<(), PatchError> {
    if count <= MOST_OPERATIONS {
        return Ok(());
    }
    Err(PatchError::Malformed(format!(
        "it has {count} operations, at most {MOST_OPERATIONS} are taken"
    )))
}

/// Says what is wrong with the size of a patched resource.
pub(super) fn check(resource: &Value) -> Result<(), String> {
    let mut left = MOST_VALUES;
    measure(resource, DEEPEST, &mut left)
}

/// Never goes deeper than allowed, however deep the value is.
fn measure(value: &Value, depth_left: usize, values_left: &mut usize) -> Result<(), String> {
    if depth_left == 0 {
        return Err(format!("values would be nested more than {DEEPEST} deep"));
    }
    *values_left = values_left
        .checked_sub(1)
        .ok_or_else(|| format!("the resource would have more than {MOST_VALUES} values"))?;
    match value {
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| measure(item, depth_left - 1, values_left)),
        Value::Object(map) => map
            .values()
            .try_for_each(|inner| measure(inner, depth_left - 1, values_left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}
