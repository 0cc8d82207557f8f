use http::{HeaderValue, Method, header};
use proctor_core::environment::DatasetType;
use proctor_simulation::rehearsal::{
    Rehearsal, any_request, body, dataset, is_a_function, shown, simulator,
};
use proptest::prelude::*;

use super::*;
use crate::voice::VoicePlugin;

const ORU: &str = "MSH|^~\\&|LAB|HOSP|EHR|CLINIC|20260105||ORU^R01|L1|P|2.5\rPID|1||12345\rOBR|1|||K^Potassium\rOBX|1|NM|K^Potassium||6.9|mmol/L|3.5-5.1|HH|||F\r";
const ORM: &str = "MSH|^~\\&|EHR|CLINIC|LAB|HOSP|20260105||ORM^O01|M1|P|2.5\rPID|1||12345||Doe^Jane\rORC|NW|1\rOBR|1|1||K^Potassium\r";
const ACK: &str = "MSH|^~\\&|EHR|CLINIC|LAB|HOSP|20260105||ACK^R01|A1|P|2.5\rMSA|AA|L1\r";

fn interface(config: Value) -> Hl7 {
    let blueprint = Blueprint::read(&simulator("Hl7", config, vec![])).unwrap();
    Hl7::branch(Arc::new(blueprint), Seed::from_number(1))
}

fn send(rehearsal: &mut Rehearsal<Hl7>, payload: &str) -> Value {
    let response = rehearsal.post("hl7/outbound", &json!({"payload": payload}));
    assert_eq!(response.status, 200, "{payload}");
    body(&response)
}

#[test]
fn what_arrives_waits_in_the_inbox() {
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    assert_eq!(body(&hl7.get("hl7/inbox")), json!({"data": []}));
    hl7.step(Hl7Plugin, &json!({"type": "hl7_inbound", "payload": ORU}))
        .unwrap();
    insta::assert_snapshot!("inbound_event", hl7.last_event());
    hl7.step(Hl7Plugin, &json!({"type": "hl7_inbound", "payload": ORM}))
        .unwrap();
    let inbox = hl7.get("hl7/inbox");
    insta::assert_snapshot!("inbox", shown(&inbox));
    let first = &body(&inbox)["data"][0];
    let id = first["id"].as_str().unwrap();
    assert_eq!(&body(&hl7.get(&format!("hl7/inbox/{id}"))), first);
    assert_eq!(hl7.get("hl7/inbox/nothing").status, 404);
    for (wanted, count) in [("ORU", 1), ("ORU^R01", 1), ("ORU_R02", 0), ("adt", 0)] {
        let found = body(&hl7.get(&format!("hl7/inbox?message_type={wanted}")));
        assert_eq!(found["data"].as_array().unwrap().len(), count, "{wanted}");
    }
    assert_eq!(hl7.get("hl7/inbox?message_type=%7C").status, 400);
}

#[test]
fn only_messages_arrive() {
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    for payload in ["", "hello", "MSH|^~\\&|A|B|C|D|2026||"] {
        let step = json!({"type": "hl7_inbound", "payload": payload});
        assert!(hl7.step(Hl7Plugin, &step).is_err(), "{payload}");
    }
    let other = json!({"type": "voicemail", "text": "x"});
    let refusal = hl7.step(VoicePlugin, &other).unwrap_err();
    assert_eq!(
        refusal.0,
        "the step 'voicemail' is nothing for a Hl7 simulator"
    );
}

#[test]
fn a_message_is_acknowledged_and_remembered() {
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    let response = hl7.post("hl7/outbound", &json!({"payload": ORM}));
    insta::assert_snapshot!("acknowledged", shown(&response));
    insta::assert_snapshot!("outbound_event", hl7.last_event());
    insta::assert_snapshot!("outbound", shown(&hl7.get("hl7/outbound")));
    let exhibits = hl7.exhibits();
    let sent = exhibits.evidence::<SentMessage>().unwrap();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].payload, ORM);
    assert_eq!(sent[0].ack_code, "AA");
    let id = sent[0].id.clone();
    assert_eq!(hl7.get(&format!("hl7/outbound/{id}")).status, 200);
}

#[test]
fn a_raw_body_is_a_message_too() {
    for content_type in [
        "application/hl7-v2",
        "x-application/hl7-v2+er7; charset=utf-8",
        "text/plain",
        "",
    ] {
        let mut hl7 = Rehearsal::of(interface(Value::Null));
        let mut request = Request::new(Method::POST, "hl7/outbound", hl7.now()).with_body(ORM);
        let content_type = HeaderValue::from_static(content_type);
        request.headers.insert(header::CONTENT_TYPE, content_type);
        assert_eq!(body(&hl7.send(request))["ack_code"], "AA");
    }
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    let latin = ORM.replace("Jane", "Zoë");
    let latin: Vec<u8> = latin.chars().map(|char| char as u8).collect();
    let request = Request::new(Method::POST, "hl7/outbound", hl7.now()).with_body(latin);
    assert_eq!(body(&hl7.send(request))["ack_code"], "AA");
    let sent = hl7.exhibits().evidence::<SentMessage>().unwrap();
    assert!(sent[0].payload.contains("Doe^Zoë"));
}

