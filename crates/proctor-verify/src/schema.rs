//! The parts that the JSON Schemas of assertions are made of. Editors use them; what decides is how an assertion is read.

use proctor_simulation::schema::{about, flag, list, map, object, text};
use serde_json::{Map, Value, json};

/// The schema of a check's assertion: `members` beside `assert`, and an example.
pub(crate) fn assertion(
    name: &str,
    description: &str,
    required: &[&str],
    members: Value,
    example: Value,
) -> Value {
    let mut properties = Map::new();
    properties.insert("assert".to_owned(), json!({"const": name}));
    if let Value::Object(members) = members {
        properties.extend(members);
    }
    let required: Vec<&str> = ["assert"].iter().chain(required).copied().collect();
    let mut whole = Map::new();
    whole.insert("assert".to_owned(), name.into());
    if let Value::Object(example) = example {
        whole.extend(example);
    }
    let mut schema = about(description, object(&required, Value::Object(properties)));
    schema["examples"] = json!([whole]);
    schema
}

/// What is expected of a value: a scalar, null for absent, or operators.
pub(crate) fn expectation() -> Value {
    let scalar = json!({"type": ["string", "number", "boolean", "null"]});
    let any = json!({});
    let number = json!({"type": ["number", "string"]});
    let near = object(
        &["value", "tolerance"],
        json!({"value": number, "tolerance": number}),
    );
    let quantity = object(
        &["value", "unit"],
        json!({"value": number, "unit": text(), "tolerance": number}),
    );
    let code =
        json!({"anyOf": [text(), object(&["code"], json!({"system": text(), "code": text()}))]});
    let date = object(
        &["of"],
        json!({"of": text(), "plus": text(), "within": text()}),
    );
    let words = json!({"anyOf": [text(), list(&text())]});
    let free = object(&[], json!({"contains": words, "not_contains": words}));
    let mut operators = object(
        &[],
        json!({
            "$in": list(&scalar),
            "$nin": list(&scalar),
            "$regex": text(),
            "$exists": flag(),
            "$contains": scalar,
            "$gte": scalar,
            "$lte": scalar,
            "$gt": scalar,
            "$lt": scalar,
            "$ne": scalar,
            "$not": any,
            "$any": json!({"type": "array"}),
            "$size": json!({"type": "integer", "minimum": 0}),
            "$near": near,
            "$quantity": quantity,
            "$phone": text(),
            "$code": code,
            "$date": date,
            "$text": free,
        }),
    );
    operators["minProperties"] = json!(1);
    let description = "A value to be equal to, null for absent, or operators that must all hold.";
    about(description, json!({"anyOf": [scalar, operators]}))
}

/// `[{path, expected}, …]`.
pub(crate) fn fields(description: &str) -> Value {
    let field = object(
        &["path", "expected"],
        json!({"path": about("Where.", text()), "expected": expectation()}),
    );
    about(description, list(&field))
}

/// `{path: expected, …}`.
pub(crate) fn correlation(description: &str) -> Value {
    about(description, map(&expectation()))
}

/// `count` and `absent`, which all checks have that look for things.
pub(crate) fn with_quantity(mut members: Value) -> Value {
    let whole = json!({"type": "integer", "minimum": 0});
    let count = object(&[], json!({"min": whole, "max": whole}));
    members["count"] = about("How many there should be.", count);
    members["absent"] = about("Whether there should be none.", flag());
    members
}

/// A pattern over events.
pub(crate) fn event_pattern() -> Value {
    let texts = json!({"anyOf": [text(), list(&text())]});
    let charts = object(
        &["about"],
        json!({"about": about("The patients whose charts may be read.", list(&text()))}),
    );
    object(
        &[],
        json!({
            "protocol": about("The simulator: fhir, hl7, files, portal, fax, x12, message, voice, cds-hooks, world.", text()),
            "kind": about("The kind of event.", text()),
            "method": about("HTTP methods, of which it has one.", texts),
            "path": about("A glob over the path.", text()),
            "query": expectation(),
            "status": expectation(),
            "by": about("Who did it; the agent when left out.", json!({"enum": ["agent", "scenario", "any"]})),
            "fields": correlation("What the event's payload must hold."),
            "foreign_charts": about("Only looks at charts of patients whom the task is not about.", charts),
        }),
    )
}
