//! A job: an agent that solves, one that does nothing, and one that fails and is tried again.

use std::sync::Arc;

use proctor_testkit::server::authoring::job_is_over;
use serde_json::{Value, json};

use super::{
    mortal::{Kills, Mortal, Template, at_every_point},
    scenario,
};

async fn life(mut mortal: Mortal, template: Arc<Template<String>>) -> usize {
    let builtin = |name: &str| json!({"name": name, "type": "job_agent"});
    let broken = json!({"name": "broken", "type": "job_agent", "kwargs": {"command": "exit 3"}});
    let body = json!({"name": "all sorts", "spec": {"type": "scenarios", "scenario_ids": [template.prepared],
        "agent_configs": [builtin("oracle"), builtin("nop"), broken],
        "orchestrator_config": {"n_concurrent_trials": 2, "n_attempts": 1}}});
    let job = mortal.post("/v1/benchmark_jobs", body).await;
    let path = format!("/v1/benchmark_jobs/{}", job["id"].as_str().unwrap());
    let job = mortal.wait(&path, job_is_over).await;
    assert_eq!(job["state"], "completed", "{job:#}");
    let jobs = mortal.get("/v1/benchmark_jobs").await;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs:#}");

    let outcomes = job["benchmark_outcomes"].as_array().unwrap();
    assert_eq!(outcomes.len(), 3, "{job:#}");
    for (outcome, (agent, state, score, tries)) in outcomes.iter().zip([
        ("oracle", "COMPLETED", json!(1.0), ("completed", 1)),
        ("nop", "COMPLETED", json!(0.0), ("completed", 1)),
        ("broken", "FAILED", Value::Null, ("failed", 2)),
    ]) {
        assert_eq!(outcome["agent_name"], agent, "{job:#}");
        let scenarios = outcome["scenario_outcomes"].as_array().unwrap();
        assert_eq!(scenarios.len(), 1, "{job:#}");
        assert_eq!(
            (scenarios[0]["state"].as_str(), &outcome["average_score"]),
            (Some(state), &score),
            "{job:#}"
        );
        // What went down with the server is tried again and does not count.
        let run = outcome["benchmark_run_id"].as_str().unwrap();
        let runs = mortal
            .get(&format!("/v1/benchmark_runs/{run}/scenario_runs"))
            .await;
        let runs = runs["runs"].as_array().unwrap();
        let of_state = |state: &str| runs.iter().filter(|run| run["state"] == state).count();
        assert_eq!(of_state(tries.0), tries.1, "{agent}: {runs:#?}");
        assert!(
            of_state(tries.0) + of_state("canceled") == runs.len(),
            "{agent}: {runs:#?}"
        );
        if agent == "oracle" {
            let run = scenarios[0]["scenario_run_id"].as_str().unwrap();
            let path = format!("/v1/scenarios/runs/{run}/rescore");
            let again = mortal.post(&path, json!({})).await;
            assert_eq!(
                again["scoring_contract_result"]["score"], score,
                "{again:#}"
            );
        }
    }
    let deaths = mortal.deaths;
    mortal.leaves_nothing().await;
    deaths
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_job_survives_kill_9_at_every_commit() {
    at_every_point(Kills::One, Template::new(scenario::make).await, life).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_job_survives_kill_9_at_every_commit_and_again_while_it_is_taken_up() {
    at_every_point(Kills::TwoInARow, Template::new(scenario::make).await, life).await;
}
