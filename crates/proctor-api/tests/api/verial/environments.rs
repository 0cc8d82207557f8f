use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::studio::{Studio, make, remove};
use crate::support::TestServer;

#[tokio::test]
async fn an_environment_is_made_shown_changed_and_removed() {
    let server = TestServer::start().await;
    let body = json!({"name": "Ward", "description": "Seventh floor"});
    let made = server.ask(Method::POST, "/environments", body).await;
    insta::assert_snapshot!("environment_made", made.shape());
    let path = format!("/environments/{}", made.text("id"));
    assert_eq!(server.read(&path).await.body, made.body);
    let changed = server
        .ask(Method::PATCH, &path, json!({"name": "Ward 7"}))
        .await;
    assert_eq!(changed.text("name"), "Ward 7");
    assert_eq!(changed.text("description"), "Seventh floor");
    assert!(changed.text("updated_at") > made.text("updated_at"));
    let cleared = server
        .ask(Method::PATCH, &path, json!({"description": null}))
        .await;
    assert_eq!(cleared.body["description"], Value::Null);
    assert_eq!(remove(&server, &path).await.status, 204);
    assert_eq!(remove(&server, &path).await.status, 404);
    insta::assert_snapshot!("environment_gone", server.read(&path).await.shape());
}

#[rstest]
#[case("empty", json!({}))]
#[case("too_long", json!({"name": "n".repeat(201), "description": "d".repeat(1001)}))]
#[case("wrong_type", json!({"name": ["Ward"]}))]
#[case("unknown_field", json!({"name": "Ward", "simulators": []}))]
#[tokio::test]
async fn a_wrong_environment_is_refused(#[case] name: &str, #[case] body: Value) {
    let server = TestServer::start().await;
    let answer = server.ask(Method::POST, "/environments", body).await;
    insta::assert_snapshot!(format!("environment_refused_{name}"), answer.shape());
}

#[tokio::test]
async fn simulators_join_in_order_and_leave() {
    let server = TestServer::start().await;
    let environment = make(&server, "/environments", json!({"name": "Ward"})).await;
    let mut simulators = Vec::new();
    for name in ["a", "b", "c"] {
        simulators.push(make(&server, "/simulators", json!({"type": "Fax", "name": name})).await);
    }
    let link = |number: usize| {
        format!(
            "/environments/{environment}/simulators/{}",
            simulators[number]
        )
    };
    for number in [2, 0, 1, 0] {
        let answer = server.ask(Method::POST, &link(number), json!({})).await;
        assert_eq!(answer.status, 200);
    }
    let shown = async || {
        let shown = server.read(&format!("/environments/{environment}")).await;
        shown.body["simulator_ids"].clone()
    };
    assert_eq!(
        shown().await,
        json!([simulators[2], simulators[0], simulators[1]])
    );
    let listed = server.read("/environments").await.body;
    assert_eq!(listed["data"][0]["simulator_ids"], shown().await);
    assert_eq!(remove(&server, &link(0)).await.status, 204);
    assert_eq!(remove(&server, &link(0)).await.status, 404);
    assert_eq!(shown().await, json!([simulators[2], simulators[1]]));
    let unknown = format!("/environments/{environment}/simulators/sim_01K0000000000000000000000A");
    let answer = server.ask(Method::POST, &unknown, json!({})).await;
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn what_is_in_use_is_not_removed() {
    let server = TestServer::start().await;
    let studio = Studio::open(&server).await;
    let environment = format!("/environments/{}", studio.environment);
    insta::assert_snapshot!(
        "environment_in_use",
        remove(&server, &environment).await.shape()
    );
    let simulator = format!("/simulators/{}", studio.simulator);
    insta::assert_snapshot!(
        "simulator_in_use",
        remove(&server, &simulator).await.shape()
    );
    let dataset = format!("/datasets/{}", studio.dataset);
    insta::assert_snapshot!("dataset_in_use", remove(&server, &dataset).await.shape());
    let entity = format!("{dataset}/entities/{}", studio.entity);
    insta::assert_snapshot!("entity_in_use", remove(&server, &entity).await.shape());

    for path in [
        format!("/benchmarks/{}", studio.benchmark),
        environment,
        simulator,
        entity,
        dataset,
    ] {
        assert_eq!(remove(&server, &path).await.status, 204, "{path}");
    }
    for path in [
        format!("/tasks/{}", studio.task),
        format!("/criteria/{}", studio.criterion),
    ] {
        assert_eq!(
            server.read(&path).await.status,
            404,
            "{path} went with the benchmark"
        );
    }
}
