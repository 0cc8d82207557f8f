use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::studio::{Studio, make, remove};
use crate::support::TestServer;

#[tokio::test]
async fn a_benchmark_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let environment = make(&server, "/environments", json!({"name": "Ward"})).await;
    let body = json!({"name": "Fax referral", "environment_id": environment, "timeout": 600});
    let made = server.ask(Method::POST, "/benchmarks", body).await;
    insta::assert_snapshot!("benchmark_made", made.shape());
    let path = format!("/benchmarks/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let elsewhere = make(&server, "/environments", json!({"name": "Clinic"})).await;
    let changes = json!({"description": "Faxes", "timeout": 86400, "concurrency": 100, "environment_id": elsewhere});
    let changed = server.ask(Method::PATCH, &path, changes).await;
    insta::assert_snapshot!("benchmark_changed", changed.shape());
    let unused = remove(&server, &format!("/environments/{environment}")).await;
    assert_eq!(unused.status, 204);
    let unchanged = server.ask(Method::PATCH, &path, json!({})).await;
    assert_eq!(unchanged.body["concurrency"], 100);
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(remove(&server, &path).await.status, 404);
    assert_eq!(server.read(&path).await.status, 404);
    assert_eq!(server.read("/benchmarks").await.body["data"], json!([]));
}

#[rstest]
#[case("empty", json!({}))]
#[case("out_of_range", json!({"name": "n", "environment_id": "env_01K0000000000000000000000A", "timeout": 0, "concurrency": 0}))]
#[case("too_large", json!({"name": "n", "environment_id": "env_01K0000000000000000000000A", "timeout": 86401, "concurrency": 101}))]
#[case("negative", json!({"name": "n", "environment_id": "env_01K0000000000000000000000A", "timeout": -1}))]
#[case("fraction", json!({"name": "n", "environment_id": "env_01K0000000000000000000000A", "timeout": 1.5}))]
#[case("id_nonsense", json!({"name": "n", "environment_id": "ward", "timeout": 1}))]
#[case("id_unknown", json!({"name": "n", "environment_id": "env_01K0000000000000000000000A", "timeout": 1}))]
#[tokio::test]
async fn a_wrong_benchmark_is_refused(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/benchmarks", body).await;
    insta::assert_snapshot!(format!("benchmark_refused_{name}"), answer.shape());
    assert_eq!(server.read("/benchmarks").await.body["data"], json!([]));
}

#[tokio::test]
async fn a_wrong_change_is_refused_and_changes_nothing() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let path = format!("/benchmarks/{}", studio.benchmark);
    let before = server.read(&path).await.body;
    let nulls = json!({"name": null, "environment_id": null, "timeout": null, "concurrency": null});
    let answer = server.ask(Method::PATCH, &path, nulls).await;
    insta::assert_snapshot!("benchmark_nulls", answer.shape());
    let unknown = json!({"environment_id": "env_01K0000000000000000000000A"});
    let answer = server.ask(Method::PATCH, &path, unknown).await;
    assert_eq!(answer.status, 404);
    let published = json!({"published": true, "slug": "fax", "version": 7});
    let answer = server.ask(Method::PATCH, &path, published).await;
    assert_eq!(answer.status, 400);
    assert_eq!(server.read(&path).await.body, before);
}
