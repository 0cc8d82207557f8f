//! What holds for any assertion and any world.

use proctor_core::scoring::Score;
use proctor_office::voice::Speaker::{Agent, Caller};
use proctor_verify::{CheckRegistry, Rubric, problems};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{World, context, criterion, task};

/// A world in which something can be found by every check.
fn busy() -> World {
    World::untouched()
        .resource(&json!({"resourceType": "Patient", "id": "ada", "birthDate": "1815-12-10", "name": [{"family": "Lovelace"}]}))
        .message("MSH|^~\\&|A|B|C|D|20260421||ORM^O01|9|P|2.5\rPID|1||12345")
        .row("rows", "1", json!({"a": 1, "b": ["x", {"c": null}]}))
        .file("a/b.json", r#"{"a": 1.10}"#)
        .file("a/c.csv", "a,b\n1,2")
        .call(&[(Agent, "a b"), (Caller, "one two")])
        .answer("271", "NM1*IL*1*X~EB*1~")
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ab1]{0,2}|\\{\\{entity\\.mrn\\}\\}|\\{\\{(task_run|ada|x)?\\.?[a-z_]{0,4}\\}?\\}?|1815-12-10|[(*+a\\[{,]{1,4}|\\PC{0,6}".prop_map(Value::from),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            members(inner),
        ]
    })
}

/// Objects whose members are mostly those that checks know.
fn members(inner: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        8 => prop::sample::select(vec![
            "path", "expected", "$in", "$regex", "$exists", "$contains", "$gte", "$lte", "$ne", "min", "max", "resource", "key",
            "value", "where", "MSH.9.1", "NM1[IL].9", "patient", "name", "birthdate", "_id",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,5}".prop_map(String::from),
    ];
    prop::collection::btree_map(name, inner, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn expectation() -> impl Strategy<Value = Value> {
    let operators = prop::sample::select(vec![
        "$in",
        "$regex",
        "$exists",
        "$contains",
        "$gte",
        "$lte",
        "$ne",
    ]);
    prop_oneof![
        3 => scalar(),
        2 => (operators, prop_oneof![scalar(), prop::collection::vec(scalar(), 1..3).prop_map(Value::from)])
            .prop_map(|(name, operand)| json!({name: operand})),
        1 => anything(),
    ]
}

/// An assertion with the members of one of the checks, and perhaps something else in some of them.
fn assertion() -> impl Strategy<Value = Value> {
    let path = prop::sample::select(vec![
        "a",
        "b.*.c",
        "name.0.family",
        "birthDate",
        "MSH.9.1",
        "PID.3",
        "NM1[IL].3",
        "EB.1",
        "0.a",
        "text",
        "",
    ]);
    let fields = prop::collection::vec((path, expectation()), 0..3).prop_map(|fields| {
        fields
            .into_iter()
            .map(|(path, expected)| json!({"path": path, "expected": expected}))
            .collect::<Value>()
    });
    let bases = prop::sample::select(vec![
        json!({"assert": "fhir-resource-state", "resource_type": "Patient"}),
        json!({"assert": "hl7-structural"}),
        json!({"assert": "portal-state-match", "correlate_by": {"resource": "rows"}}),
        json!({"assert": "sftp-file-present", "path_glob": "a/*"}),
        json!({"assert": "voice-transcript", "contains": ["a b"]}),
        json!({"assert": "x12-response", "transaction": "271"}),
    ]);
    let more = prop::collection::vec(
        (
            prop::sample::select(vec![
                "search",
                "match",
                "count",
                "absent",
                "correlate_by",
                "where",
                "value",
                "parse",
                "contains",
                "not_contains",
                "min_count",
                "max_count",
                "path_glob",
                "speaker",
                "ack_code",
            ]),
            anything(),
        ),
        0..2,
    );
    (bases, fields, more).prop_map(|(mut base, fields, more)| {
        let name = match base["assert"].as_str() {
            Some("portal-state-match") => Some("assertions"),
            Some("voice-transcript") => None,
            _ => Some("fields"),
        };
        if let Some(name) = name {
            base[name] = fields;
        }
        for (name, value) in more {
            base[name] = value;
        }
        base
    })
}

fn holds_for_any(assertion: Value) -> Result<(), TestCaseError> {
    let rubric = Rubric::compile(
        &task(vec![criterion("It", assertion.clone())]),
        &CheckRegistry::shipped(),
    );
    for world in [busy(), World::untouched(), World::default()] {
        let exhibits = world.exhibits();
        let first = rubric.judge(&exhibits, &context()).findings.remove(0);
        let again = rubric.judge(&exhibits, &context()).findings.remove(0);
        prop_assert!((0.0..=1.0).contains(&first.score.value()));
        prop_assert_eq!(first.passed, first.score == Score::ONE);
        prop_assert!(!first.details.is_empty());
        prop_assert_eq!(first.evidence.to_string(), again.evidence.to_string());
        prop_assert_eq!(&first, &again);
        if first.details.starts_with("unsupported") {
            prop_assert!(
                !first.passed && !problems(&assertion, &CheckRegistry::shipped()).is_empty()
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_json_is_an_assertion_that_is_met_or_not(value in anything()) {
        holds_for_any(value)?;
    }

    #[test]
    fn anything_like_an_assertion_is_met_or_not(value in assertion()) {
        holds_for_any(value)?;
    }

    #[test]
    fn the_order_of_members_does_not_matter(assertion in assertion()) {
        let Value::Object(members) = &assertion else { unreachable!("an assertion is an object") };
        let reversed: Map<String, Value> = members.clone().into_iter().rev().collect();
        let world = busy();
        prop_assert_eq!(world.check(assertion.clone()), world.check(Value::Object(reversed)));
    }

    #[test]
    fn a_score_is_the_share_of_results_that_passed(expected in prop::collection::vec(expectation(), 1..5)) {
        let fields: Value = expected.iter().map(|expected| json!({"path": "a", "expected": expected})).collect();
        let finding = busy().check(json!({
            "assert": "portal-state-match", "correlate_by": {"resource": "rows"}, "assertions": fields,
        }));
        let results = finding.evidence["assertionResults"].as_array().cloned().unwrap_or_default();
        let passed = results.iter().filter(|result| result["passed"] == true).count();
        let share = if results.is_empty() { 0.0 } else { passed as f64 / results.len() as f64 };
        prop_assert_eq!(finding.score.value(), share);
    }
}
