//! JSON Patch (RFC 6902).

use std::slice;

use json_patch::jsonptr::PointerBuf;
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, PatchErrorKind, PatchOperation, RemoveOperation,
    ReplaceOperation, TestOperation,
};
use serde_json::{Map, Value};

use super::{PatchError, finished, limits};

/// Applies a JSON Patch to a resource.
pub fn json_patch(resource: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = patch.as_array().ok_or_else(|| {
        PatchError::Malformed("a JSON Patch is an array of operations".to_owned())
    })?;
    limits::check_operations(operations.len())?;
    let operations: Vec<PatchOperation> = operations
        .iter()
        .enumerate()
        .map(|(operation, text)| {
            read(text).map_err(|reason| PatchError::MalformedOperation { operation, reason })
        })
        .collect::<Result<_, _>>()?;
    let mut patched = resource.clone();
    for (position, operation) in operations.iter().enumerate() {
        // The copy is thrown away if an operation fails, so that nothing has to be undone.
        json_patch::patch_unsafe(&mut patched, slice::from_ref(operation))
            .map_err(|error| explained(&error, position))?;
        if adds(operation) {
            limits::check(&patched).map_err(|reason| PatchError::NotApplicable {
                operation: position,
                path: operation.path().to_string(),
                reason,
            })?;
        }
    }
    finished(resource, patched)
}

/// Whether an operation can make the resource larger or deeper.
fn adds(operation: &PatchOperation) -> bool {
    match operation {
        PatchOperation::Add(_)
        | PatchOperation::Replace(_)
        | PatchOperation::Move(_)
        | PatchOperation::Copy(_) => true,
        PatchOperation::Remove(_) | PatchOperation::Test(_) => false,
    }
}

fn read(operation: &Value) -> Result<PatchOperation, String> {
    let map = operation.as_object().ok_or("an operation is an object")?;
    let path = pointer(map, "path")?;
    match map.get("op").and_then(Value::as_str) {
        Some("add") => Ok(PatchOperation::Add(AddOperation {
            path,
            value: value(map)?,
        })),
        Some("remove") => Ok(PatchOperation::Remove(RemoveOperation { path })),
        Some("replace") => Ok(PatchOperation::Replace(ReplaceOperation {
            path,
            value: value(map)?,
        })),
        Some("move") => Ok(PatchOperation::Move(MoveOperation {
            from: pointer(map, "from")?,
            path,
        })),
        Some("copy") => Ok(PatchOperation::Copy(CopyOperation {
            from: pointer(map, "from")?,
            path,
        })),
        Some("test") => Ok(PatchOperation::Test(TestOperation {
            path,
            value: value(map)?,
        })),
        Some(other) => Err(format!(
            "`op` is `{other}`: add, remove, replace, move, copy or test is expected"
        )),
        None => {
            Err("`op` is missing: add, remove, replace, move, copy or test is expected".to_owned())
        }
    }
}

fn pointer(map: &Map<String, Value>, key: &str) -> Result<PointerBuf, String> {
    let text = map
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("`{key}` is missing or not a string"))?;
    PointerBuf::parse(text).map_err(|_| {
        format!("`{key}` is `{text}`, which is no JSON Pointer: `/name/0/given` is the form")
    })
}

fn value(map: &Map<String, Value>) -> Result<Value, String> {
    map.get("value")
        .cloned()
        .ok_or_else(|| "`value` is missing".to_owned())
}

