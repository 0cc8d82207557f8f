//! A scenario run in a real box.

use std::sync::Arc;

use proctor_testkit::server::{Caller, authoring::forty_two};
use serde_json::{Value, json};

use super::mortal::{Kills, Mortal, Template, at_every_point};

/// Makes a scenario that is solved by 42 in a file, and returns its id.
pub(crate) async fn make(caller: &Caller) -> String {
    caller.make("/v1/scenarios", forty_two("forty-two")).await
}

/// Whether there is nothing more to wait for.
fn is_settled(devbox: &Value) -> bool {
    matches!(
        devbox["status"].as_str(),
        Some("running" | "failure" | "shutdown")
    )
}

async fn life(mut mortal: Mortal, template: Arc<Template<String>>) -> usize {
    let body = json!({"scenario_id": template.prepared});
    let run = mortal.post("/v1/scenarios/start_run", body).await;
    let path = format!("/v1/scenarios/runs/{}", run["id"].as_str().unwrap());
    let devbox = format!("/v1/devboxes/{}", run["devbox_id"].as_str().unwrap());
    let ready = mortal.wait(&devbox, is_settled).await;
    assert_eq!(ready["status"], "running", "{ready:#}");
    // What ran twice would have written two lines.
    let body = json!({"command": "echo 42 >> answer.txt"});
    let done = mortal.post(&format!("{devbox}/execute_sync"), body).await;
    assert_eq!(done["exit_status"], 0, "{done:#}");
    mortal.post(&format!("{path}/score"), Value::Null).await;
    let scored = mortal.wait(&path, |run| run["state"] != "scoring").await;
    assert_eq!(scored["state"], "scored", "{scored:#}");
    let completed = mortal.post(&format!("{path}/complete"), Value::Null).await;
    assert_eq!(completed["state"], "completed", "{completed:#}");
    let score = &completed["scoring_contract_result"]["score"];
    assert_eq!(score, &json!(1.0), "{completed:#}");

    let again = mortal.post(&format!("{path}/rescore"), json!({})).await;
    assert_eq!(
        &again["scoring_contract_result"]["score"], score,
        "{again:#}"
    );
    let runs = mortal.get("/v1/scenarios/runs").await;
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs:#}");
    let deaths = mortal.deaths;
    mortal.leaves_nothing().await;
    deaths
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_scenario_run_survives_kill_9_at_every_commit() {
    at_every_point(Kills::One, Template::new(make).await, life).await;
}
