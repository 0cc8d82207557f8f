//! The JSON Schema says what the reader does.

use std::collections::BTreeSet;

use proctor_benchmarks::SHIPPED;
use proctor_engine::Extensions;
use serde_json::{Value, json};

use crate::support::{SMALL, read};

const SCHEMA: &str = include_str!("../../../../benchmarks/benchmark.schema.json");

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The document as editors hand it to a validator.
fn document(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn the_schema_takes_every_shipped_file_and_what_is_written() {
    let validator = validator();
    for shipped in SHIPPED {
        let written = shipped.read().map(|file| file.content.to_yaml());
        let written = written.unwrap_or_else(|report| panic!("{report}"));
        for text in [shipped.text, &written] {
            let problems: Vec<String> = validator
                .iter_errors(&document(text))
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert_eq!(problems, [""; 0], "{}", shipped.name);
        }
    }
}

#[test]
fn what_the_schema_refuses_the_reader_refuses() {
    let validator = validator();
    assert!(validator.is_valid(&document(SMALL)));
    for (from, to) in [
        ("name: Small\n", ""),
        ("slug: small", "slug: Small One"),
        ("timeout: 60", "timeout: 0"),
        ("timeout: 60", "timeout: 1.5"),
        ("timeout: 60", "timeout: 60\nvisibility: Secret"),
        ("timeout: 60", "timeout: 60\ntask: []"),
        ("type: Fhir", "type: Telegraph"),
        ("type: FHIR", "type: Tapes"),
        ("axis: accuracy", "axis: accuracy\n        weight: -1"),
        ("axis: accuracy", "axis: 5"),
        ("label: The order is there", "label: ''"),
        ("    entities: [ada]", "    entities: ada"),
        ("kind: Patient,", ""),
    ] {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL, "{from}");
        assert!(!validator.is_valid(&document(&text)), "{to}");
        assert!(read(&text).is_err(), "{to}");
    }
}

#[test]
fn the_schema_names_what_is_shipped() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let shipped = Extensions::shipped();
    let kind = &schema["$defs"]["simulator"]["properties"]["type"];
    let kinds = jsonschema::draft202012::new(kind).unwrap();
    for plugin in shipped.simulators.plugins() {
        for name in plugin.aliases().iter().chain(&[plugin.name()]) {
            assert!(kinds.is_valid(&json!(name)), "{name}");
        }
    }
    let steps = &schema["$defs"]["step"]["properties"]["type"]["enum"];
    let steps: BTreeSet<&str> = texts(steps);
    let declared = shipped
        .simulators
        .plugins()
        .flat_map(|plugin| plugin.steps());
    assert_eq!(steps, declared.map(|step| step.name).collect());
    let assertion = &schema["$defs"]["criterion"]["properties"]["assertion"];
    let checks = &assertion["properties"]["assert"]["enum"];
    assert_eq!(texts(checks), shipped.checks.names().collect());
}

fn texts(list: &Value) -> BTreeSet<&str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item.as_str().unwrap()).collect()
}
