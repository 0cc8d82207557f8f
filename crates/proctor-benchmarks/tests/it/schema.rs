//! The JSON Schema says what the reader does.

use std::collections::{BTreeMap, BTreeSet};

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
    // Reading leaves configurations to the simulators, which look at them when a file is checked.
    let misconfigured = SMALL.replace("type: Fhir", "type: Fhir, config: {validation: never}");
    assert!(!validator.is_valid(&document(&misconfigured)));
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

/// How the schema of files says what the configuration of each type is: a line each.
fn configurations() -> Vec<String> {
    let shipped = Extensions::shipped();
    let plugins = shipped.simulators.plugins();
    let lines = plugins.map(|plugin| {
        let names: Vec<&str> = plugin
            .aliases()
            .iter()
            .copied()
            .chain([plugin.name()])
            .collect();
        let of_type =
            json!({"properties": {"type": {"pattern": format!("(?i)^({})$", names.join("|"))}}});
        let config = json!({"anyOf": [plugin.config_schema(), {"type": "null"}]});
        json!({"if": of_type, "then": {"properties": {"config": config}}}).to_string()
    });
    lines.collect()
}

/// How it says what the members of each kind of step are: a line each.
fn steps() -> Vec<String> {
    let shipped = Extensions::shipped();
    let steps = shipped.simulators.steps().into_iter();
    let lines = steps.map(|(kind, _)| {
        let mut schema = kind.whole_schema();
        schema["properties"]["when"] =
            json!({"anyOf": [{"$ref": "#/$defs/pattern"}, {"type": "null"}]});
        let of_kind = json!({"required": ["type"], "properties": {"type": {"const": kind.name}}});
        json!({"if": of_kind, "then": schema}).to_string()
    });
    lines.collect()
}

/// How it says what the members of each kind of assertion are: a line each. What many of them have stands once.
fn assertions() -> Vec<String> {
    let shipped = Extensions::shipped();
    let (pattern, expectation) = parts();
    let lines = shipped.checks.schemas().map(|(name, mut schema)| {
        put_reference(&mut schema, &pattern, "#/$defs/pattern");
        put_reference(&mut schema, &expectation, "#/$defs/expectation");
        let of_check = json!({"required": ["assert"], "properties": {"assert": {"const": name}}});
        json!({"if": of_check, "then": schema}).to_string()
    });
    lines.collect()
}

/// The schemas of patterns over events, and of what is expected of a value.
fn parts() -> (Value, Value) {
    let all: BTreeMap<_, _> = Extensions::shipped().checks.schemas().collect();
    let pattern = all["events"]["properties"]["patterns"]["additionalProperties"].clone();
    let expectation = pattern["properties"]["status"].clone();
    (pattern, expectation)
}

/// Puts a reference in the place of everything that is like `part`.
fn put_reference(schema: &mut Value, part: &Value, reference: &str) {
    if schema == part {
        *schema = json!({"$ref": reference});
        return;
    }
    match schema {
        Value::Object(members) => {
            let members = members.values_mut();
            members.for_each(|one| put_reference(one, part, reference));
        }
        Value::Array(items) => {
            let items = items.iter_mut();
            items.for_each(|one| put_reference(one, part, reference));
        }
        _ => {}
    }
}

/// The schema with what the code says of configurations, steps and assertions.
fn renewed() -> String {
    let mut text = SCHEMA.to_owned();
    for (section, lines) in [
        ("    \"simulator\": {", configurations()),
        ("    \"step\": {", steps()),
        ("        \"assertion\": {", assertions()),
    ] {
        text = with_lines(&text, section, &lines);
    }
    let (mut pattern, expectation) = parts();
    put_reference(&mut pattern, &expectation, "#/$defs/expectation");
    for (name, schema) in [("pattern", pattern), ("expectation", expectation)] {
        let start = format!("    \"{name}\": ");
        let lines: Vec<String> = text
            .lines()
            .map(|line| match line.starts_with(&start) {
                true => format!("{start}{schema},"),
                false => line.to_owned(),
            })
            .collect();
        text = lines.join("\n") + "\n";
    }
    text
}

