//! `hl7-structural`.

use serde_json::{Value, json};

use crate::support::{World, all_shown};

const ORDER: &str = "MSH|^~\\&|AGENT|CLINIC|LAB|HOSP|20260421170500||ORM^O01|MSG1|P|2.5\rPID|1||12345^^^MRN||Love\\S\\lace^Ada\rORC|NW|\"\"\rOBX|1|NM|K||6.8\rOBX|2|NM|NA||140";

fn order(control_id: &str, mrn: &str) -> String {
    ORDER.replace("MSG1", control_id).replace("12345", mrn)
}

fn ask(correlation: Value, fields: Value) -> Value {
    json!({"assert": "hl7-structural", "correlate_by": correlation, "fields": fields})
}

#[test]
fn the_evidence_of_a_message() {
    let world = World::untouched()
        .message(&order("MSG1", "999"))
        .message(&order("MSG2", "12345"))
        .message(&order("MSG3", "777"));
    let orders = json!({"MSH.9.1": "ORM", "MSH.9.2": "O01"});
    let mrn = |mrn: &str| json!([{"path": "PID.3.1", "expected": mrn}, {"path": "PID-5-1", "expected": "Love^lace"}]);
    insta::assert_snapshot!(all_shown(&[
        (
            "the best of three",
            world.check(ask(orders.clone(), mrn("12345")))
        ),
        (
            "of equals the latest",
            world.check(ask(orders.clone(), mrn("000")))
        ),
        (
            "none is of that kind",
            world.check(ask(
                json!({"MSH.9.1": "ORM", "MSH.9.2": "O02"}),
                mrn("12345")
            ))
        ),
        (
            "nothing comes close",
            world.check(ask(json!({"MSH.9.1": "ADT", "PID.3.1": "1"}), mrn("12345")))
        ),
        (
            "nothing was sent",
            World::untouched().check(ask(orders.clone(), mrn("12345")))
        ),
        (
            "only noise was sent",
            World::untouched()
                .message("hello")
                .check(ask(json!({}), json!([])))
        ),
        (
            "not understood",
            world.check(ask(
                json!({"msh.9": "ORM"}),
                json!([{"path": "PID", "expected": 1}, {"path": "PID.3"}])
            ))
        ),
        (
            "no simulator",
            World::default().check(ask(orders, mrn("12345")))
        ),
    ]));
}

#[test]
fn values_are_text_and_absent_is_not_the_explicit_null() {
    let world = World::untouched().message(ORDER);
    let field = |path: &str, expected: Value| {
        world
            .check(ask(
                json!({}),
                json!([{"path": path, "expected": expected}]),
            ))
            .passed
    };
    for (path, expected) in [
        ("PID.3.1", json!(12345)),
        ("PID.3.1", json!({"$gte": 12000, "$lte": "13000"})),
        ("PID.99", json!(null)),
        ("PID.99", json!({"$exists": false})),
        ("ORC.2", json!("\"\"")),
        ("ORC.2", json!({"$exists": true})),
        ("OBX[*].5", json!("140")),
        ("OBX[*].5", json!({"$gte": 100})),
        ("OBX[*].5", json!({"$ne": "7"})),
        ("MSH.1", json!("|")),
        ("MSH.7", json!({"$gte": "{{task_run.started_at}}"})),
        ("/.PID-5-2", json!({"$regex": "^A.a$"})),
    ] {
        assert!(field(path, expected.clone()), "{path} {expected}");
    }
    for (path, expected) in [
        ("PID.3.1", json!("12345.0")),
        ("ORC.2", json!(null)),
        ("OBX[*].5", json!({"$ne": "140"})),
        ("OBX[*].5", json!({"$gte": 7, "$lte": 100})),
        ("ZZZ[*].1", json!("x")),
        ("PID.5.1", json!("Love\\S\\lace")),
    ] {
        assert!(!field(path, expected.clone()), "{path} {expected}");
    }
}

#[test]
fn duplicates_and_rejected_messages_can_be_told() {
    let world = World::untouched()
        .message(&order("MSG1", "12345"))
        .message_with("AE", &order("MSG2", "12345"));
    let with = |name: &str, value: Value| {
        let mut assertion = ask(json!({"MSH.9.1": "ORM"}), json!([]));
        assertion[name] = value;
        world.check(assertion)
    };
    assert!(!with("count", json!({"max": 1})).passed);
    assert!(!with("absent", json!(true)).passed);
    let accepted = with("ack_code", json!("AA"));
    assert!(accepted.passed);
    assert_eq!(accepted.evidence["message_control_id"], "MSG1");
    assert_eq!(accepted.evidence["candidates"], 1);
    assert!(!with("ack_code", json!("AR")).passed);
}

#[test]
fn line_ends_and_delimiters_are_the_messages_own() {
    let text = "MSH#*~\\&#A#B#C#D#20260421##ORM*O01#9#P#2.5\nPID#1##12345*x\r\n";
    let world = World::untouched().message(text);
    let finding = world.check(ask(
        json!({"MSH.9.1": "ORM"}),
        json!([{"path": "PID.3.1", "expected": "12345"}]),
    ));
    assert!(finding.passed, "{}", finding.details);
}
