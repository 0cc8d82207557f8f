use proctor_store::simulators::SimulatorDraft;
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::studio::{Studio, make, remove};
use crate::support::{Answer, TestServer};

async fn publish(server: &TestServer, benchmark: &str, body: Value) -> Answer {
    let path = format!("/benchmarks/{benchmark}/publish");
    server.ask(Method::POST, &path, body).await
}

#[tokio::test]
async fn versions_are_numbered_listed_and_taken_back() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let path = format!("/benchmarks/{}", studio.benchmark);
    let first = publish(&server, &studio.benchmark, json!({"slug": "fax-referral"})).await;
    insta::assert_snapshot!("published", first.shape());
    let body = json!({"slug": "fax-referral", "visibility": "Public"});
    let second = publish(&server, &studio.benchmark, body).await;
    assert_eq!(second.body["version"], 2);
    assert_eq!(second.body["digest"], first.body["digest"]);
    let changed = json!({"description": "Another"});
    server.ask(Method::PATCH, &path, changed).await;
    let third = publish(&server, &studio.benchmark, json!({"slug": "fax"})).await;
    assert_eq!(third.body["version"], 3, "also under another slug");
    assert_ne!(third.body["digest"], first.body["digest"]);

    let shown = server.read(&path).await;
    insta::assert_snapshot!("benchmark_published", shown.shape());
    let listed = server.read("/benchmarks").await;
    assert_eq!(listed.body["data"][0], shown.body);
    let unpublish = format!("{path}/unpublish");
    let taken_back = server.ask(Method::POST, &unpublish, json!({})).await;
    insta::assert_snapshot!("benchmark_unpublished", taken_back.shape());
    let again = server.ask(Method::POST, &unpublish, json!({})).await;
    assert_eq!(again.body, taken_back.body);
    let versions = server.read(&format!("{path}/versions")).await;
    insta::assert_snapshot!("versions", versions.shape());
}

#[rstest]
#[case("empty", json!({}))]
#[case("bad_slug", json!({"slug": "Fax Referral"}))]
#[case("bad_visibility", json!({"slug": "fax", "visibility": "public"}))]
#[case("unknown_field", json!({"slug": "fax", "version": 9}))]
#[tokio::test]
async fn a_wrong_publication_is_refused(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let answer = publish(&server, &studio.benchmark, body).await;
    insta::assert_snapshot!(format!("publish_refused_{name}"), answer.shape());
    let versions = format!("/benchmarks/{}/versions", studio.benchmark);
    assert_eq!(server.read(&versions).await.body["data"], json!([]));
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_benchmark_is_named_at_once() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let step = json!([{"type": "voicemail", "text": "Call me"}]);
    let task = format!("/tasks/{}", studio.task);
    server
        .ask(Method::PATCH, &task, json!({"scenario": step}))
        .await;
    let criterion = format!("/criteria/{}", studio.criterion);
    let assertion = json!({"assertion": {"assert": "telepathy"}});
    server.ask(Method::PATCH, &criterion, assertion).await;
    remove(&server, &format!("{task}/entities/{}", studio.entity)).await;
    // What was written before configurations were checked.
    let simulator = studio.simulator.parse().unwrap();
    let simulator = server.store.simulator(server.organization, simulator).await;
    let simulator = simulator.unwrap().unwrap();
    let config = json!({"validation": "sometimes"});
    let draft = SimulatorDraft {
        config: config.as_object().unwrap().clone(),
        ..simulator.content.clone()
    };
    server
        .store
        .update_simulator(&simulator, draft)
        .await
        .unwrap();
    let refused = publish(&server, &studio.benchmark, json!({"slug": "fax"})).await;
    insta::assert_snapshot!("publish_unfit", refused.shape());
}

#[tokio::test]
async fn what_is_as_deep_as_may_be_is_frozen_and_read_again() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let deep = (0..99).fold(json!({}), |inner, _| json!({"a": inner}));
    let changes = [
        (
            format!("/tasks/{}", studio.task),
            json!({"task_item": deep, "solution": deep}),
        ),
        (
            format!("/datasets/{}/entities/{}", studio.dataset, studio.entity),
            json!({"data": deep}),
        ),
    ];
    for (path, change) in changes {
        let changed = server.ask(Method::PATCH, &path, change).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
    }
    let published = publish(&server, &studio.benchmark, json!({"slug": "fax"})).await;
    let digest = published.text("digest").parse().unwrap();
    let frozen = server.store.definition(&digest).await.unwrap().unwrap();
    assert_eq!(frozen.tasks[0].brief, deep);
    assert_eq!(frozen.tasks[0].entities[0].data, deep);
}

#[tokio::test]
async fn an_empty_benchmark_is_not_published() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    remove(&server, &format!("/tasks/{}", studio.task)).await;
    let refused = publish(&server, &studio.benchmark, json!({"slug": "fax"})).await;
    insta::assert_snapshot!("publish_empty", refused.shape());
}

#[tokio::test]
async fn a_slug_belongs_to_its_benchmark_even_when_that_is_gone() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    publish(&server, &studio.benchmark, json!({"slug": "fax"})).await;
    let rival = json!({"name": "Rival", "environment_id": studio.environment, "timeout": 5});
    let rival = make(&server, "/benchmarks", rival).await;
    let task = json!({"benchmark_id": rival, "name": "n"});
    make(&server, "/tasks", task).await;
    let taken = publish(&server, &rival, json!({"slug": "fax"})).await;
    insta::assert_snapshot!("publish_slug_taken", taken.shape());
    remove(&server, &format!("/benchmarks/{}", studio.benchmark)).await;
    let taken = publish(&server, &rival, json!({"slug": "fax"})).await;
    assert_eq!(taken.status, 409);
    let own = publish(&server, &rival, json!({"slug": "rival"})).await;
    assert_eq!(own.status, 201);
}