/// The text with other lines in the `allOf` of a section.
fn with_lines(text: &str, section: &str, lines: &[String]) -> String {
    let (before, rest) = text.split_once(section).unwrap();
    let (head, rest) = rest.split_once("\"allOf\": [\n").unwrap();
    let indentation = &head[head.rfind('\n').map_or(0, |at| at + 1)..];
    let end = format!("{indentation}],");
    let (_, after) = rest.split_once(&end).unwrap();
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("{indentation}  {line}"))
        .collect();
    let lines = lines.join(",\n");
    format!("{before}{section}{head}\"allOf\": [\n{lines}\n{end}{after}")
}

#[test]
fn the_schema_has_every_configuration_step_and_assertion() {
    let expected = renewed();
    if std::env::var_os("WRITE_SCHEMA").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../benchmarks/benchmark.schema.json"
        );
        fs_err::write(path, expected).unwrap();
    } else {
        assert!(
            SCHEMA == expected,
            "benchmark.schema.json is behind the code: run this test with WRITE_SCHEMA=1"
        );
    }
}

#[test]
fn the_examples_of_steps_and_assertions_are_right_by_their_schemas_and_for_their_readers() {
    let shipped = Extensions::shipped();
    for (kind, _) in shipped.simulators.steps() {
        let schema = kind.whole_schema();
        let example = &schema["examples"][0];
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(example), "{example}");
        shipped.simulators.read_step(example).unwrap();
        let mut strange = example.clone();
        strange["colour"] = json!("red");
        assert!(!validator.is_valid(&strange), "{strange}");
        if kind.name != "x12_claim" {
            let refused = shipped.simulators.read_step(&strange).unwrap_err();
            assert!(refused.to_string().contains("colour"), "{refused}");
        }
    }
    for (name, schema) in shipped.checks.schemas() {
        let example = &schema["examples"][0];
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(example), "{example}");
        assert_eq!(
            proctor_verify::problems(example, &shipped.checks),
            [],
            "{name}"
        );
        let mut strange = example.clone();
        strange["colour"] = json!("red");
        assert!(!validator.is_valid(&strange), "{strange}");
        let told = proctor_verify::problems(&strange, &shipped.checks);
        assert!(!told.is_empty(), "{name}");
    }
}