#[test]
fn what_is_wrong_is_answered_by_the_rules_and_kept() {
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    let error = send(&mut hl7, &ORM.replace("PID|1||12345", "PID|1||"));
    assert_eq!(error["ack_code"], "AE");
    let reject = send(&mut hl7, &ORM.replace("ORM^O01", "ZZZ^Z01"));
    assert_eq!(reject["ack_code"], "AR");
    let unreadable = send(&mut hl7, "hello");
    assert_eq!(unreadable["ack_code"], "AR");
    assert_eq!(unreadable["message_control_id"], Value::Null);
    insta::assert_snapshot!("unreadable_event", hl7.last_event());
    let codes: Vec<String> = hl7
        .machine
        .sent
        .iter()
        .map(|it| it.ack_code.clone())
        .collect();
    assert_eq!(codes, ["AE", "AR", "AR"]);
}

#[test]
fn an_acknowledgement_is_never_acknowledged() {
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    let answer = send(&mut hl7, ACK);
    assert_eq!(answer["ack"], Value::Null);
    assert_eq!(answer["ack_code"], Value::Null);
    assert_eq!(answer["message_control_id"], "A1");
    assert_eq!(hl7.machine.sent.len(), 1);
}

#[test]
fn enhanced_mode_gives_the_sender_what_it_asked_for() {
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    let enhanced = ORM.replace("|P|2.5", "|P|2.5|||AL|AL");
    let answer = send(&mut hl7, &enhanced);
    assert_eq!(answer["ack_code"], "AA");
    let codes: Vec<&str> = answer["replies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reply| reply["ack_code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["CA", "AA"]);
    let answer = send(&mut hl7, &ORM.replace("|P|2.5", "|P|2.5|||NE|NE"));
    assert_eq!(answer["replies"], json!([]));
}

#[test]
fn the_interface_takes_what_it_was_configured_for() {
    let mut hl7 = Rehearsal::of(interface(
        json!({"accept": ["ORM^O01"], "receiving_application": "LAB"}),
    ));
    assert_eq!(send(&mut hl7, ORM)["ack_code"], "AA");
    assert_eq!(send(&mut hl7, ORU)["ack_code"], "AR");
    let elsewhere = ORM.replace("|LAB|", "|RAD|");
    let answer = send(&mut hl7, &elsewhere);
    assert_eq!(answer["ack_code"], "AE");
    assert!(answer["ack"].as_str().unwrap().contains("MSH^1^5"));
}

#[test]
fn a_busy_receiver_takes_the_message_when_it_is_sent_again() {
    let mut hl7 = Rehearsal::of(interface(json!({"fail_first": 2})));
    let codes = [ORM, ACK, ORM, ORM].map(|message| send(&mut hl7, message)["ack_code"].clone());
    assert_eq!(codes, [json!("AR"), Value::Null, json!("AR"), json!("AA")]);
}

#[test]
fn the_configuration_is_read_with_everything_wrong_at_once() {
    let data = dataset(DatasetType::Files, json!({}));
    let refused = Blueprint::read(&simulator(
        "Hl7",
        json!({"accept": ["ORM", "?", "^"]}),
        vec![data],
    ));
    insta::assert_snapshot!(refused.unwrap_err().to_string().replace("; ", "\n"));
    let refused = Blueprint::read(&simulator("Hl7", json!({"port": 1}), vec![]));
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("'port' is none of")
    );
}

#[test]
fn requests_that_cannot_be_understood_are_refused() {
    let mut hl7 = Rehearsal::of(interface(Value::Null));
    for (bad, status) in [
        (json!({}), 400),
        (json!({"payload": 5}), 400),
        (json!({"payload": ""}), 400),
        (json!({"payload": "x".repeat(LARGEST_MESSAGE + 1)}), 413),
    ] {
        assert_eq!(hl7.post("hl7/outbound", &bad).status, status);
    }
    let raw = Request::new(Method::POST, "hl7/outbound", hl7.now())
        .with_body(format!("MSH{}", "x".repeat(LARGEST_MESSAGE)));
    assert_eq!(hl7.send(raw).status, 413);
    assert_eq!(hl7.get("hl7").status, 404);
    assert_eq!(hl7.get("hl7/a/b/c").status, 404);
    let put = hl7.send(Request::new(Method::PUT, "hl7/outbound", hl7.now()));
    assert_eq!(put.status, 405);
    assert_eq!(put.headers[header::ALLOW], "GET, POST");
    assert_eq!(hl7.post("hl7/inbox", &json!({})).status, 405);
    assert!(hl7.machine.sent.is_empty());
}

const PATHS: &[&str] = &[
    "hl7/inbox",
    "hl7/outbound",
    "hl7/outbound",
    "hl7/inbox?message_type=ORU",
    "hl7/outbound/x",
];
const BODIES: &[&str] = &[
    ORM,
    ORU,
    ACK,
    "MSH",
    "MSH|^~\\&|",
    r#"{"payload": "MSH|^~\\&|A|B|C|D|2026||ADT^A01|1|P|2.5"}"#,
    r#"{"payload": ""}"#,
];

proptest! {
    #[test]
    fn the_interface_is_a_function_of_its_requests(
        requests in prop::collection::vec(any_request(PATHS, BODIES), 0..20),
    ) {
        is_a_function(|| interface(json!({"fail_first": 1})), &requests);
    }
}