fn explained(error: &json_patch::PatchError, operation: usize) -> PatchError {
    let path = error.path.to_string();
    let reason = match error.kind {
        PatchErrorKind::TestFailed => return PatchError::TestFailed { operation, path },
        PatchErrorKind::InvalidPointer => "there is nothing at this path",
        PatchErrorKind::InvalidFromPointer => "there is nothing at the path of `from`",
        PatchErrorKind::CannotMoveInsideItself => "a value cannot be moved into itself",
        _ => "the operation does not fit the resource",
    };
    PatchError::NotApplicable {
        operation,
        path,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn patient() -> Value {
        json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Roe"}], "multipleBirthInteger": 2})
    }

    #[test]
    fn every_operation_works() {
        let patch = json!([
            {"op": "test", "path": "/name/0/family", "value": "Roe"},
            {"op": "add", "path": "/birthDate", "value": "1970"},
            {"op": "add", "path": "/name/-", "value": {"family": "Doe"}},
            {"op": "replace", "path": "/name/0/family", "value": "Row"},
            {"op": "copy", "from": "/name/0", "path": "/name/1"},
            {"op": "move", "from": "/name/2/family", "path": "/name/1/text"},
            {"op": "remove", "path": "/multipleBirthInteger"},
        ]);
        let expected = json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Row"}, {"family": "Row", "text": "Doe"}], "birthDate": "1970"});
        assert_eq!(json_patch(&patient(), &patch).unwrap(), expected);
    }

    #[test]
    fn decimals_keep_their_digits() {
        let patch: Value =
            serde_json::from_str(r#"[{"op": "add", "path": "/x", "value": 1.10}]"#).unwrap();
        assert_eq!(
            json_patch(&patient(), &patch).unwrap()["x"].to_string(),
            "1.10"
        );
    }

    #[test]
    fn what_removals_leave_empty_goes_too() {
        let patch = json!([{"op": "remove", "path": "/name/0/family"}]);
        assert_eq!(json_patch(&patient(), &patch).unwrap().get("name"), None);
    }

    #[test]
    fn each_mistake_is_named() {
        let fails = |patch: Value| json_patch(&patient(), &patch).unwrap_err().to_string();
        let messages = [
            fails(json!({"op": "add"})),
            fails(json!(["add"])),
            fails(json!([{"op": "add", "path": "/x"}])),
            fails(json!([{"op": "put", "path": "/x"}])),
            fails(json!([{"path": "/x"}])),
            fails(json!([{"op": "remove", "path": "x"}])),
            fails(json!([{"op": "remove"}])),
            fails(json!([{"op": "move", "path": "/x"}])),
            fails(json!([{"op": "remove", "path": "/photo"}])),
            fails(json!([{"op": "copy", "from": "/photo", "path": "/x"}])),
            fails(json!([{"op": "move", "from": "/name", "path": "/name/0"}])),
            fails(json!([{"op": "test", "path": "/name/0/family", "value": "Doe"}])),
            fails(json!([{"op": "replace", "path": "/id", "value": "q"}])),
            fails(json!([{"op": "remove", "path": "/resourceType"}])),
            fails(json!([{"op": "replace", "path": "", "value": 5}])),
        ]
        .join("\n");
        insta::assert_snapshot!(messages);
    }

    #[test]
    fn copies_of_copies_do_not_grow_without_bound() {
        let doubling: Vec<Value> = (0..64)
            .map(|_| json!({"op": "copy", "from": "/name", "path": "/name/-"}))
            .collect();
        let refused = json_patch(&patient(), &Value::Array(doubling))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("more than"), "{refused}");
        let deepening: Vec<Value> = (0..200)
            .map(|_| json!({"op": "copy", "from": "", "path": "/x"}))
            .collect();
        let refused = json_patch(&patient(), &Value::Array(deepening))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("deep"), "{refused}");
        let many = Value::Array(vec![
            json!({"op": "test", "path": "/id", "value": "p"});
            1_001
        ]);
        let refused = json_patch(&patient(), &many).unwrap_err().to_string();
        assert!(refused.contains("1001 operations"), "{refused}");
    }

    proptest! {
        #[test]
        fn any_patch_is_applied_or_refused_without_a_panic(
            operations in proptest::collection::vec(("add|remove|replace|move|copy|test", "(/(name|0|1|-|family|x|99999999999999999999)){0,4}", "(/(name|0|family)){0,3}"), 0..8)
        ) {
            let operations: Vec<Value> = operations.into_iter().map(|(op, path, from)| json!({"op": op, "path": path, "from": from, "value": {"family": [1]}})).collect();
            if let Ok(patched) = json_patch(&patient(), &Value::Array(operations)) {
                prop_assert_eq!(&patched["id"], "p");
            }
        }
    }
}
