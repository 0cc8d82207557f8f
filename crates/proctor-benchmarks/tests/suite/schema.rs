//! The JSON Schema says what the reader does.

use proctor_benchmarks::SHIPPED;
use serde_json::Value;

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
