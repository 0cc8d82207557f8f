//! Benchmark jobs in real boxes: agents that solve, do nothing, fail and take too long; and jobs that go on after `kill -9` of
//! the server.

use std::time::Duration;

use proctor_testkit::{
    archive::unzipped,
    server::{Caller, KEY, Server, authoring::forty_two},
};
use serde_json::{Value, json};

use crate::{PROCTOR, leftovers::no_box_is_left};

/// How often the server is killed.
const KILLS: u32 = 4;

async fn logs(caller: &Caller, scenario_run: &str) -> Vec<(String, String)> {
    let url = caller.url(&format!("/v1/scenarios/runs/{scenario_run}/download_logs"));
    let request = reqwest::Client::new().post(url).bearer_auth(KEY);
    unzipped(request.send().await.unwrap().bytes().await.unwrap())
}

fn agent(name: &str, command: &str) -> Value {
    json!({"name": name, "type": "job_agent", "model_name": "m-1", "kwargs": {"command": command}})
}

#[tokio::test]
async fn agents_take_scenarios_in_boxes_of_their_own() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, data.path());
    server
        .caller()
        .post(
            "/v1/secrets",
            json!({"name": "TOKEN", "value": "hush-hush-hush"}),
        )
        .await;
    let scenario = server
        .caller()
        .make("/v1/scenarios", forty_two("forty-two"))
        .await;
    let mut solver = agent(
        "solver",
        "cat \"$PROCTOR_PROBLEM_FILE\"\necho \"as $PROCTOR_MODEL_NAME with $KEY in $(pwd)\"\necho 42 > answer.txt",
    );
    solver["agent_environment"] = json!({"secrets": {"KEY": "TOKEN"}});
    let mut slow = agent("slow", "touch slow; sleep 1000 & sleep 1000");
    slow["timeout_seconds"] = json!(1);
    let broken = agent("broken", "echo oh no >&2; exit 3");
    let builtin = |name: &str| json!({"name": name, "type": "job_agent"});
    let body = json!({"name": "all sorts", "spec": {"type": "scenarios", "scenario_ids": [scenario],
        "agent_configs": [builtin("oracle"), builtin("nop"), solver, slow, broken],
        "orchestrator_config": {"n_concurrent_trials": 3}}});
    let job = server.caller().post("/v1/benchmark_jobs", body).await;
    let seen = server
        .caller()
        .finished_job(job["id"].as_str().unwrap())
        .await;
    assert_eq!(seen["state"], "completed", "{seen:#}");
    let outcomes = seen["benchmark_outcomes"].as_array().unwrap();
    let told: Vec<(&str, &str, &Value)> = outcomes
        .iter()
        .map(|outcome| {
            let scenario = &outcome["scenario_outcomes"][0];
            (
                outcome["agent_name"].as_str().unwrap(),
                scenario["state"].as_str().unwrap(),
                &outcome["average_score"],
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("oracle", "COMPLETED", &json!(1.0)),
            ("nop", "COMPLETED", &json!(0.0)),
            ("solver", "COMPLETED", &json!(1.0)),
            ("slow", "TIMEOUT", &Value::Null),
            ("broken", "FAILED", &Value::Null),
        ],
        "{seen:#}"
    );
    let reason = &outcomes[4]["scenario_outcomes"][0]["failure_reason"];
    assert_eq!(
        reason["exception_message"],
        "the agent ended with status 3: oh no"
    );
    let run = outcomes[2]["scenario_outcomes"][0]["scenario_run_id"]
        .as_str()
        .unwrap();
    let logs = logs(server.caller(), run).await;
    let (name, printed) = &logs[2];
    assert_eq!(name, &format!("{run}_agent.log"));
    assert!(
        printed.starts_with("Write 42 into answer.txt.") && printed.contains("as m-1 with ***"),
        "{printed}"
    );
    for (name, text) in &logs {
        assert!(!text.contains("hush-hush"), "{name}: {text}");
    }
    no_box_is_left(data.path()).await;
}

#[tokio::test]
async fn canceling_a_job_leaves_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, data.path());
    let scenario = server
        .caller()
        .make("/v1/scenarios", forty_two("forty-two"))
        .await;
    let body = json!({"spec": {"type": "scenarios", "scenario_ids": [scenario],
        "agent_configs": [agent("one", "sleep 1000"), agent("two", "sleep 1000")],
        "orchestrator_config": {"n_concurrent_trials": 2}}});
    let job = server.caller().post("/v1/benchmark_jobs", body).await;
    let path = format!("/v1/benchmark_jobs/{}", job["id"].as_str().unwrap());
    // Both are in progress.
    let both = |runs: &Value| runs["runs"].as_array().unwrap().len() == 2;
    let running = "/v1/scenarios/runs?state=running";
    server.caller().poll(running, both).await;
    let cancelled = server
        .caller()
        .post(&format!("{path}/cancel"), Value::Null)
        .await;
    assert_eq!(cancelled["state"], "cancelled");
    assert_eq!(
        cancelled["benchmark_outcomes"][1]["scenario_outcomes"][0]["state"],
        "CANCELED"
    );
    no_box_is_left(data.path()).await;
}

