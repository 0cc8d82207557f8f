//! Our own numbers of jobs in real boxes: an agent gains nothing by failing on purpose, and nothing by being tried again.

use proctor_testkit::{
    eventually_seen,
    server::{Caller, Server, authoring::forty_two},
};
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
  harm) echo 41 > answer.txt; exit 1 ;;
  dawdle) echo 41 > answer.txt; sleep 600 ;;
  wait) sleep SECONDS ;;
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
    let job = begun(caller, scenarios, retries, 60, AGENT).await;
    finished(caller, &job).await
}

/// Begins a job, and returns its id.
async fn begun(
    caller: &Caller,
    scenarios: &[String],
    retries: u32,
    seconds: u32,
    command: &str,
) -> String {
    let agent = json!({"name": "mine", "type": "job_agent", "timeout_seconds": seconds, "kwargs": {"command": command}});
    let body = json!({"spec": {"type": "scenarios", "scenario_ids": scenarios, "agent_configs": [agent],
        "orchestrator_config": {"n_concurrent_trials": 3, "n_attempts": retries}}});
    let job = caller.post("/v1/benchmark_jobs", body).await;
    job["id"].as_str().unwrap().to_owned()
}

async fn finished(caller: &Caller, job: &str) -> (Value, Value) {
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

/// The process whose program and only argument are these, and its parent, if it runs.
fn process(program: &str, argument: &str) -> Option<(u32, u32)> {
    let wanted = format!("{program}\0{argument}\0");
    let processes = fs_err::read_dir("/proc").unwrap();
    processes.flatten().find_map(|entry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs_err::read_to_string(entry.path().join("cmdline")).ok()?;
        (line == wanted).then_some(())?;
        Some((id, parent(id)?))
    })
}

fn parent(id: u32) -> Option<u32> {
    let status = fs_err::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("PPid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[tokio::test]
async fn a_box_that_breaks_under_its_agent_is_void() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, data.path());
    let caller = server.caller();
    let scenarios = [
        scenario(caller, "wait").await,
        scenario(caller, "solve").await,
    ];
    // Nobody else on this machine sleeps so long.
    let seconds = format!("{}.5", 100_000 + std::process::id());
    let command = AGENT.replace("SECONDS", &seconds);
    let job = begun(caller, &scenarios, 0, 600, &command).await;
    let (_, shell) = eventually_seen("the agent works", async || {
        process("sleep", &seconds).ok_or("it does not sleep yet")
    })
    .await;
    let supervisor = parent(shell).unwrap();
    let killed = std::process::Command::new("kill")
        .args(["-9", &supervisor.to_string()])
        .status();
    assert!(killed.unwrap().success());
    let (_, results) = finished(caller, &job).await;
    let agent = &results["agents"][0];
    assert_eq!(
        agent["attempts"][0]["cause"], "infrastructure",
        "{results:#}"
    );
    assert_eq!(agent["summary"]["void"], 1, "{results:#}");
    assert_eq!(agent["summary"]["score"], 1.0, "{results:#}");
}

#[tokio::test]
async fn an_agent_cannot_hide_harm_by_crashing_or_by_taking_too_long() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, data.path());
    let caller = server.caller();
    let mut scenarios = Vec::new();
    for name in ["harm", "dawdle"] {
        let mut body = forty_two(name);
        body["input_context"]["problem_statement"] = json!(name);
        body["metadata"] = json!({"proctor.critical": "answer"});
        scenarios.push(caller.make("/v1/scenarios", body).await);
    }
    let job = begun(caller, &scenarios, 0, 5, AGENT).await;
    let (told, results) = finished(caller, &job).await;
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    for (attempt, cause) in attempts.iter().zip(["agent_crash", "agent_timeout"]) {
        assert_eq!(attempt["cause"], cause, "{results:#}");
        assert_eq!(attempt["score"], 0.0, "{results:#}");
        assert_eq!(attempt["verdict"], "fail", "{results:#}");
        assert_eq!(attempt["critical_misses"], json!(["answer"]), "{results:#}");
    }
    let run = told["benchmark_run_id"].as_str().unwrap();
    let policy = json!({"about": "tasks", "line": [{"kind": "never", "criteria": "critical"}]});
    let gate = caller
        .post("/gates", json!({"run": run, "policy": policy}))
        .await;
    assert_eq!(gate["verdict"], "FAIL", "{gate:#}");
}