#[test]
fn the_schema_of_a_configuration_says_what_the_simulator_does() {
    let simulators = Extensions::shipped().simulators;
    let node = |node: Value| json!({"ivr": {"start": "a", "nodes": {"a": node}}});
    let service = |rules: Value| json!({"services": [{"id": "a", "hook": "h", "description": "d", "rules": rules}]});
    let card = json!({"summary": "s", "indicator": "info", "source": {"label": "l"}});
    for (kind, config, is_right) in [
        ("Fhir", json!({"validation": "always"}), true),
        ("Fhir", json!({"validation": null}), true),
        ("Fhir", json!({"validation": "never"}), false),
        ("Fhir", json!({"versions": 4}), false),
        (
            "Hl7",
            json!({"accept": ["ORM^O01"], "fail_first": 2, "sending_application": null}),
            true,
        ),
        ("Hl7", json!({"fail_first": -1}), false),
        ("Hl7", json!({"accept": "ORM"}), false),
        ("Files", json!({}), true),
        ("Files", json!({"root": "/"}), false),
        (
            "Payer",
            json!({"portal": "radmd", "session_seconds": 60, "username": "ada"}),
            true,
        ),
        (
            "Payer",
            json!({"determinations": [{"procedure_code": "1", "status": "denied", "delay_seconds": 3}]}),
            true,
        ),
        (
            "Payer",
            json!({"determinations": [{"status": "denied"}]}),
            false,
        ),
        (
            "Payer",
            json!({"determinations": [{"procedure_code": "1", "status": "lost"}]}),
            false,
        ),
        (
            "Payer",
            json!({"default_determination": {"status": "approved"}, "payer": {"name": "P", "id": "1"}}),
            true,
        ),
        (
            "Payer",
            json!({"default_determination": {"reason": "because"}}),
            false,
        ),
        ("Payer", json!({"payer": {"name": "P"}}), false),
        ("Payer", json!({"password": ""}), false),
        (
            "Payer",
            json!({"questions": [{"id": "a", "text": "?"}], "formulary": [{"code": "1", "name": "n"}]}),
            true,
        ),
        ("Payer", json!({"questions": [{"id": "a"}]}), false),
        (
            "Clearinghouse",
            json!({"provider_npi": "1234567893", "always_acknowledge": true}),
            true,
        ),
        ("Clearinghouse", json!({"provider_npi": "5"}), false),
        (
            "Voice",
            json!({"phone_number": "+1 555 0100", "persona": {"beats": [{"say": "hi", "repeat": true}]}}),
            true,
        ),
        (
            "Voice",
            node(json!({"say": "x", "dtmf": {"1": "a"}, "speech": [{"match": "yes", "to": "a"}]})),
            true,
        ),
        ("Voice", node(json!({"say": ""})), false),
        (
            "Voice",
            node(json!({"say": "x", "dtmf": {"x": "a"}})),
            false,
        ),
        ("Voice", node(json!({"say": "x", "press": {}})), false),
        (
            "Voice",
            json!({"persona": {"beats": [{"when": "x"}]}}),
            false,
        ),
        (
            "Fax",
            json!({"fax_number": "+1 555 0100", "unreachable": ["+1 555 0101"]}),
            true,
        ),
        ("Fax", json!({"unreachable": "+1 555 0101"}), false),
        ("Fax", json!({"speed": 1}), false),
        (
            "Message",
            json!({"channels": ["sms"], "auto_replies": [{"match": "hi", "reply": "hello"}]}),
            true,
        ),
        ("Message", json!({"auto_replies": [{"match": "hi"}]}), false),
        (
            "CdsHooks",
            service(json!([{"when": {"path": "a", "exists": true}, "card": card}, {"card": card}])),
            true,
        ),
        (
            "CdsHooks",
            service(json!([{"when": [{"path": "a", "gte": 1}], "card": card}])),
            true,
        ),
        (
            "CdsHooks",
            service(json!([{"when": {"path": "a"}, "card": card}])),
            false,
        ),
        (
            "CdsHooks",
            service(json!([{"when": {"path": "a", "gte": 1, "lte": 2}, "card": card}])),
            false,
        ),
        (
            "CdsHooks",
            service(
                json!([{"card": {"summary": "s", "indicator": "loud", "source": {"label": "l"}}}]),
            ),
            false,
        ),
        (
            "CdsHooks",
            json!({"services": [{"id": "a b", "hook": "h", "description": "d"}]}),
            false,
        ),
    ] {
        let plugin = simulators.resolve(kind).unwrap();
        let schema = jsonschema::draft202012::new(&plugin.config_schema()).unwrap();
        assert_eq!(schema.is_valid(&config), is_right, "{kind} {config}");
        let checked = plugin.check_config(&config);
        assert_eq!(checked.is_ok(), is_right, "{kind} {config}: {checked:?}");
        if let Err(problems) = checked {
            assert!(
                problems
                    .iter()
                    .all(|problem| problem.path.starts_with("config")),
                "{problems}"
            );
        }
    }
    for plugin in simulators.plugins() {
        assert_eq!(
            plugin.check_config(&Value::Null),
            Ok(()),
            "{}",
            plugin.name()
        );
    }
}

fn texts(list: &Value) -> BTreeSet<&str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item.as_str().unwrap()).collect()
}
