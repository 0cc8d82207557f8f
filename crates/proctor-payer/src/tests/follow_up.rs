//! Payers that read what they are sent, before and after they decide.

use serde_json::{Value, json};

use super::support::*;

fn reading() -> Bench {
    Bench::of(blueprint(json!({
        "determinations": [
            {"procedure_code": "72148", "status": "approved", "delay_seconds": 60,
             "when": {"answers": {"therapy": "yes"}, "documents": ["six weeks of physical therapy"], "diagnosis_codes": ["M54.16"]}},
            {"procedure_code": "72148", "status": "need_more_info", "reason": "Send the therapy notes."},
            {"procedure_code": "70450", "status": "denied", "reason": "Not necessary.", "then": [
                {"on": "peer_to_peer", "when": {"notes": ["focal deficit"]}, "status": "approved", "delay_seconds": 3600},
                {"on": "appeal", "when": {"documents": ["thunderclap headache"]}, "status": "approved"},
            ]},
            {"procedure_code": "99213", "status": "approved", "when": {"chart": [{"resource_type": "Condition", "contains": "stroke"}]}},
        ],
        "default_determination": {"status": "pending"},
    })))
}

fn asked(bench: &mut Bench, code: &str) -> String {
    let mut body = wanted(code);
    body["attachments"] = json!([]);
    let (status, row) = bench.post("portal/prior-auths", &body);
    assert_eq!(status, 201, "{row}");
    format!("portal/prior-auths/{}", row["request_id"].as_str().unwrap())
}

fn decision(row: &Value) -> &str {
    row["determination"]["status"].as_str().unwrap_or("none")
}

#[test]
fn what_the_payer_asked_for_lets_another_rule_decide() {
    let mut bench = reading();
    let path = asked(&mut bench, "72148");
    assert_eq!(decision(&bench.get(&path).1), "need_more_info");
    let information = format!("{path}/information");
    let (status, row) = bench.post(
        &information,
        &json!({"clinical_answers": {"therapy": "Yes"}}),
    );
    assert_eq!((status, decision(&row)), (201, "need_more_info"));
    assert_eq!(row["actions"][0]["is_decided_anew"], false);
    let note = json!({"attachments": [{"title": "PT notes", "text": "She had six weeks of physical therapy."}]});
    let (_, row) = bench.post(&information, &note);
    assert_eq!(decision(&row), "pending", "the payer takes a minute");
    bench.wait(60);
    let (_, row) = bench.get(&path);
    assert_eq!(decision(&row), "approved");
    assert!(row["auth_number"].is_string());
    assert_eq!(row["clinical_answers"]["therapy"], "Yes");
    let (status, refused) = bench.post(&information, &note);
    assert_eq!(status, 409, "{refused}");
    bench.assert_replays();
}

#[test]
fn a_denied_request_has_no_number_until_an_appeal_with_the_document_succeeds() {
    let mut bench = reading();
    let path = asked(&mut bench, "70450");
    let (_, row) = bench.get(&path);
    assert_eq!(decision(&row), "denied");
    assert_eq!(row["auth_number"], Value::Null);
    let appeals = format!("{path}/appeals");
    assert_eq!(bench.post(&appeals, &json!({})).0, 400);
    assert_eq!(
        bench
            .post(&appeals, &json!({"reason": "x", "reson": "y"}))
            .0,
        400
    );
    let (status, row) = bench.post(&appeals, &json!({"reason": "We disagree."}));
    assert_eq!((status, decision(&row)), (201, "denied"));
    let report = json!({"reason": "See the report.", "attachments": ["Thunderclap headache, onset yesterday"]});
    let (_, row) = bench.post(&appeals, &report);
    assert_eq!(decision(&row), "approved");
    assert!(row["auth_number"].is_string());
    assert_eq!(row["actions"].as_array().map(Vec::len), Some(2));
    assert_eq!(bench.post(&appeals, &report).0, 409);
    bench.assert_replays();
}

#[test]
fn physicians_may_talk_and_what_was_said_counts() {
    let mut bench = reading();
    let path = asked(&mut bench, "70450");
    let talk = format!("{path}/peer-to-peer");
    let (_, row) = bench.post(&talk, &json!({"notes": "There is a new focal deficit."}));
    assert_eq!(decision(&row), "pending");
    bench.wait(3600);
    assert_eq!(decision(&bench.get(&path).1), "approved");
    assert_eq!(bench.get(&talk).0, 405);
}

#[test]
fn a_withdrawn_request_is_decided_no_more() {
    let mut bench = reading();
    let path = asked(&mut bench, "72148");
    let (status, row) = bench.post(
        &format!("{path}/withdraw"),
        &json!({"reason": "Not needed."}),
    );
    assert_eq!(status, 200);
    assert_eq!(row["status"], "withdrawn");
    assert_eq!(row["determination"], Value::Null);
    for what in ["withdraw", "information", "appeals"] {
        let (status, _) = bench.post(&format!("{path}/{what}"), &json!({"reason": "x"}));
        assert_eq!(status, 409, "{what}");
    }
    bench.assert_replays();
}

#[test]
fn without_the_fact_in_the_chart_the_rule_does_not_fit() {
    let mut bench = reading();
    let path = asked(&mut bench, "99213");
    assert_eq!(decision(&bench.get(&path).1), "pending");
}
