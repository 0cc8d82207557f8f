//! What can be said about blueprints without building one; building is tried with the vendor's own tests and in the crate
//! that builds.

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::TestServer;

#[rstest]
#[case("empty", Value::Null)]
#[case("services", json!({"name": "a", "services": [{"name": "db", "image": "postgres"}]}))]
#[case("two_bases", json!({"name": "a", "base_blueprint_id": "bpt_01K00000000000000000000000", "base_blueprint_name": "b"}))]
#[case("ids", json!({"name": "a", "base_blueprint_id": "x", "build_context": {"type": "git", "object_id": "y"}, "network_policy_id": "z"}))]
#[case("code_mounts", json!({"name": "a", "code_mounts": [{"repo_name": "../x", "repo_owner": null}]}))]
#[case("variables", json!({"name": "a", "build_args": {"1A": "x"}, "secrets": {"A-B": "S"}, "file_mounts": {"dir/": "x"}}))]
#[case("launch_parameters", json!({"name": "a", "launch_parameters": "large"}))]
#[case("launch_size", json!({"name": "a", "launch_parameters": {"resource_size_request": "HUGE"}}))]
#[tokio::test]
async fn a_wrong_recipe_is_400(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    for path in ["/v1/blueprints", "/v1/blueprints/preview"] {
        let answer = server.ask(Method::POST, path, body.clone()).await;
        insta::assert_snapshot!(format!("blueprint_{name}"), answer.shape());
    }
}

#[tokio::test]
async fn a_server_without_devboxes_says_so() {
    let server = TestServer::start().await;
    let body = json!({"name": "a", "dockerfile": null, "code_mounts": null});
    let answer = server.ask(Method::POST, "/v1/blueprints", body).await;
    insta::assert_snapshot!("blueprint_not_offered", answer.shape());
}

#[tokio::test]
async fn lists_are_empty_and_unknown_ones_not_there() {
    let server = TestServer::start().await;
    let nothing = json!({"blueprints": [], "has_more": false, "total_count": 0});
    for path in [
        "/v1/blueprints",
        "/v1/blueprints?status=build_complete&name=x",
        "/v1/blueprints?status=queued",
        "/v1/blueprints/list_public",
    ] {
        assert_eq!(server.read(path).await.body, nothing, "{path}");
    }
    assert_eq!(server.read("/v1/blueprints?status=done").await.status, 400);
    let unknown = "/v1/blueprints/bpt_01K00000000000000000000000";
    assert_eq!(server.read(unknown).await.status, 404);
}
