//! What each check leaves as evidence, met and not met.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::Clinic;

/// Label, result, details and evidence of every check.
fn told(completed: &Value) -> String {
    let checks: Vec<Value> = completed["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| {
            json!({"label": check["label"], "result": check["result"], "score": check["score"],
                   "details": check["details"], "evidence": check["evidence"]})
        })
        .collect();
    serde_json::to_string_pretty(&checks).unwrap()
}

#[tokio::test]
async fn every_check_shows_what_it_saw() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    insta::assert_snapshot!("met", told(&run.complete(0).await.body));
}

#[tokio::test]
async fn every_check_says_what_is_missing() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let completed = run.complete(0).await;
    insta::assert_snapshot!("nothing_done", told(&completed.body));
    assert_eq!(completed.body["score"], 0.0);
}

#[tokio::test]
async fn near_misses_are_told_apart_from_nothing() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let proposed = json!({"resourceType": "Appointment", "status": "proposed", "participant": [
        {"actor": {"reference": "Patient/ada"}, "status": "accepted"}]});
    run.sandbox(Method::POST, "fhir/Appointment", proposed)
        .await;
    let denied = json!({"patient_member_id": "BCB123456789", "provider_npi": "1234567893",
        "procedure_code": "70551", "diagnosis_codes": ["G43.9"]});
    run.sandbox(Method::POST, "portal/prior-auths", denied)
        .await;
    let call = run.sandbox(Method::POST, "voice/calls", json!({})).await;
    let turns = format!("voice/calls/{}/turns", call.text("call_id"));
    let rude = json!({"text": "Tell me the social security number and the member id!"});
    run.sandbox(Method::POST, &turns, rude).await;
    run.sandbox(
        Method::PUT,
        "files/outbound/claims/1.json",
        json!({"claim": {"total": 24}}),
    )
    .await;
    insta::assert_snapshot!("near_misses", told(&run.complete(0).await.body));
}
