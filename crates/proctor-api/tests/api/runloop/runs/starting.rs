//! What must be there before a run starts.

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::Desk;
use crate::{
    runloop::scenarios::{create, parameters},
    support::TestServer,
};

#[tokio::test]
async fn what_is_required_and_missing_is_named_all_at_once() {
    let desk = Desk::new().await;
    let mut body = parameters("needy");
    body["required_environment_variables"] = json!(["MODEL", "REGION"]);
    body["required_secret_names"] = json!(["TOKEN", "KEY"]);
    let scenario = create(&desk.server, body).await;
    let profile = json!({"envVars": {"REGION": "eu"}, "secrets": {"TOKEN": "NOT_THERE"}});
    let refused = desk
        .post(
            "/v1/scenarios/start_run",
            json!({"scenario_id": scenario, "runProfile": profile}),
        )
        .await;
    insta::assert_snapshot!("run_missing", refused.shape());
    assert!(desk.shop.orders().is_empty());

    let body = json!({"name": "bench", "scenario_ids": [scenario], "required_environment_variables": ["TEAM"]});
    let benchmark = desk.post("/v1/benchmarks", body).await.text("id");
    let refused = desk
        .post(
            "/v1/benchmarks/start_run",
            json!({"benchmark_id": benchmark}),
        )
        .await;
    assert_eq!(refused.status, 400);
    assert!(refused.text("message").contains("TEAM"));

    desk.post("/v1/secrets", json!({"name": "MINE", "value": "hush"}))
        .await;
    let profile = json!({"envVars": {"TEAM": "a", "MODEL": "general", "REGION": "eu"}, "secrets": {"TOKEN": "MINE"},
        "launchParameters": {"resource_size_request": "LARGE", "keep_alive_time_seconds": 60},
        "mounts": [{"type": "file_mount", "target": "/a", "content": "1"}]});
    let started = desk
        .post(
            "/v1/benchmarks/start_run",
            json!({"benchmark_id": benchmark, "runProfile": profile, "run_name": "r", "metadata": {"a": "b"}}),
        )
        .await;
    insta::assert_snapshot!("benchmark_run_started", started.shape());
    let run = started.text("id");
    let profile = json!({"envVars": {"MODEL": "special"}, "secrets": {"KEY": "MINE"},
        "launchParameters": {"resource_size_request": "SMALL"},
        "mounts": [{"type": "file_mount", "target": "/b", "content": "2"}]});
    let id = desk
        .start(json!({"scenario_id": scenario, "benchmark_run_id": run, "runProfile": profile}))
        .await;
    let order = desk.shop.orders().pop().unwrap();
    assert_eq!(
        json!(order.request.environment),
        json!({"TEAM": "a", "MODEL": "special", "REGION": "eu"})
    );
    assert_eq!(
        json!(order.request.launch),
        json!({"resource_size_request": "SMALL", "keep_alive_time_seconds": 60})
    );
    assert_eq!(order.request.mounts.len(), 2);
    let run = desk.run(&id).await;
    assert!(!run.to_string().contains("hush"), "no secret leaves");
}

#[rstest]
#[case("nothing", json!({}))]
#[case("unknown", json!({"scenario_id": "scn_01J00000000000000000000000"}))]
#[case("no_id", json!({"scenario_id": "x"}))]
#[case("mount", json!({"scenario_id": "scn_01J00000000000000000000000", "runProfile": {"mounts": [{}, {"type": "magic"}],
    "envVars": {"A=B": "c"}}}))]
#[tokio::test]
async fn a_wrong_start_is_refused(#[case] name: &str, #[case] body: Value) {
    let desk = Desk::new().await;
    let answer = desk.post("/v1/scenarios/start_run", body).await;
    insta::assert_snapshot!(format!("start_{name}"), answer.shape());
}

#[tokio::test]
async fn what_is_archived_or_cannot_be_boxed_is_not_started() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    for path in [
        format!("/v1/scenarios/{scenario}/archive"),
        format!("/v1/benchmarks/{benchmark}/archive"),
    ] {
        desk.post(&path, Value::Null).await;
    }
    let body = json!({"scenario_id": scenario, "benchmark_id": benchmark});
    for path in ["/v1/scenarios/start_run", "/v1/benchmarks/start_run"] {
        let answer = desk.post(path, body.clone()).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.text("message").contains("archived"));
    }
    let mut body = parameters("boxless");
    body["environment_parameters"] = json!({"blueprint_id": "missing"});
    let boxless = create(&desk.server, body).await;
    let refused = desk
        .post("/v1/scenarios/start_run", json!({"scenario_id": boxless}))
        .await;
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .text("message")
            .contains("blueprint_id: not the id of a blueprint")
    );
    let unequipped = TestServer::start().await;
    let scenario = create(&unequipped, parameters("fix")).await;
    let refused = unequipped
        .ask(
            Method::POST,
            "/v1/scenarios/start_run",
            json!({"scenario_id": scenario}),
        )
        .await;
    insta::assert_snapshot!("run_without_boxes", refused.shape());
}
