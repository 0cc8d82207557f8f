//! `fhir-resource-state`.

use proctor_verify::{CheckRegistry, problems};
use serde_json::{Value, json};

use crate::support::{World, all_shown};

fn appointment(id: &str, status: &str, patient: &str, doctor: &str) -> Value {
    json!({
        "resourceType": "Appointment", "id": id, "status": status,
        "participant": [
            {"actor": {"reference": format!("Patient/{patient}")}, "status": "accepted"},
            {"actor": {"reference": "Practitioner/1", "display": doctor}, "status": "accepted"},
        ],
    })
}

fn clinic() -> World {
    World::untouched()
        .resource(&json!({"resourceType": "Patient", "id": "ada", "birthDate": "1815-12-10"}))
        .resource(&appointment("old", "booked", "ada", "Dr. Rivera"))
        .resource(&appointment("new", "booked", "ada", "Dr. Who"))
        .resource(&appointment("p1", "proposed", "grace", "Dr. Rivera"))
        .resource(&appointment("p2", "proposed", "grace", "Dr. Rivera"))
}

fn booked(patient: &str, more: Value) -> Value {
    let mut assertion = json!({
        "assert": "fhir-resource-state", "resource_type": "Appointment",
        "search": {"patient": format!("Patient/{patient}"), "status": "booked"},
    });
    let (Value::Object(assertion_members), Value::Object(more)) = (&mut assertion, more) else {
        unreachable!("both are objects");
    };
    assertion_members.extend(more);
    assertion
}

#[test]
fn the_evidence_of_a_resource() {
    let world = clinic();
    let doctor = |name: &str| json!({"fields": [{"path": "participant.*.actor.display", "expected": name}, {"path": "status", "expected": "booked"}]});
    insta::assert_snapshot!(all_shown(&[
        ("the newest is as expected", world.check(booked("ada", doctor("Dr. Who")))),
        ("half of it is not", world.check(booked("ada", doctor("Dr. Rivera")))),
        ("nothing is found, but something near", world.check(booked("grace", doctor("Dr. Who")))),
        ("nothing like it is found", world.check(booked("nobody", json!({})))),
        ("found, and nothing more is asked", world.check(booked("ada", json!({})))),
        ("a search that is not understood", world.check(json!({
            "assert": "fhir-resource-state", "resource_type": "Appointment", "search": {"nickname": "x"}, "absent": true
        }))),
        ("an assertion that is not understood", world.check(json!({
            "assert": "fhir-resource-state", "resource_type": "Appointmint", "field": [],
        }))),
        ("no store", World::default().check(booked("ada", json!({})))),
    ]));
}

#[test]
fn any_and_all_look_beyond_the_first() {
    let world = clinic();
    let doctor = |name: &str, which: &str| {
        let fields = json!([{"path": "participant.1.actor.display", "expected": name}, {"path": "status", "expected": "booked"}]);
        booked("ada", json!({"match": which, "fields": fields}))
    };
    insta::assert_snapshot!(all_shown(&[
        ("any", world.check(doctor("Dr. Rivera", "any"))),
        (
            "all, which one is not",
            world.check(doctor("Dr. Rivera", "all"))
        ),
        (
            "all",
            world.check(booked(
                "ada",
                json!({"match": "all", "fields": [{"path": "status", "expected": "booked"}]})
            ))
        ),
    ]));
}

#[test]
fn counts_and_absence() {
    let world = clinic();
    let absent = |patient: &str| booked(patient, json!({"absent": true}));
    insta::assert_snapshot!(all_shown(&[
        ("exactly one, and there are two", world.check(booked("ada", json!({"count": {"max": 1}})))),
        ("two", world.check(booked("ada", json!({"count": {"min": 2, "max": 2}})))),
        ("none is allowed", world.check(booked("grace", json!({"count": {"min": 0}})))),
        ("at most one means at least one", world.check(booked("grace", json!({"count": {"max": 1}})))),
        ("absent", world.check(absent("grace"))),
        ("absent, and there", world.check(absent("ada"))),
        ("absent with these values", world.check(booked("ada", json!({
            "absent": true, "fields": [{"path": "participant.*.actor.display", "expected": "Dr. No"}],
        })))),
    ]));
}

#[test]
fn near_misses_say_what_there_is_instead() {
    let world = clinic();
    let of = |search: Value| {
        let finding = world.check(json!({
            "assert": "fhir-resource-state", "resource_type": "Appointment", "search": search,
        }));
        assert!(!finding.passed);
        finding.details
    };
    assert_eq!(
        of(json!({"patient": "Patient/grace", "status": "booked"})),
        "no Appointment for Patient/grace with status booked; \
         2 exist with patient Patient/ada; 2 exist with status proposed"
    );
    assert_eq!(
        of(json!({"status": "cancelled"})),
        "no Appointment with status cancelled; 2 exist with status booked; 2 exist with status proposed"
    );
    assert_eq!(
        of(json!({"status": "cancelled", "patient": "Patient/x"})),
        "no Appointment for Patient/x with status cancelled; all 4 of type Appointment differ in more than one point"
    );
    let finding = World::untouched().check(booked("ada", json!({})));
    assert_eq!(
        finding.details,
        "no Appointment for Patient/ada with status booked; there is no Appointment at all"
    );
}

#[test]
fn decimals_are_compared_by_their_value_and_shown_as_they_are() {
    let observation = r#"{"resourceType": "Observation", "id": "k", "status": "final", "code": {"text": "K"}, "valueQuantity": {"value": 6.80}}"#;
    let world = World::untouched().resource(&serde_json::from_str(observation).unwrap());
    let finding = world.check(json!({
        "assert": "fhir-resource-state", "resource_type": "Observation",
        "fields": [
            {"path": "valueQuantity.value", "expected": 6.8},
            {"path": "valueQuantity.value", "expected": {"$gte": 6.5, "$lte": 7}},
            {"path": "valueQuantity.unit", "expected": null},
        ],
    }));
    assert!(finding.passed, "{}", finding.details);
    assert_eq!(
        finding.evidence["fieldResults"][0]["actual"].to_string(),
        "6.80"
    );
}

#[test]
fn authors_hear_of_searches_that_can_never_be_carried_out() {
    let said = |search: Value| {
        let assertion =
            json!({"assert": "fhir-resource-state", "resource_type": "Patient", "search": search});
        problems(&assertion, &CheckRegistry::shipped())
            .into_iter()
            .map(|problem| problem.path)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        said(json!({"nickname": "x", "birthdate": "soon", "name": "ada"})),
        ["search.birthdate", "search.nickname"]
    );
    assert_eq!(
        said(json!({"nickname": "{{entity.mrn}}"})),
        ["search.nickname"]
    );
    assert_eq!(
        said(json!({"birthdate": "{{entity.mrn}}"})),
        [] as [&str; 0]
    );
    assert_eq!(
        said(json!({"_count": 5, "_include": "x"})),
        ["search._count", "search._include"]
    );
    assert_eq!(
        said(json!({"birthdate": ["ge2000", "lt2010"], "active": true, "_sort": "-birthdate"})),
        [] as [&str; 0]
    );
}
