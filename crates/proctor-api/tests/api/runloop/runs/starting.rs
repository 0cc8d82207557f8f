//! What must be there before a run starts.

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::Desk;
use crate::{
    runloop::{
        scenarios::{create, parameters},
        workshop::boxless,
    },
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
async fn mounts_that_name_nothing_or_lack_a_path_are_refused_when_a_run_starts() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let source = json!({"type": "git", "git": {"repository": "https://git.example.org/a"}});
    let agent = json!({"name": "from-git", "source": source});
    let agent = desk.post("/v1/agents", agent).await.text("id");
    let unknown = "obj_01J00000000000000000000000";
    for (mount, part) in [
        (
            json!({"type": "object_mount", "object_id": unknown, "object_path": "/a"}),
            "there is no object 'obj_01J00000000000000000000000'",
        ),
        (
            json!({"type": "agent_mount", "agent_id": "agt_01J00000000000000000000000", "agent_name": null}),
            "there is no agent 'agt_01J00000000000000000000000'",
        ),
        (
            json!({"type": "agent_mount", "agent_id": null, "agent_name": "nobody"}),
            "there is no agent 'nobody'",
        ),
        (
            json!({"type": "agent_mount", "agent_id": agent, "agent_name": null}),
            "the agent 'from-git' comes from git: agent_path must say where in the devbox it goes",
        ),
    ] {
        let body = json!({"scenario_id": scenario, "benchmark_id": benchmark, "runProfile": {"mounts": [mount]}});
        for path in ["/v1/scenarios/start_run", "/v1/benchmarks/start_run"] {
            let refused = desk.post(path, body.clone()).await;
            assert_eq!(refused.status, 400, "{}", refused.body);
            assert!(refused.text("message").contains(part), "{}", refused.body);
        }
    }
    assert!(desk.shop.orders().is_empty());
    let mount = json!({"type": "agent_mount", "agent_id": agent, "agent_path": "/a"});
    desk.start(json!({"scenario_id": scenario, "runProfile": {"mounts": [mount]}}))
        .await;
}

#[tokio::test]
async fn what_belongs_to_others_cannot_be_mounted() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let other = desk
        .server
        .store
        .create_organization("Other")
        .await
        .unwrap();
    let agent = desk
        .server
        .store
        .create_agent(other.id, "theirs".to_owned(), None, None)
        .await
        .unwrap();
    let id = agent.id.wire(proctor_core::id::Dialect::Runloop);
    let mount = json!({"type": "agent_mount", "agent_id": id, "agent_path": "/a"});
    let body = json!({"scenario_id": scenario, "runProfile": {"mounts": [mount]}});
    let refused = desk.post("/v1/scenarios/start_run", body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.text("message").contains("there is no agent"));
}

#[tokio::test]
async fn a_null_in_a_map_is_as_good_as_left_out() {
    let desk = Desk::new().await;
    let mut body = parameters("fix");
    body["metadata"] = json!({"a": "b", "c": null});
    let scenario = create(&desk.server, body).await;
    let profile = json!({"envVars": {"MODEL": "m", "REGION": null}, "secrets": {"TOKEN": null}});
    let started =
        json!({"scenario_id": scenario, "runProfile": profile, "metadata": {"x": null, "y": "z"}});
    let run = desk.start(started).await;
    let order = desk.shop.orders().pop().unwrap();
    assert_eq!(json!(order.request.environment), json!({"MODEL": "m"}));
    assert!(order.request.secrets.is_empty());
    assert_eq!(desk.run(&run).await["metadata"], json!({"y": "z"}));
    let seen = desk.server.read(&format!("/v1/scenarios/{scenario}")).await;
    assert_eq!(seen.body["metadata"], json!({"a": "b"}));
    for (path, body) in [
        (
            "/v1/benchmarks",
            json!({"name": "b", "metadata": {"a": null}}),
        ),
        (
            "/v1/objects",
            json!({"name": "o", "content_type": "text", "metadata": {"a": null}}),
        ),
    ] {
        let made = desk.post(path, body).await;
        assert_eq!(made.status, 200, "{path}: {}", made.body);
        assert_eq!(made.body["metadata"], json!({}), "{path}");
    }
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
    body["environment_parameters"] = boxless();
    let boxless = create(&desk.server, body).await;
    let refused = desk
        .post("/v1/scenarios/start_run", json!({"scenario_id": boxless}))
        .await;
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .text("message")
            .contains("blueprint_id: there is no blueprint 'bpt_gone'")
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
