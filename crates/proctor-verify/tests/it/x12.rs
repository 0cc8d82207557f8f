//! `x12-response`.

use serde_json::{Value, json};

use crate::support::{World, all_shown};

fn eligibility(member: &str, code: &str) -> String {
    format!(
        "BHT*0022*11*1*20260421*1700~HL*1**20*1~NM1*PR*2*PAYER*****PI*12345~NM1*IL*1*LOVELACE*ADA****MI*{member}~DTP*291*D8*20260101~EB*{code}*IND*30~EB*B**98****27*25.00~"
    )
}

fn world() -> World {
    World::untouched()
        .answer("271", &eligibility("BCB1", "6"))
        .answer("271", &eligibility("BCB123456789", "1"))
        .answer("999", "AK1*HS*1~AK9*A*1*1*1~")
}

fn ask(transaction: &str, correlation: Value, fields: Value) -> Value {
    json!({"assert": "x12-response", "transaction": transaction, "correlate_by": correlation, "fields": fields})
}

#[test]
fn the_evidence_of_a_response() {
    let world = world();
    let member = |id: &str| json!({"NM1[IL].9": id});
    let active = json!([{"path": "EB[1].1", "expected": "1"}, {"path": "DTP[291].3", "expected": {"$lte": "20261231"}}]);
    insta::assert_snapshot!(all_shown(&[
        (
            "as expected",
            world.check(ask("271", member("BCB123456789"), active.clone()))
        ),
        (
            "the wrong benefit",
            world.check(ask("271", member("BCB1"), active.clone()))
        ),
        (
            "another member",
            world.check(ask("271", member("nobody"), active.clone()))
        ),
        (
            "no such transaction",
            world.check(ask("278", json!({}), active.clone()))
        ),
        (
            "nothing was answered",
            World::untouched().check(ask("271", json!({}), active.clone()))
        ),
        (
            "not understood",
            world.check(ask(
                "eligibility",
                json!({"nm1.9": 1}),
                json!([{"path": "EB", "expected": []}])
            ))
        ),
        (
            "no clearinghouse",
            World::default().check(ask("271", json!({}), active))
        ),
    ]));
}

#[test]
fn values_are_text_and_bounds_are_numbers() {
    let world = world();
    let field = |path: &str, expected: Value| {
        let fields = json!([{"path": path, "expected": expected}]);
        world
            .check(ask("271", json!({"NM1[IL].9": "BCB123456789"}), fields))
            .passed
    };
    assert!(field("EB[B].8", json!("25.00")));
    assert!(!field("EB[B].8", json!(25)));
    assert!(field("EB[B].8", json!({"$gte": 25, "$lte": 25.0})));
    assert!(field("EB[1].1", json!(1)));
    assert!(field("EB[1].9", json!(null)));
    assert!(
        field("ISA.12", json!("00501")),
        "the envelope can be asked, too"
    );
    assert!(field("GS.8", json!({"$contains": "X279"})));
}

#[test]
fn a_ta1_stands_in_the_interchange_itself() {
    let raw = "ISA*00*          *00*          *ZZ*PAYER          *ZZ*PROVIDER       *260421*1700*^*00501*000000009*0*T*:~TA1*000000001*260421*1700*R*020~IEA*0*000000009~";
    let world = World::untouched().raw_answer("TA1", "000000009", raw);
    let finding = world.check(ask(
        "TA1",
        json!({}),
        json!([{"path": "TA1.4", "expected": "R"}]),
    ));
    assert!(finding.passed, "{}", finding.details);
    assert_eq!(finding.evidence["control_number"], "000000009");
}
