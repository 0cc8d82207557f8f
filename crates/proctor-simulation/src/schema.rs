//! The parts that the JSON Schemas of configurations are made of.

use serde_json::{Value, json};

/// An object with these members and no others; `required` names those that must be there.
pub fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
    });
    schema["properties"] = properties;
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// An object whose members have names of the author's own, and are all like this.
pub fn map(of: &Value) -> Value {
    json!({"type": "object", "additionalProperties": of})
}

/// A list of these.
pub fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

/// A text.
pub fn text() -> Value {
    json!({"type": "string"})
}

/// The same, or null where it may be left out.
pub fn optional(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// A number of things.
pub fn amount() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// True or false.
pub fn flag() -> Value {
    json!({"type": "boolean"})
}

/// The same with an example.
pub fn example(mut schema: Value, example: Value) -> Value {
    schema["examples"] = Value::Array(vec![example]);
    schema
}

/// The same with a sentence for people.
pub fn about(description: &str, mut schema: Value) -> Value {
    schema["description"] = description.into();
    schema
}
