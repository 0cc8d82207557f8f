use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::studio::{Studio, remove};
use crate::support::TestServer;

#[tokio::test]
async fn a_task_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let body = json!({"benchmark_id": studio.benchmark, "name": "Book", "timeout": 60, "tags": ["intake", "fax"],
        "task_item": {"instructions": "Book it.", "dose": 1}, "solution": [{"call": "POST /fhir/Appointment"}],
        "scenario": [{"type": "fax_inbound", "from_number": "+1555", "text": "Referral"}]});
    let made = server.ask(Method::POST, "/tasks", body).await;
    insta::assert_snapshot!("task_made", made.shape());
    let path = format!("/tasks/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let changed = server
        .ask(Method::PATCH, &path, json!({"name": "Book a visit"}))
        .await;
    assert_eq!(changed.text("name"), "Book a visit");
    assert_eq!(changed.body["scenario"], made.body["scenario"]);
    let nulls = json!({"timeout": null, "tags": null, "task_item": null, "scenario": null, "solution": null});
    let cleared = server.ask(Method::PATCH, &path, nulls).await;
    insta::assert_snapshot!("task_cleared", cleared.shape());
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(server.read(&path).await.status, 404);
}

#[rstest]
#[case("empty", json!({}))]
#[case("timeout", json!({"name": "n", "timeout": 0}))]
#[case("tags", json!({"name": "n", "tags": ["a", "", "a", "t".repeat(101)]}))]
#[case("many_tags", json!({"name": "n", "tags": (0..51).map(|n| n.to_string()).collect::<Vec<_>>()}))]
#[case("tag_numbers", json!({"name": "n", "tags": [1]}))]
#[case("scenario_object", json!({"name": "n", "scenario": {}}))]
#[case("scenario_steps", json!({"name": "n", "scenario": [
    {"type": "smoke_signal"}, {"type": "voicemail"}, 5, {"type": "voicemail", "text": "good"},
    {"type": "drop_file_inbox", "path": "a", "content_base64": "*"}]}))]
#[tokio::test]
async fn a_wrong_task_is_refused(#[case] name: &str, #[case] mut body: Value) {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let path = format!("/tasks/{}", studio.task);
    let before = server.read(&path).await.body;
    if name != "empty" {
        let change = server.ask(Method::PATCH, &path, body.clone()).await;
        assert_eq!(change.status, 400, "{}", change.body);
        body["benchmark_id"] = json!(studio.benchmark);
    }
    let answer = server.ask(Method::POST, "/tasks", body).await;
    insta::assert_snapshot!(format!("task_refused_{name}"), answer.shape());
    assert_eq!(server.read(&path).await.body, before);
}

#[rstest]
#[case("/abs")]
#[case("../up")]
#[case("")]
#[case("./inbox/x")]
#[tokio::test]
async fn a_file_that_no_inbox_can_hold_is_refused_when_the_task_is_made(#[case] path: &str) {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let step = json!({"type": "drop_file_inbox", "path": path, "content": "x"});
    let body = json!({"benchmark_id": studio.benchmark, "name": "n", "scenario": [step]});
    let refused = server.ask(Method::POST, "/tasks", body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let told = refused.body["error"]["details"]["scenario.0"][0].as_str();
    assert!(told.unwrap().starts_with("path: "), "{told:?}");
}

#[tokio::test]
async fn a_task_of_an_unknown_benchmark_is_404() {
    let server = TestServer::start().await;
    let body = json!({"benchmark_id": "bench_01K0000000000000000000000A", "name": "n"});
    let answer = server.ask(Method::POST, "/tasks", body).await;
    insta::assert_snapshot!("task_benchmark_unknown", answer.shape());
}

#[tokio::test]
async fn entities_join_a_task_and_leave() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let list = format!("/tasks/{}/entities", studio.task);
    let listed = server.read(&list).await;
    insta::assert_snapshot!("task_entities", listed.shape());
    let again = json!({"entity_id": studio.entity});
    let again = server.ask(Method::POST, &list, again).await;
    assert_eq!((again.status, &again.body), (201, &listed.body["data"][0]));
    assert_eq!(server.read(&list).await.body, listed.body);
    for (body, status) in [
        (json!({}), 400),
        (json!({"entity_id": 5}), 400),
        (json!({"entity_id": "ent_1"}), 400),
        (json!({"entity_id": "ent_01K0000000000000000000000A"}), 404),
    ] {
        let answer = server.ask(Method::POST, &list, body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
    }
    let path = format!("{list}/{}", studio.entity);
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(remove(&server, &path).await.status, 404);
    assert_eq!(server.read(&list).await.body["data"], json!([]));
}
