//! What authors are told.

use proctor_core::definition::Check;
use proctor_verify::{CheckRegistry, lint, problems};
use serde_json::{Value, json};

use crate::support::{World, criterion, task};

fn said(assertion: &Value) -> String {
    let lines = problems(assertion, &CheckRegistry::shipped())
        .into_iter()
        .map(|problem| problem.to_string());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_problem_is_told_at_once() {
    insta::assert_snapshot!(said(&json!({
        "assert": "portal-state-match",
        "correlate_by": {"resource": 7, "kee": "x"},
        "count": {"min": 3, "max": 2},
        "assertions": [
            {"path": "", "expected": 1},
            {"path": "a", "expected": {"$regex": "("}},
            {"path": "b", "expected": {"$regex": "(a{100}){100}"}},
            {"path": "c", "expected": {"$above": 1, "$in": [], "$exists": "yes"}},
            {"path": "d", "expected": [1]},
            {"path": "e", "expected": {}},
            {"path": "f", "expected": "{{entity.x"},
            {"path": "g", "expected": "{{task_run.score}}"},
            {"path": "h", "expected": "{{}}"},
            {"path": "i", "expected": {"$gte": true, "$contains": ""}},
            {"path": "j"},
            "k",
        ],
        "colour": "red",
    })));
}

#[test]
fn what_is_no_assertion_is_told_what_one_is() {
    insta::assert_snapshot!(
        [
            json!(null),
            json!([]),
            json!({}),
            json!({"assert": 3}),
            json!({"assert": "fhir"})
        ]
        .each_ref()
        .map(said)
        .join("\n")
    );
}

#[test]
fn an_assertion_that_is_not_understood_is_a_criterion_that_is_not_met() {
    let judgement = World::untouched().judge(&task(vec![
        criterion("One", json!({"assert": "telepathy"})),
        criterion(
            "Two",
            json!({"assert": "voice-transcript", "not_contains": ["x"]}),
        ),
    ]));
    let first = &judgement.findings[0];
    assert!(!first.passed);
    assert!(
        first.details.starts_with(
            "unsupported assertion: assert: 'telepathy' is none of fhir-resource-state, "
        ),
        "{}",
        first.details
    );
    assert_eq!(judgement.scorecard.score.value(), 0.0);
}

#[test]
fn a_task_is_linted_as_a_whole() {
    let mut unlucky = criterion(
        "Uses an unknown entity",
        json!({
            "assert": "fhir-resource-state", "resource_type": "Patient",
            "search": {"identifier": "{{grace.mrn}}", "name": "{{ada.nick}}", "address": "{{order.parts}}"},
            "fields": [{"path": "birthDate", "expected": {"$in": ["{{order.code}}", "{{task_run.started_at}}"]}}],
        }),
    );
    unlucky.input_entity = None;
    let mut scorer = criterion("Runs a program", Value::Null);
    scorer.check = Check::Scorer(json!({"type": "command"}).into());
    let task = task(vec![
        criterion(
            "The appointment is booked with Dr. Rivera",
            json!({
                "assert": "fhir-resource-state", "resource_type": "Appointment",
                "fields": [{"path": "participant.*.actor.display", "expected": "Dr Rivera"}, {"path": "status", "expected": {"$in": ["Booked", "x"]}}],
            }),
        ),
        criterion(
            "The agent says 7 words",
            json!({"assert": "voice-transcript", "contains": ["7", "words"]}),
        ),
        unlucky,
        scorer,
        criterion(
            "All is well",
            json!({"assert": "sftp-file-present", "path_glob": "a/{{entity.mrn}}/*", "fields": [{"path": "x", "expected": "{{order.total}}"}]}),
        ),
    ]);
    let remarks = lint(&task, &CheckRegistry::shipped());
    let lines = remarks.iter().map(|remark| {
        let severity = remark.problem.severity.as_str();
        format!("{severity}: {}", remark.problem)
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}
