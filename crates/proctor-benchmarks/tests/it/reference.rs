//! docs/authoring-reference.md is written from the schemas of configurations, steps and assertions. `WRITE_REFERENCE=1` writes it anew.

use proctor_engine::Extensions;
use serde_json::{Value, json};

const PATH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/authoring-reference.md"
);

/// A configuration of each type, for the reader.
fn example_of(kind: &str) -> Value {
    match kind {
        "Fhir" => json!({"validation": "always"}),
        "Hl7" => json!({"receiving_application": "LAB", "accept": ["ORM^O01"], "fail_first": 1}),
        "Payer" => json!({
            "portal": "radmd",
            "determinations": [{"procedure_code": "72148", "status": "approved", "when": {"documents": ["physical therapy"]}}],
            "default_determination": {"status": "pending"},
        }),
        "Clearinghouse" => json!({
            "payer": {"name": "Summit Mutual", "id": "SUMMIT"},
            "adjudications": [{"procedure_code": "72148", "when": {"authorization": "missing"}, "status": "denied",
                "adjustments": [{"group": "CO", "reason": "197"}], "remarks": ["M62"], "after": "1d"}],
        }),
        "Voice" => json!({
            "phone_number": "+1 555 010 6120",
            "persona": {"greeting": "Summit Mutual, how can I help?", "beats": [{"when": ["member id"], "say": "Thank you. The plan is active."}]},
        }),
        "Fax" => json!({"fax_number": "+1 555 010 7300", "unreachable": ["+1 555 010 0000"]}),
        "Message" => {
            json!({"channels": ["sms"], "auto_replies": [{"match": "appointment", "reply": "Monday is fine."}]})
        }
        "CdsHooks" => {
            json!({"services": [{"id": "allergies", "hook": "order-select", "description": "Warns about allergies.",
            "rules": [{"card": {"summary": "Look at the allergies first.", "indicator": "warning", "source": {"label": "Clinic"}}}]}]})
        }
        _ => json!({}),
    }
}

/// What a schema asks of a value, in words.
fn in_words(schema: &Value) -> String {
    if let Some(only) = schema.get("const") {
        return format!(
            "`{}`",
            only.as_str()
                .map_or_else(|| only.to_string(), str::to_owned)
        );
    }
    if let Some(Value::Array(words)) = schema.get("enum") {
        let words = words.iter().filter_map(Value::as_str);
        return words
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if let Some(Value::Array(some)) = schema.get("anyOf") {
        let is_expectation = some
            .iter()
            .any(|one| one["properties"]["$regex"].is_object());
        if is_expectation {
            return "an expected value".to_owned();
        }
        let some = some.iter().filter(|one| one["type"] != "null");
        let mut words: Vec<String> = some.map(in_words).collect();
        words.dedup();
        return words.join(" or ");
    }
    let name = |kind: &Value| match kind.as_str() {
        Some("string") => "text",
        Some("integer") => "whole number",
        Some("number") => "number",
        Some("boolean") => "true or false",
        Some("array") => "list",
        Some("object") => "object",
        _ => "",
    };
    match &schema["type"] {
        Value::Array(kinds) => {
            let kinds = kinds.iter().map(name).filter(|word| !word.is_empty());
            kinds.collect::<Vec<_>>().join(" or ")
        }
        Value::Null => "anything".to_owned(),
        kind if kind == "array" && schema["items"].is_object() => {
            format!("list of: {}", in_words(&schema["items"]))
        }
        kind if kind == "object" && schema["additionalProperties"].is_object() => {
            format!("object of: {}", in_words(&schema["additionalProperties"]))
        }
        kind => name(kind).to_owned(),
    }
}

/// The members of an object and of the objects in it, a row each.
fn rows(schema: &Value, before: &str, depth: usize, text: &mut String) {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let members = schema["properties"].as_object().into_iter().flatten();
    for (name, member) in members {
        let must = if required.contains(&name.as_str()) {
            "yes"
        } else {
            ""
        };
        let about = member["description"].as_str().unwrap_or_default();
        let path = format!("{before}{name}");
        text.push_str(&format!(
            "| `{path}` | {} | {must} | {} |\n",
            in_words(member).replace('|', "\\|"),
            about.replace('|', "\\|")
        ));
        if depth < 3
            && let Some((mark, inner)) = inside(member)
        {
            rows(inner, &format!("{path}{mark}."), depth + 1, text);
        }
    }
}

/// The object that stands in a member, and how a path goes on to it.
fn inside(member: &Value) -> Option<(&'static str, &Value)> {
    if in_words(member).contains("expected value") {
        return None;
    }
    let whole = match member.get("anyOf") {
        Some(Value::Array(some)) => some.iter().find(|one| one["properties"].is_object())?,
        _ => member,
    };
    if whole["properties"].is_object() {
        Some(("", whole))
    } else if whole["items"]["properties"].is_object() {
        Some(("[]", &whole["items"]))
    } else if whole["additionalProperties"]["properties"].is_object() {
        Some((".*", &whole["additionalProperties"]))
    } else {
        None
    }
}

fn section(name: &str, schema: &Value, example: &Value, text: &mut String) {
    text.push_str(&format!("### {name}\n\n"));
    if let Some(about) = schema["description"].as_str() {
        text.push_str(&format!("{about}\n\n"));
    }
    if schema["properties"]
        .as_object()
        .is_some_and(|all| !all.is_empty())
    {
        text.push_str("| member | what it is | required | |\n|---|---|---|---|\n");
        rows(schema, "", 0, text);
        text.push('\n');
    }
    let example = serde_json::to_string_pretty(example).unwrap();
    text.push_str(&format!("```json\n{example}\n```\n\n"));
}

#[test]
fn the_reference_is_what_the_schemas_say_and_its_examples_are_right() {
    let shipped = Extensions::shipped();
    let mut text = "# Authoring reference\n\nWhat can stand in a benchmark file: configurations of simulators, steps of scenarios, assertions. A test writes this page from the schemas that \
        [benchmark.schema.json](../benchmarks/benchmark.schema.json) and `GET /openapi.json` hold; the examples are tested. What each means is told in [benchmark-files.md](benchmark-files.md) and \
        [assertions.md](assertions.md).\n\nAn *expected value* is a scalar, null for absent, or an object of operators ([assertions.md](assertions.md#what-is-expected)).\n\n## Configurations\n\n"
        .to_owned();
    for plugin in shipped.simulators.plugins() {
        let example = example_of(plugin.name());
        plugin.check_config(&example).unwrap();
        section(plugin.name(), &plugin.config_schema(), &example, &mut text);
    }
    text.push_str("## Steps\n\n");
    for (kind, _) in shipped.simulators.steps() {
        let schema = kind.whole_schema();
        section(kind.name, &schema, &schema["examples"][0], &mut text);
    }
    text.push_str("## Assertions\n\n");
    for (name, schema) in shipped.checks.schemas() {
        section(name, &schema, &schema["examples"][0], &mut text);
    }
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("WRITE_REFERENCE").is_some() {
        fs_err::write(PATH, &text).unwrap();
    }
    let written = fs_err::read_to_string(PATH).unwrap_or_default();
    assert!(
        written == text,
        "docs/authoring-reference.md is behind the code: run this test with WRITE_REFERENCE=1"
    );
}
