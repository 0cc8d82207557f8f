//! Jobs that cannot be made.

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::{Desk, PATH, agent, of_scenarios, spec};
use crate::runloop::scenarios::{create, parameters};

const SCENARIO: &str = "scn_01J00000000000000000000000";

#[rstest]
#[case("empty", json!({}))]
#[case("empty_spec", spec(json!({})))]
#[case("two_specs", spec(json!({"type": "benchmark", "benchmark_id": "bmd_01J00000000000000000000000", "scenario_ids": [SCENARIO],
    "agent_configs": [{"name": "nop", "type": "job_agent"}]})))]
#[case("other_type", spec(json!({"type": "benchmark", "scenario_ids": [SCENARIO], "agent_configs": [{"name": "nop"}]})))]
#[case("harbor", spec(json!({"type": "harbor", "inline_yaml": "jobs_dir: x"})))]
#[case("no_agents", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO], "agent_configs": []})))]
#[case("no_scenarios", spec(json!({"type": "scenarios", "scenario_ids": [], "agent_configs": [{"name": "nop"}]})))]
#[case("unknown_benchmark", spec(json!({"type": "benchmark", "benchmark_id": "bmd_01J00000000000000000000000", "agent_configs": [{"name": "nop"}]})))]
#[case("no_benchmark_id", spec(json!({"type": "benchmark", "benchmark_id": "x", "agent_configs": [{"name": "nop"}]})))]
#[case("unknown_scenario", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO], "agent_configs": [{"name": "nop"}]})))]
#[case("numbers", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO],
    "agent_configs": [{"name": "nop", "timeout_seconds": -1}, {"name": "nop", "timeout_seconds": 0}, {"name": "nop", "timeout_seconds": 1e12}],
    "orchestrator_config": {"n_attempts": -1, "n_concurrent_trials": 0, "timeout_multiplier": 0}})))]
#[case("not_a_number", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO], "agent_configs": [{"name": "nop", "timeout_seconds": "NaN"}]})))]
#[case("agents", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO],
    "agent_configs": [{"type": "external_api"}, {"name": " ", "agent_id": "x", "kwargs": {"command": " "}},
        {"name": "a", "agent_environment": {"environment_variables": {"A=B": "c"}, "secrets": {"": "d"}}}]})))]
#[tokio::test]
async fn a_wrong_job_is_400(#[case] name: &str, #[case] body: Value) {
    let desk = Desk::new().await;
    let answer = desk.post(PATH, body).await;
    insta::assert_snapshot!(format!("job_wrong_{name}"), answer.shape());
}

#[rstest]
#[case("stranger", json!({"name": "claude-code", "type": "job_agent"}))]
#[case("unknown_id", json!({"name": "x", "agent_id": "agt_01J00000000000000000000000"}))]
#[case("without_command", json!({"name": "solver"}))]
#[case("missing", json!({"name": "nop", "agent_environment": {"secrets": {"KEY": "NOT_THERE"}}}))]
#[tokio::test]
async fn an_agent_that_cannot_be_run_is_400(#[case] name: &str, #[case] config: Value) {
    let desk = Desk::new().await;
    let source = json!({"type": "npm", "npm": {"package_name": "solver"}});
    desk.post(
        "/v1/agents",
        json!({"name": "solver", "source": source, "version": "1.0.0"}),
    )
    .await;
    let mut body = parameters("needy");
    body["required_environment_variables"] = json!(["REGION"]);
    let scenario = create(&desk.server, body).await;
    let body = of_scenarios(&[&scenario], json!([config]), Value::Null);
    let answer = desk.post(PATH, body).await;
    insta::assert_snapshot!(format!("job_agent_{name}"), answer.shape());
    let listed = desk.server.read(PATH).await;
    assert_eq!(listed.body["jobs"], json!([]));
}

#[tokio::test]
async fn what_is_archived_or_empty_is_not_run() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let empty = desk.benchmark(&[]).await;
    let of = |id: &String| {
        spec(json!({"type": "benchmark", "benchmark_id": id, "agent_configs": [agent("nop")]}))
    };
    for path in [
        format!("/v1/scenarios/{scenario}/archive"),
        format!("/v1/benchmarks/{benchmark}/archive"),
    ] {
        desk.post(&path, Value::Null).await;
    }
    for (body, word) in [
        (of(&benchmark), "archived"),
        (of(&empty), "no scenarios"),
        (
            of_scenarios(&[&scenario], json!([agent("nop")]), Value::Null),
            "no active scenario",
        ),
    ] {
        let answer = desk.post(PATH, body).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.text("message").contains(word), "{}", answer.body);
    }
    let listed = desk.server.ask(Method::GET, PATH, Value::Null).await;
    assert_eq!(listed.body["total_count"], 0);
}
