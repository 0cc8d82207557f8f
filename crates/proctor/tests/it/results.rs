//! Our own numbers of jobs in real boxes: an agent gains nothing by failing on purpose, and nothing by being tried again.

use proctor_testkit::server::{Caller, Server, authoring::forty_two};
use serde_json::{Value, json};

use crate::PROCTOR;

/// What the agent does with each scenario, by its name.
const AGENT: &str = r#"
case "$(cat "$PROCTOR_PROBLEM_FILE")" in
  solve) echo 42 > answer.txt ;;
  miss) echo 41 > answer.txt ;;
  crash) echo 42 > answer.txt; exit 1 ;;
  hang) mkfifo answer.txt ;;
  hog) echo 42 > answer.txt; head -c 1500M /dev/zero | tail | wc -c > size; test "$(cat size)" != 0 ;;
  crowd) (while :; do sleep 1000 & done) > /dev/null 2>&1; exit 0 ;;
  fill) head -c 100G /dev/zero > full 2> /dev/null; exit 0 ;;
  retry) test -e /tmp/never || { echo 42 > answer.txt; exit 1; } ;;
esac
"#;

/// Makes a scenario whose problem is its name, and returns its id.
async fn scenario(caller: &Caller, name: &str) -> String {
    let mut body = forty_two(name);
    body["input_context"]["problem_statement"] = json!(name);
    body["environment_parameters"] =
        json!({"launch_parameters": {"resource_size_request": "X_SMALL"}});
    body["scorer_timeout_sec"] = json!(3);
    caller.make("/v1/scenarios", body).await
}

/// What came of a job: as the contract has it, and by our own rule.
async fn outcome(caller: &Caller, scenarios: &[String], retries: u32) -> (Value, Value) {
    let agent = json!({"name": "mine", "type": "job_agent", "timeout_seconds": 60, "kwargs": {"command": AGENT}});
    let body = json!({"spec": {"type": "scenarios", "scenario_ids": scenarios, "agent_configs": [agent],
        "orchestrator_config": {"n_concurrent_trials": 3, "n_attempts": retries}}});
    let job = caller.post("/v1/benchmark_jobs", body).await;
    let job = job["id"].as_str().unwrap();
    let seen = caller.finished_job(job).await;
    assert_eq!(seen["state"], "completed", "{seen:#}");
    let path = format!("/v1/benchmark_jobs/{job}/results");
    (
        seen["benchmark_outcomes"][0].clone(),
        caller.get(&path).await,
    )
}

#[tokio::test]
async fn failing_on_purpose_and_being_tried_again_gain_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, data.path());
    let caller = server.caller();
    let mut scenarios = Vec::new();
    for name in ["solve", "miss", "crash", "hang", "hog", "crowd", "fill"] {
        scenarios.push(scenario(caller, name).await);
    }
    let (told, results) = outcome(caller, &scenarios, 0).await;
    let completed = told["n_completed"].as_f64().unwrap();
    assert_eq!(
        told["average_score"],
        1.0 / completed,
        "over what was completed, as the contract says: {told:#}"
    );
    assert!(completed < 7.0);
    let agent = &results["agents"][0];
    let attempts = agent["attempts"].as_array().unwrap();
    let causes: Vec<&Value> = attempts.iter().map(|attempt| &attempt["cause"]).collect();
    let (none, crash, slow) = (Value::Null, json!("agent_crash"), json!("agent_timeout"));
    assert_eq!(
        causes[..5],
        [&none, &none, &crash, &slow, &crash],
        "{results:#}"
    );
    let summary = &agent["summary"];
    assert_eq!(summary["score"], 1.0 / 7.0, "{results:#}");
    assert_eq!(
        summary["void"], 0,
        "all of this is the agent's: {results:#}"
    );
    assert_eq!(
        (&summary["worst"], &summary["best"]),
        (&summary["score"], &summary["score"])
    );

    let again = [scenarios[0].clone(), scenario(caller, "retry").await];
    let (_, results) = outcome(caller, &again, 2).await;
    let agent = &results["agents"][0];
    assert_eq!(agent["attempts"][1]["tries"], 3);
    assert_eq!(agent["summary"]["score"], 0.5, "{results:#}");
}
