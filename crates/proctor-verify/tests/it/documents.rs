//! What docs/assertions.md shows is true: its examples are read without a complaint, and hold in
//! the world that it describes.

use std::path::Path;

use proctor_office::voice::Speaker::{Agent, Caller};
use proctor_verify::{CheckRegistry, lint, problems};
use serde_json::{Value, json};

use crate::support::{World, criterion, task};

fn examples() -> Vec<Value> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/assertions.md");
    let page = fs_err::read_to_string(page).unwrap();
    let blocks = page.split("```json\n").skip(1);
    blocks
        .map(|block| {
            let text = block.split("```").next().unwrap();
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
        })
        .collect()
}

fn described() -> World {
    World::untouched()
        .resource(&json!({
            "resourceType": "Appointment", "id": "1", "status": "booked", "start": "2026-05-01T09:00:00Z", "end": "2026-05-01T09:30:00Z",
            "participant": [
                {"actor": {"reference": "Practitioner/rivera", "display": "Dr. Rivera"}, "status": "accepted"},
                {"actor": {"reference": "Patient/ada"}, "status": "accepted"},
            ],
        }))
        .resource(&json!({
            "resourceType": "ServiceRequest", "id": "2", "status": "active", "intent": "order", "subject": {"reference": "Patient/ada"},
            "code": {"coding": [{"system": "http://loinc.org", "code": "2823-3"}]},
        }))
        .message("MSH|^~\\&|AGENT|CLINIC|LAB|HOSP|20260421170500||ORM^O01|MSG1|P|2.5\rPID|1||12345||Lovelace^Ada\rOBX|1|NM|K||6.8")
        .row(
            "prior_auth_requests",
            "PA-1",
            json!({
                "request_id": "PA-1", "procedure_code": "72148", "patient_member_id": "BCB123456789", "status": "submitted",
                "diagnosis_codes": ["M54.5"], "determination": {"status": "approved"},
            }),
        )
        .file("outbound/claims/1.json", r#"{"claim": {"total": 240.50}}"#)
        .file("outbound/april/report.csv", "member_id,total\nBCB123456789,1200\n")
        .file("outbound/note.txt", "Seen today\nFollow-up in a week\n")
        .call(&[
            (Caller, "What is the member ID?"),
            (Agent, "The member ID is B C B one two three, four five six, seven eight nine."),
        ])
        .answer("271", "NM1*IL*1*LOVELACE*ADA****MI*BCB123456789~DTP*291*D8*20260101~EB*1*IND*30~")
}

#[test]
fn every_example_is_understood_and_holds() {
    let examples = examples();
    assert!(examples.len() >= 10, "the examples are found");
    let world = described();
    for example in examples {
        assert_eq!(
            problems(&example, &CheckRegistry::shipped()),
            [],
            "{example}"
        );
        assert_eq!(
            lint(
                &task(vec![criterion("It", example.clone())]),
                &CheckRegistry::shipped()
            ),
            [],
            "{example}"
        );
        let finding = world.check(example.clone());
        assert!(finding.passed, "{example}: {}", finding.details);
    }
}

/// Examples of checks that ask what happened: the world of the page has no record, so they are only read.
#[test]
fn every_example_about_what_happened_is_understood_and_needs_a_record() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/assertions.md");
    let page = fs_err::read_to_string(page).unwrap();
    let blocks: Vec<&str> = page.split("```json record\n").skip(1).collect();
    assert!(blocks.len() >= 6);
    for block in blocks {
        let text = block.split("```").next().unwrap();
        let example: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(
            problems(&example, &CheckRegistry::shipped()),
            [],
            "{example}"
        );
        let task = task(vec![criterion("It", example.clone())]);
        assert_eq!(lint(&task, &CheckRegistry::shipped()), [], "{example}");
        assert!(!described().check(example.clone()).passed, "{example}");
    }
}

#[test]
fn nothing_but_absence_holds_in_an_untouched_world() {
    for example in examples() {
        let finding = World::untouched().check(example.clone());
        assert_eq!(finding.passed, example["absent"] == true, "{example}");
    }
}

#[test]
fn every_check_and_operator_is_on_the_page() {
    let page = examples();
    let text = page.iter().map(Value::to_string).collect::<String>();
    for word in [
        "fhir-resource-state",
        "hl7-structural",
        "portal-state-match",
        "sftp-file-present",
        "voice-transcript",
        "x12-response",
        "$in",
        "$ne",
        "$contains",
        "$regex",
        "$gte",
        "$lte",
        "{{task_run.started_at}}",
        "{{entity.",
        "{{ada.",
    ] {
        assert!(text.contains(word), "{word}");
    }
}
