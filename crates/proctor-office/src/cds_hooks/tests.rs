use http::header;
use proctor_core::environment::DatasetType;
use proctor_simulation::rehearsal::{
    Rehearsal, any_request, body, dataset, is_a_function, shown, simulator,
};
use proptest::prelude::*;

use super::*;
use crate::voice::VoicePlugin;

fn potassium() -> Value {
    json!({"services": [
        {
            "id": "potassium-check", "hook": "patient-view", "title": "Potassium",
            "description": "Warns of high potassium",
            "prefetch": {"k": "Observation?code=K&patient={{context.patientId}}"},
            "rules": [
                {
                    "when": {"path": "prefetch.k.entry.*.resource.valueQuantity.value", "gte": 6.5},
                    "card": {
                        "summary": "Potassium is critical", "indicator": "critical",
                        "source": {"label": "Lab rules"},
                        "suggestions": [{"label": "Repeat the test"}],
                    },
                },
                {
                    "when": [{"path": "context.patientId", "equals": "ada"}, {"path": "context.encounterId", "exists": false}],
                    "card": {"summary": "No encounter", "indicator": "info", "source": {"label": "Rules"}},
                },
            ],
        },
        {
            "id": "always", "hook": "order-sign", "description": "Says hello",
            "rules": [{"card": {"summary": "Hello", "indicator": "info", "source": {"label": "Rules"}}}],
        },
    ]})
}

fn services() -> CdsHooks {
    let blueprint = Blueprint::read(&simulator("CdsHooks", potassium(), vec![]));
    CdsHooks::branch(Arc::new(blueprint.unwrap()), Seed::from_number(1))
}

fn view(potassium: f64) -> Value {
    json!({
        "hook": "patient-view",
        "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "context": {"userId": "Practitioner/1", "patientId": "ada"},
        "prefetch": {"k": {"entry": [{"resource": {"valueQuantity": {"value": potassium}}}]}},
    })
}

#[test]
fn discovery_tells_the_services() {
    let mut cds = Rehearsal::of(services());
    insta::assert_snapshot!("discovery", shown(&cds.get("cds-services")));
}

#[test]
fn cards_are_shown_when_their_conditions_hold() {
    let mut cds = Rehearsal::of(services());
    let critical = cds.post("cds-services/potassium-check", &view(6.9));
    insta::assert_snapshot!("cards", shown(&critical));
    insta::assert_snapshot!("call_event", cds.last_event());
    let mut fine = view(4.1);
    fine["context"]["encounterId"] = "e1".into();
    let fine = cds.post("cds-services/potassium-check", &fine);
    assert_eq!(body(&fine), json!({"cards": []}));
    assert_eq!(cds.exhibits().rows["cds_calls"].len(), 2);
    let again = cds.post("cds-services/potassium-check", &view(6.9));
    assert_ne!(
        body(&again)["cards"][0]["uuid"],
        body(&critical)["cards"][0]["uuid"]
    );
}

#[test]
fn feedback_is_kept_for_cards_that_were_shown() {
    let mut cds = Rehearsal::of(services());
    let cards = body(&cds.post("cds-services/potassium-check", &view(6.9)));
    let card = &cards["cards"][0];
    let accepted = json!({"feedback": [{
        "card": card["uuid"], "outcome": "accepted",
        "acceptedSuggestions": [{"id": card["suggestions"][0]["uuid"]}],
        "outcomeTimestamp": "2026-01-05T09:00:00Z",
    }]});
    let path = "cds-services/potassium-check/feedback";
    let response = cds.post(path, &accepted);
    assert_eq!(response.status, 200);
    assert!(response.body.is_empty());
    insta::assert_snapshot!("feedback_event", cds.last_event());
    assert_eq!(cds.exhibits().rows["cds_feedback"].len(), 1);
    assert_eq!(
        cds.post("cds-services/always/feedback", &accepted).status,
        400
    );
    let bad = json!({"feedback": [
        {"card": "unknown"},
        {"card": card["uuid"], "outcome": "ignored"},
        {"card": card["uuid"], "outcome": "accepted"},
        {"card": card["uuid"], "outcome": "overridden", "outcomeTimestamp": "yesterday"},
        5,
    ]});
    insta::assert_snapshot!("feedback_refused", shown(&cds.post(path, &bad)));
    assert_eq!(cds.post(path, &json!({})).status, 400);
}

