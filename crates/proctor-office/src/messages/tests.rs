use http::header;
use proctor_core::environment::DatasetType;
use proctor_simulation::rehearsal::{
    Rehearsal, any_request, body, dataset, is_a_function, shown, simulator,
};
use proptest::prelude::*;

use super::*;

fn exchange(config: Value) -> Messages {
    let blueprint = Blueprint::read(&simulator("Message", config, vec![])).unwrap();
    Messages::branch(Arc::new(blueprint), Seed::from_number(1))
}

fn answering() -> Value {
    json!({"auto_replies": [
        {"match": "confirm", "reply": "Yes, I will come."},
        {"match": "appointment", "reply": "Which one?"},
    ]})
}

fn reminder() -> Value {
    json!({"channel": "sms", "patient_id": "ada", "body": "Please confirm your appointment."})
}

#[test]
fn a_message_is_sent_and_answered() {
    let mut messages = Rehearsal::of(exchange(answering()));
    let response = messages.post("messages", &reminder());
    insta::assert_snapshot!("sent", shown(&response));
    insta::assert_snapshot!("sent_event", messages.last_event());
    insta::assert_snapshot!("list", shown(&messages.get("messages")));
    let row = body(&response);
    let id = row["id"].as_str().unwrap();
    assert_eq!(body(&messages.get(&format!("messages/{id}"))), row);
    assert_eq!(messages.get("messages/x").status, 404);
    assert_eq!(messages.exhibits().rows["messages"].len(), 2);
}

#[test]
fn a_thread_is_one_patient_and_one_channel() {
    let mut messages = Rehearsal::of(exchange(Value::Null));
    messages
        .step(MessagesPlugin, &json!({"type": "message_inbound", "patient_id": "ada", "channel": "sms", "body": "Hi"}))
        .unwrap();
    insta::assert_snapshot!("inbound_event", messages.last_event());
    let sms = body(&messages.post("messages", &reminder()));
    let mut elsewhere = reminder();
    elsewhere["channel"] = "email".into();
    let email = body(&messages.post("messages", &elsewhere));
    assert_ne!(sms["thread_id"], email["thread_id"]);
    let thread = sms["thread_id"].as_str().unwrap();
    let mut count = |query: &str| {
        let list = body(&messages.get(&format!("messages?{query}")));
        list["data"].as_array().unwrap().len()
    };
    assert_eq!(count(&format!("thread_id={thread}")), 2);
    assert_eq!(count("channel=email"), 1);
    assert_eq!(count("direction=inbound&patient_id=ada"), 1);
    assert_eq!(count("patient_id=eve"), 0);
    assert_eq!(messages.get("messages?direction=sideways").status, 400);
}

#[test]
fn only_the_channels_that_there_are_can_be_used() {
    let mut messages = Rehearsal::of(exchange(json!({"channels": ["portal", "email"]})));
    let refusal = messages.post("messages", &reminder());
    assert_eq!(refusal.status, 400);
    assert_eq!(
        body(&refusal)["error"]["details"]["channel"][0],
        "must be one of portal, email"
    );
    let step =
        json!({"type": "message_inbound", "patient_id": "ada", "channel": "sms", "body": "Hi"});
    assert!(messages.step(MessagesPlugin, &step).is_err());
    let step =
        json!({"type": "message_inbound", "patient_id": "ada", "channel": "email", "body": ""});
    assert!(messages.step(MessagesPlugin, &step).is_err());
}

#[test]
fn requests_that_cannot_be_understood_are_refused() {
    let mut messages = Rehearsal::of(exchange(Value::Null));
    let refusal = messages.post("messages", &json!({"body": 5}));
    insta::assert_snapshot!("refused", shown(&refusal));
    let long = json!({"channel": "sms", "patient_id": "a", "body": "x".repeat(20_001)});
    assert_eq!(messages.post("messages", &long).status, 400);
    let huge = json!({"body": "x".repeat(LARGEST_BODY)});
    assert_eq!(messages.post("messages", &huge).status, 413);
    let wrong = messages.post("messages/x", &json!({}));
    assert_eq!(wrong.headers[header::ALLOW], "GET");
    assert_eq!(messages.get("messages/x/y").status, 404);
}

#[test]
fn everything_wrong_with_the_configuration_is_said_at_once() {
    let config = json!({"channels": [""], "auto_replies": [{"match": "?", "reply": ""}]});
    let data = dataset(DatasetType::Files, json!({}));
    let refused = Blueprint::read(&simulator("Message", config, vec![data]));
    insta::assert_snapshot!(refused.unwrap_err());
}

#[test]
fn credentials_say_where_to_write() {
    let credentials = exchange(Value::Null).credentials("/p");
    assert_eq!(credentials, json!({"messages_url": "/p/messages"}));
}

const BODIES: &[&str] = &[
    r#"{"channel": "sms", "patient_id": "a", "body": "confirm"}"#,
    r#"{"channel": "email", "patient_id": "a", "body": "appointment"}"#,
    r#"{"channel": "email"}"#,
    "",
];

proptest! {
    #[test]
    fn the_exchange_is_a_function_of_its_requests(
        requests in prop::collection::vec(any_request(&["messages", "messages?channel=sms", "messages/x"], BODIES), 0..25),
    ) {
        is_a_function(|| exchange(answering()), &requests);
    }
}
