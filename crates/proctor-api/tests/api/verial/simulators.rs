use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::studio::{make, remove};
use crate::support::TestServer;

#[tokio::test]
async fn a_simulator_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let dataset = json!({"name": "Members", "type": "members", "data": []});
    let dataset = make(&server, "/datasets", dataset).await;
    let body = json!({"type": "payer", "name": "RadMD", "config": {"portal": "radmd", "dataset_ids": [dataset]}});
    let made = server.ask(Method::POST, "/simulators", body).await;
    insta::assert_snapshot!("simulator_made", made.shape());
    let path = format!("/simulators/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let renamed = server
        .ask(Method::PATCH, &path, json!({"name": "Portal"}))
        .await;
    assert_eq!(renamed.body["config"], made.body["config"]);
    let held = remove(&server, &format!("/datasets/{dataset}")).await;
    assert_eq!(held.status, 409);
    let emptied = server
        .ask(Method::PATCH, &path, json!({"config": null}))
        .await;
    assert_eq!(emptied.body["config"], json!({}));
    let freed = remove(&server, &format!("/datasets/{dataset}")).await;
    assert_eq!(freed.status, 204);
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(server.read(&path).await.status, 404);
}

#[tokio::test]
async fn types_are_read_in_any_case_and_by_their_other_names() {
    let server = TestServer::start().await;
    for (text, kind) in [
        ("X12", "Clearinghouse"),
        ("sftp", "Files"),
        ("cdshooks", "CdsHooks"),
        ("VOICE", "Voice"),
    ] {
        let body = json!({"type": text, "name": "n"});
        let made = server.ask(Method::POST, "/simulators", body).await;
        assert_eq!(made.text("type"), kind);
    }
}

#[rstest]
#[case("empty", json!({}))]
#[case("unknown_type", json!({"type": "Telegraph", "name": "n"}))]
#[case("config_list", json!({"type": "Fax", "name": "n", "config": []}))]
#[case("dataset_text", json!({"type": "Fax", "name": "n", "config": {"dataset_ids": "ds_1"}}))]
#[case("dataset_nonsense", json!({"type": "Fax", "name": "n", "config": {"dataset_ids": ["x", 5]}}))]
#[case("dataset_unknown", json!({"type": "Fax", "name": "n", "config": {"dataset_ids": ["ds_01K0000000000000000000000A"]}}))]
#[case("dataset_twice", json!({"type": "Fax", "name": "n", "config": {"dataset_ids": ["ds_01K0000000000000000000000A", "ds_01K0000000000000000000000A"]}}))]
#[tokio::test]
async fn a_wrong_simulator_is_refused(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/simulators", body).await;
    insta::assert_snapshot!(format!("simulator_refused_{name}"), answer.shape());
    assert_eq!(server.read("/simulators").await.body["data"], json!([]));
}

#[tokio::test]
async fn a_type_never_changes() {
    let server = TestServer::start().await;
    let id = make(&server, "/simulators", json!({"type": "Fax", "name": "n"})).await;
    let answer = server
        .ask(
            Method::PATCH,
            &format!("/simulators/{id}"),
            json!({"type": "Hl7", "name": null}),
        )
        .await;
    insta::assert_snapshot!("simulator_type_fixed", answer.shape());
}

#[tokio::test]
async fn a_configuration_that_its_simulator_does_not_understand_is_refused() {
    let server = TestServer::start().await;
    let wrong = json!({"type": "Fhir", "name": "EHR", "config": {"validation": "sometimes"}});
    let refused = server.ask(Method::POST, "/simulators", wrong).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let details = refused.body["error"]["details"].as_object().unwrap();
    assert!(details.contains_key("config.validation"), "{details:?}");
    let wrong = json!({"type": "Payer", "name": "RadMD", "config": {
        "portal": "nowhere", "default_determination": {"status": "maybe"}}});
    let refused = server.ask(Method::POST, "/simulators", wrong).await;
    let details = refused.body["error"]["details"].as_object().unwrap();
    assert_eq!(details.len(), 2, "all problems at once: {details:?}");
    let right = json!({"type": "Fhir", "name": "EHR", "config": {"validation": "off"}});
    let id = make(&server, "/simulators", right).await;
    let wrong = json!({"config": {"validation": "sometimes"}});
    let path = format!("/simulators/{id}");
    let refused = server.ask(Method::PATCH, &path, wrong).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert_eq!(
        server.read(&path).await.body["config"],
        json!({"validation": "off"})
    );
}

#[tokio::test]
async fn a_configuration_that_is_no_object_does_not_hide_what_else_is_wrong() {
    let server = TestServer::start().await;
    let wrong = json!({"type": "nope", "name": "", "config": 5});
    let refused = server.ask(Method::POST, "/simulators", wrong).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let details = refused.body["error"]["details"].as_object().unwrap();
    let fields: Vec<&String> = details.keys().collect();
    assert_eq!(fields, ["config", "name", "type"]);
}

#[tokio::test]
async fn what_has_not_its_shape_does_not_hide_what_else_is_wrong() {
    let server = TestServer::start().await;
    let wrong = json!({"type": "Payer", "name": "RadMD", "config": {
        "session_seconds": 1.5, "provider_npi": "1", "portal": ["radmd"], "colour": "green",
        "determinations": [{"procedure_code": 72148}, {"status": "approved"}]}});
    let refused = server.ask(Method::POST, "/simulators", wrong).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    insta::assert_snapshot!("simulator_config_all_at_once", refused.shape());
    let wrong = json!({"type": "Hl7", "name": "interface", "config": {"fail_first": -1, "accept": ["ORM", "?"]}});
    let refused = server.ask(Method::POST, "/simulators", wrong).await;
    let details = refused.body["error"]["details"].as_object().unwrap();
    let fields: Vec<&String> = details.keys().collect();
    assert_eq!(fields, ["config.accept", "config.fail_first"]);
    let told = refused.body.to_string();
    for word in ["u64", "expected", "invalid", "a map", "a sequence"] {
        assert!(!told.contains(word), "'{word}' is not ours: {told}");
    }
}
