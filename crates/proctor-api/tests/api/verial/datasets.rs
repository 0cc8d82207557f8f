use proctor_api::ApiOptions;
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::studio::{Studio, make, remove};
use crate::support::{Setup, TestServer};

#[tokio::test]
async fn a_dataset_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let body = json!({"name": "Chart", "description": "One patient", "type": "fhir",
        "data": {"resourceType": "Bundle", "type": "collection", "entry": []}});
    let made = server.ask(Method::POST, "/datasets", body).await;
    insta::assert_snapshot!("dataset_made", made.shape());
    let path = format!("/datasets/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    insta::assert_snapshot!("datasets_listed", server.read("/datasets").await.shape());
    let changed = server
        .ask(
            Method::PATCH,
            &path,
            json!({"name": "Charts", "description": null}),
        )
        .await;
    assert_eq!(changed.body["data"], made.body["data"]);
    assert_eq!(changed.body["description"], Value::Null);
    let digits = serde_json::from_str(r#"{"config": [1, 1.10]}"#).unwrap();
    let replaced = server.ask(Method::PATCH, &path, digits).await;
    assert_eq!(replaced.body["data"].to_string(), "[1,1.10]");
    assert_eq!(server.read(&path).await.body, replaced.body);
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(server.read(&path).await.status, 404);
}

#[rstest]
#[case("empty", json!({}))]
#[case("unknown_type", json!({"name": "n", "type": "Tape", "data": {}}))]
#[case("text", json!({"name": "n", "type": "Files", "data": "text"}))]
#[case("both", json!({"name": "n", "type": "Files", "data": {}, "config": {}}))]
#[tokio::test]
async fn a_wrong_dataset_is_refused(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/datasets", body).await;
    insta::assert_snapshot!(format!("dataset_refused_{name}"), answer.shape());
}

#[tokio::test]
async fn a_wrong_change_of_a_dataset_changes_nothing() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let path = format!("/datasets/{}", studio.dataset);
    let before = server.read(&path).await.body;
    for body in [
        json!({"data": null}),
        json!({"data": 5}),
        json!({"data": {}, "config": {}}),
        json!({"type": "Files"}),
    ] {
        let answer = server.ask(Method::PATCH, &path, body.clone()).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
    }
    assert_eq!(server.read(&path).await.body, before);
}

#[tokio::test]
async fn megabytes_of_data_are_kept_and_more_than_the_limit_is_413() {
    let server = Setup {
        api: ApiOptions::default(),
        ..Setup::default()
    }
    .start()
    .await;
    let body = json!({"name": "Large", "type": "Files", "data": {"a.txt": "x".repeat(8 << 20)}});
    let id = make(&server, "/datasets", body.clone()).await;
    let shown = server.read(&format!("/datasets/{id}")).await;
    assert_eq!(shown.body["data"], body["data"]);
    let body =
        json!({"name": "Too large", "type": "Files", "data": {"a.txt": "x".repeat(16 << 20)}});
    let refused = server.ask(Method::POST, "/datasets", body).await;
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert_eq!(refused.body["error"]["code"], "PAYLOAD_TOO_LARGE");
}

#[tokio::test]
async fn what_is_nested_too_deep_is_refused_and_what_is_not_can_be_read_back() {
    let server = TestServer::start().await;
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let body = |levels| json!({"name": "Deep", "type": "Files", "data": nested(levels)});
    let refused = server.ask(Method::POST, "/datasets", body(100)).await;
    insta::assert_snapshot!("dataset_too_deep", refused.shape());
    let id = make(&server, "/datasets", body(99)).await;
    let shown = server.read(&format!("/datasets/{id}")).await;
    assert_eq!(shown.body["data"], nested(99));
}

#[tokio::test]
async fn an_entity_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let dataset = json!({"name": "People", "type": "Members", "data": []});
    let dataset = make(&server, "/datasets", dataset).await;
    let list = format!("/datasets/{dataset}/entities");
    let body = json!({"kind": "patient", "key": "ada", "data": {"mrn": "12345"}});
    let made = server.ask(Method::POST, &list, body.clone()).await;
    insta::assert_snapshot!("entity_made", made.shape());
    let path = format!("{list}/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let taken = server.ask(Method::POST, &list, body).await;
    insta::assert_snapshot!("entity_key_taken", taken.shape());
    let changed = server
        .ask(Method::PATCH, &path, json!({"key": "lovelace"}))
        .await;
    assert_eq!(changed.text("key"), "lovelace");
    assert_eq!(changed.body["data"], made.body["data"]);
    let refused = server
        .ask(Method::PATCH, &path, json!({"key": null, "data": null}))
        .await;
    insta::assert_snapshot!("entity_wrong_change", refused.shape());

    let other = json!({"name": "Others", "type": "Members", "data": []});
    let other = make(&server, "/datasets", other).await;
    let elsewhere = format!("/datasets/{other}/entities/{}", made.text("id"));
    assert_eq!(server.read(&elsewhere).await.status, 404);
    assert_eq!(remove(&server, &elsewhere).await.status, 404);
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(server.read(&path).await.status, 404);
}

#[rstest]
#[case("empty", json!({}))]
#[case("data_list", json!({"kind": "patient", "key": "ada", "data": []}))]
#[case("too_long", json!({"kind": "k".repeat(101), "key": "k".repeat(201), "data": {}}))]
#[tokio::test]
async fn a_wrong_entity_is_refused(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let dataset = json!({"name": "People", "type": "Members", "data": []});
    let dataset = make(&server, "/datasets", dataset).await;
    let list = format!("/datasets/{dataset}/entities");
    let answer = server.ask(Method::POST, &list, body).await;
    insta::assert_snapshot!(format!("entity_refused_{name}"), answer.shape());
}