#[tokio::test]
async fn a_job_goes_on_after_kill_9_and_nothing_is_done_twice() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::on(PROCTOR, data.path());
    let mut scenarios = Vec::new();
    for number in 0..8 {
        let body = forty_two(&format!("scenario {number}"));
        scenarios.push(server.caller().make("/v1/scenarios", body).await);
    }
    // What ran twice in one box would have two lines.
    let command =
        "echo begun >> begun.txt; sleep 0.7; test $(wc -l < begun.txt) = 1 && echo 42 > answer.txt";
    let oracle = json!({"name": "oracle", "type": "job_agent"});
    let body = json!({"spec": {"type": "scenarios", "scenario_ids": scenarios,
        "agent_configs": [oracle, agent("patient", command)], "orchestrator_config": {"n_concurrent_trials": 3}}});
    let job = server.caller().post("/v1/benchmark_jobs", body).await;
    let job = job["id"].as_str().unwrap().to_owned();
    let mut finished: Vec<Value> = Vec::new();
    for kill in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(150 + u64::from(kill) * 310)).await;
        let seen = server
            .caller()
            .get(&format!("/v1/benchmark_jobs/{job}"))
            .await;
        finished.extend(seen["benchmark_outcomes"].as_array().unwrap().clone());
        server.kill();
        server = Server::on(PROCTOR, data.path());
    }
    let seen = server.caller().finished_job(&job).await;
    assert_eq!(seen["state"], "completed", "{seen:#}");
    let outcomes = seen["benchmark_outcomes"].as_array().unwrap();
    for outcome in outcomes {
        assert_eq!(
            (&outcome["n_completed"], &outcome["average_score"]),
            (&json!(8), &json!(1.0)),
            "{seen:#}"
        );
        let run = outcome["benchmark_run_id"].as_str().unwrap();
        let runs = server
            .caller()
            .get(&format!("/v1/benchmark_runs/{run}/scenario_runs?limit=100"))
            .await;
        let completed = runs["runs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|run| run["state"] == "completed");
        assert_eq!(completed.count(), 8, "each scenario was finished once");
    }
    for outcome in &finished {
        assert!(
            outcomes.contains(outcome),
            "what was finished stays: {outcome:#}"
        );
    }
    no_box_is_left(data.path()).await;
}

#[tokio::test]
async fn rounds_go_on_after_kill_9_and_stop_by_themselves() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::on(PROCTOR, data.path());
    let mut scenarios = Vec::new();
    for number in 0..3 {
        let body = forty_two(&format!("scenario {number}"));
        scenarios.push(server.caller().make("/v1/scenarios", body).await);
    }
    let command =
        "echo begun >> begun.txt; sleep 0.3; test $(wc -l < begun.txt) = 1 && echo 42 > answer.txt";
    let body = json!({"spec": {"type": "scenarios", "scenario_ids": scenarios,
        "agent_configs": [agent("main", command), agent("branch", command)], "orchestrator_config": {"n_concurrent_trials": 3}},
        "rounds": 4, "policy": {"about": "suite", "line": [{"kind": "change", "at": -0.8}]}});
    let job = server.caller().post("/v1/benchmark_jobs", body).await;
    let job = job["id"].as_str().unwrap().to_owned();
    let results = format!("/v1/benchmark_jobs/{job}/results");
    for kill in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(200 + u64::from(kill) * 330)).await;
        server.kill();
        server = Server::on(PROCTOR, data.path());
        let planned = &server.caller().get(&results).await["rounds"];
        assert_eq!(planned["planned"], 4, "the plan was there before");
    }
    let seen = server.caller().finished_job(&job).await;
    assert_eq!(seen["state"], "completed", "{seen:#}");
    let rounds = server.caller().get(&results).await["rounds"].clone();
    assert_eq!(
        (&rounds["stopped_after"], &rounds["attempts_saved"]),
        (&json!(3), &json!(6)),
        "{rounds:#}"
    );
    let outcomes = seen["benchmark_outcomes"].as_array().unwrap();
    assert_eq!(outcomes.len(), 6);
    for outcome in outcomes {
        assert_eq!(
            (&outcome["n_completed"], &outcome["average_score"]),
            (&json!(3), &json!(1.0)),
            "{seen:#}"
        );
    }
    let gates = server.caller().get("/gates").await;
    assert_eq!(
        gates["data"].as_array().unwrap().len(),
        1,
        "decided once: {gates:#}"
    );
    no_box_is_left(data.path()).await;
}
