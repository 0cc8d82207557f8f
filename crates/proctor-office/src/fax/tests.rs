use http::header;
use proctor_core::environment::DatasetType;
use proctor_simulation::rehearsal::{
    Rehearsal, any_request, body, dataset, is_a_function, shown, simulator,
};
use proptest::prelude::*;

use super::*;
use crate::voice::VoicePlugin;

fn machine(config: Value) -> Fax {
    let blueprint = Blueprint::read(&simulator("Fax", config, vec![])).unwrap();
    Fax::branch(Arc::new(blueprint), Seed::from_number(1))
}

fn referral() -> Value {
    json!({
        "patient_id": "ada",
        "to_number": "+1 415 555 0123",
        "document_type": "referral",
        "content_reference": "DocumentReference/1",
    })
}

#[test]
fn a_fax_is_sent_and_kept() {
    let mut fax = Rehearsal::of(machine(Value::Null));
    let response = fax.post("faxes", &referral());
    insta::assert_snapshot!("sent", shown(&response));
    insta::assert_snapshot!("sent_event", fax.last_event());
    let row = body(&response);
    let id = row["id"].as_str().unwrap();
    assert_eq!(body(&fax.get(&format!("faxes/{id}"))), row);
    assert_eq!(fax.get("faxes/x").status, 404);
    let exhibits = fax.exhibits();
    let shown = &exhibits.rows["faxes"];
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].key, id);
    assert_eq!(*shown[0].fields, row);
}

#[test]
fn pages_are_counted_or_given() {
    let mut fax = Rehearsal::of(machine(Value::Null));
    let pages = |fax: &mut Rehearsal<Fax>, name: &str, value: Value| {
        let mut sent = referral();
        sent[name] = value;
        body(&fax.post("faxes", &sent))["pages"].clone()
    };
    assert_eq!(pages(&mut fax, "text", "x".repeat(3001).into()), 2);
    assert_eq!(pages(&mut fax, "text", "short".into()), 1);
    assert_eq!(pages(&mut fax, "pages", 7.into()), 7);
}

#[test]
fn what_comes_in_is_listed_by_direction() {
    let mut fax = Rehearsal::of(machine(json!({"fax_number": "+1 212 555 0100"})));
    fax.step(FaxPlugin, &json!({"type": "fax_inbound", "from_number": "4155550123", "text": "Referral for Ada", "file": "r.pdf"}))
        .unwrap();
    insta::assert_snapshot!("inbound_event", fax.last_event());
    fax.post("faxes", &referral());
    let count = |fax: &mut Rehearsal<Fax>, query: &str| {
        let list = body(&fax.get(&format!("faxes{query}")));
        list["data"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut fax, ""), 2);
    assert_eq!(count(&mut fax, "?direction=inbound"), 1);
    assert_eq!(count(&mut fax, "?direction=outbound&patient_id=ada"), 1);
    assert_eq!(count(&mut fax, "?patient_id=eve"), 0);
    assert_eq!(fax.get("faxes?direction=up").status, 400);
    let bad = json!({"type": "fax_inbound", "from_number": "x", "text": "y"});
    assert!(fax.step(FaxPlugin, &bad).is_err());
    assert!(
        fax.step(VoicePlugin, &json!({"type": "voicemail", "text": "x"}))
            .is_err()
    );
}

#[test]
fn a_number_that_does_not_answer_fails_the_fax() {
    let mut fax = Rehearsal::of(machine(json!({"unreachable": ["415-555-0123"]})));
    let row = body(&fax.post("faxes", &referral()));
    assert_eq!(row["status"], "failed");
    assert_eq!(row["failure_reason"], "no answer");
}

#[test]
fn requests_that_cannot_be_understood_are_refused() {
    let mut fax = Rehearsal::of(machine(Value::Null));
    let refusal = fax.post(
        "faxes",
        &json!({"to_number": "home", "document_type": 5, "pages": 0}),
    );
    insta::assert_snapshot!("refused", shown(&refusal));
    let huge = json!({"text": "x".repeat(LARGEST_BODY)});
    assert_eq!(fax.post("faxes", &huge).status, 413);
    let wrong = fax.post("faxes/x", &json!({}));
    assert_eq!(wrong.status, 405);
    assert_eq!(wrong.headers[header::ALLOW], "GET");
    assert_eq!(fax.get("faxes/x/y").status, 404);
}

#[test]
fn everything_wrong_with_the_configuration_is_said_at_once() {
    let config = json!({"fax_number": "x", "unreachable": ["y", "4155550100"]});
    let data = dataset(DatasetType::Files, json!({}));
    let refused = Blueprint::read(&simulator("Fax", config, vec![data]));
    insta::assert_snapshot!(refused.unwrap_err());
}

#[test]
fn credentials_name_the_number() {
    let credentials = machine(json!({"fax_number": "212-555-0100"})).credentials("/p");
    assert_eq!(
        credentials,
        json!({"fax_number": "212-555-0100", "faxes_url": "/p/faxes"})
    );
}

const BODIES: &[&str] = &[
    r#"{"patient_id": "a", "to_number": "4155550123", "document_type": "x", "content_reference": "y"}"#,
    r#"{"patient_id": "b", "to_number": "4155550123", "document_type": "x", "text": "y", "pages": 2}"#,
    r#"{"patient_id": 5}"#,
    "",
];

proptest! {
    #[test]
    fn the_machine_is_a_function_of_its_requests(
        requests in prop::collection::vec(any_request(&["faxes", "faxes?direction=inbound", "faxes/x"], BODIES), 0..25),
    ) {
        is_a_function(|| machine(Value::Null), &requests);
    }
}
