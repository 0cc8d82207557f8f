//! `portal-state-match`.

use serde_json::{Value, json};

use crate::support::{World, all_shown};

fn request(id: &str, code: &str, status: &str) -> Value {
    json!({"request_id": id, "procedure_code": code, "status": "submitted", "determination": {"status": status}})
}

fn desk() -> World {
    World::untouched()
        .row(
            "prior_auth_requests",
            "row-1",
            request("PA-1", "72148", "approved"),
        )
        .row(
            "prior_auth_requests",
            "row-2",
            request("PA-2", "70551", "denied"),
        )
        .row(
            "prior_auth_requests",
            "row-3",
            request("PA-3", "70551", "pending"),
        )
        .row("faxes", "fax-1", json!({"pages": 2}))
}

fn ask(correlation: Value, assertions: Value) -> Value {
    json!({"assert": "portal-state-match", "correlate_by": correlation, "assertions": assertions})
}

fn requests(more: (&str, Value)) -> Value {
    json!({"resource": "prior_auth_requests", "key": "request_id", (more.0): more.1})
}

#[test]
fn the_evidence_of_a_row() {
    let world = desk();
    let code = json!([{"path": "procedure_code", "expected": "72148"}, {"path": "determination.status", "expected": "approved"}]);
    let plain = json!({"resource": "prior_auth_requests", "key": "request_id"});
    insta::assert_snapshot!(all_shown(&[
        ("the best row", world.check(ask(plain.clone(), code.clone()))),
        ("of equals the newest", world.check(ask(plain.clone(), json!([{"path": "procedure_code", "expected": "70551"}])))),
        ("narrowed by its key", world.check(ask(requests(("value", json!("PA-2"))), code.clone()))),
        ("narrowed by what it has", world.check(ask(requests(("where", json!({"determination.status": {"$in": ["denied", "approved"]}}))), code.clone()))),
        ("no such row", world.check(ask(requests(("value", json!("PA-9"))), code.clone()))),
        ("no row of the kind", world.check(ask(json!({"resource": "eligibility_checks"}), code.clone()))),
        ("no row at all", World::untouched().check(ask(plain, code))),
        ("not understood", world.check(json!({"assert": "portal-state-match", "correlate_by": {"key": "a..b", "where": {}, "value": 1}, "assertions": {}}))),
    ]));
}

#[test]
fn a_row_can_be_named_by_the_simulators_own_key_and_the_narrowing_may_stand_outside() {
    let world = desk();
    let finding = world.check(ask(
        json!({"resource": "prior_auth_requests", "value": "row-1"}),
        json!([{"path": "request_id", "expected": "PA-1"}]),
    ));
    assert!(finding.passed, "{}", finding.details);
    assert_eq!(finding.evidence["row_key"], "row-1");
    let outside = json!({
        "assert": "portal-state-match", "correlate_by": {"resource": "prior_auth_requests", "key": "request_id"},
        "where": {"procedure_code": "70551"}, "count": {"min": 2, "max": 2},
        "assertions": [{"path": "determination.status", "expected": {"$ne": "approved"}}],
    });
    let finding = world.check(outside);
    assert!(finding.passed, "{}", finding.details);
    assert_eq!(finding.evidence["row_key"], "PA-3");
}