#[test]
fn a_call_that_is_wrong_is_refused_with_everything_at_once() {
    let mut cds = Rehearsal::of(services());
    let path = "cds-services/potassium-check";
    let bad = json!({"hook": "order-sign", "context": {"patientId": 5}, "prefetch": []});
    insta::assert_snapshot!("refused", shown(&cds.post(path, &bad)));
    let mut unfetched = view(6.9);
    unfetched["prefetch"] = json!({});
    let refusal = cds.post(path, &unfetched);
    assert_eq!(refusal.status, 412);
    assert_eq!(cds.post("cds-services/unknown", &view(1.0)).status, 404);
    assert_eq!(cds.get(path).headers[header::ALLOW], "POST");
    assert_eq!(cds.post("cds-services", &json!({})).status, 405);
    assert_eq!(cds.get("cds-services/always/a").status, 404);
    let huge = json!({"hook": "x".repeat(1024 * 1024)});
    assert_eq!(cds.post(path, &huge).status, 413);
    assert!(cds.exhibits().rows["cds_calls"].is_empty());
}

#[test]
fn the_context_of_each_hook_is_checked() {
    let mut cds = Rehearsal::of(services());
    let mut call = view(1.0);
    call["hook"] = "order-sign".into();
    let refusal = cds.post("cds-services/always", &call);
    assert_eq!(
        body(&refusal)["error"]["details"],
        json!({"context.draftOrders": ["is required"]})
    );
    call["context"]["draftOrders"] = json!({"resourceType": "Bundle"});
    let cards = body(&cds.post("cds-services/always", &call));
    assert_eq!(cards["cards"][0]["summary"], "Hello");
}

#[test]
fn everything_wrong_with_the_configuration_is_said_at_once() {
    let config = json!({"services": [
        {"id": "a b", "hook": "", "description": "x", "rules": [
            {"when": {"path": "a"}, "card": {"summary": "", "indicator": "loud", "source": {}, "colour": "red",
                "links": [{"label": "x"}, 5], "suggestions": {}, "detail": 5}},
            {"when": [{"path": "a", "is": 5}], "card": {"summary": "ok", "indicator": "info", "source": {"label": "x"}}},
        ]},
        {"id": "twice", "hook": "h", "description": "x"},
        {"id": "twice", "hook": "h", "description": "x"},
    ]});
    let data = dataset(DatasetType::Files, json!({}));
    let refused = Blueprint::read(&simulator("CdsHooks", config, vec![data]));
    insta::assert_snapshot!(refused.unwrap_err().to_string().replace("; ", "\n"));
}

#[test]
fn nothing_is_put_in() {
    let mut cds = Rehearsal::of(services());
    let step = json!({"type": "voicemail", "text": "x"});
    assert!(cds.step(VoicePlugin, &step).is_err());
    let credentials = services().credentials("/p");
    assert_eq!(credentials, json!({"cds_services_url": "/p/cds-services"}));
}

const PATHS: &[&str] = &[
    "cds-services",
    "cds-services/always",
    "cds-services/potassium-check",
    "cds-services/always/feedback",
];
const BODIES: &[&str] = &[
    r#"{"hook": "order-sign", "hookInstance": "x", "context": {"userId": "u", "patientId": "p", "draftOrders": {}}}"#,
    r#"{"hook": "patient-view", "hookInstance": "x", "context": {"userId": "u", "patientId": "ada"}, "prefetch": {"k": null}}"#,
    r#"{"feedback": [{"card": "x", "outcome": "overridden"}]}"#,
    r#"{"feedback": [null]}"#,
    "[]",
    "",
];

proptest! {
    #[test]
    fn the_services_are_a_function_of_their_requests(
        requests in prop::collection::vec(any_request(PATHS, BODIES), 0..25),
    ) {
        is_a_function(services, &requests);
    }
}
