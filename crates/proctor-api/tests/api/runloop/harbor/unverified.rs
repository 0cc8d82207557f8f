//! Trials that are not verified, and trials that are verified again.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Files, Harbor, outcomes, reward};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_verifier_trials_end_without_a_reward_and_count_nowhere() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    let agents = json!([
        {"name": "oracle"},
        {"name": "failing", "kwargs": {"command": "exit 3"}},
        {"name": "kept", "kwargs": {"command": "echo kept > /logs/artifacts/kept.txt"}},
    ]);
    let yaml = format!(
        "verifier: {{disable: true}}\nagents: {agents}\ntasks: [{{path: 'tasks:own/plain'}}]\n"
    );
    let job = harbor.job(&yaml).await;
    assert_eq!(job["state"], "completed", "{job:#}");
    let all = outcomes(&job);
    let states: Vec<&str> = all.iter().filter_map(|one| one["state"].as_str()).collect();
    assert_eq!(states, ["COMPLETED", "FAILED", "COMPLETED"], "{job:#}");
    assert!(all.iter().all(|one| one["score"].is_null()), "{job:#}");
    assert_eq!(reward(&all[1]), Err("NonZeroAgentExitCodeError".to_owned()));
    let results = harbor.results(&job).await;
    let told = results["warnings"].to_string();
    assert!(told.contains("verifier.disable"), "{told}");
    for (agent, void, faults) in [(0, 1, 0), (1, 0, 1), (2, 1, 0)] {
        let agent = &results["agents"][agent];
        assert_eq!(agent["summary"]["void"], void, "{agent:#}");
        assert_eq!(agent["summary"]["agent_faults"], faults, "{agent:#}");
    }
    let oracle = &results["agents"][0];
    assert_eq!(oracle["attempts"][0]["cause"], "cancelled");
    assert_eq!(oracle["summary"]["score"], Value::Null, "never 0");
    let exported = harbor.exported(&job).await;
    let has = |end: &str| exported.iter().any(|(path, _)| path.ends_with(end));
    assert!(has("kept.txt"));
    assert!(!has("verifier/reward.txt"));
    harbor.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_keeps_the_disks_of_its_trials_if_there_is_room() {
    let Some(harbor) = Harbor::start().await else {
        return;
    };
    harbor.task("plain", &Files::plain());
    // More trials than disks are kept.
    let many = "n_attempts: 400\nmetadata: {proctor_keep_disks: true}\ntasks: [{path: 'tasks:own/plain'}]\n";
    let refused = harbor.refused(many).await;
    assert!(
        refused.contains("400 disks would have to be kept"),
        "{refused}"
    );
    for mode in ["sealed", "clone", "strict"] {
        let yaml = format!(
            "metadata: {{proctor_keep_disks: true, proctor_verifier: {mode}}}\nagents: [{{name: oracle}}, {{name: nop}}]\ntasks: [{{path: 'tasks:own/plain'}}]\n"
        );
        let job = harbor.job(&yaml).await;
        for (outcome, score) in outcomes(&job).iter().zip([1.0, 0.0]) {
            assert_eq!(reward(outcome), Ok(score), "{mode}: {job:#}");
            let id = outcome["scenario_run_id"].as_str().unwrap();
            let path = format!("/v1/scenarios/runs/{id}/rescore");
            let again = harbor.server.ask(Method::POST, &path, json!({})).await;
            assert_eq!(again.status, 200, "{mode}: {}", again.body);
            let told = again.body.to_string();
            let wanted = format!("\"score\":{score:?}");
            assert!(told.contains(&wanted), "{mode}: {told}");
        }
    }
    harbor.end().await;
}
