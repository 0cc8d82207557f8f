//! What the logs of a job in real boxes say.

use proctor_testkit::{archive::unzipped, eventually_seen};
use reqwest::Method;
use serde_json::{Value, json};

use super::support::Boxes;
use crate::runloop::scenarios::{create, parameters};

/// The logs of a scenario run by their names without its id.
async fn logs(boxes: &Boxes, run: &str) -> Vec<(String, String)> {
    let path = format!("/v1/scenarios/runs/{run}/download_logs");
    let answer = boxes.server.own(Method::POST, &path).send().await.unwrap();
    let files = unzipped(answer.bytes().await.unwrap()).into_iter();
    let short = |name: String| name.rsplit_once('_').unwrap().1.to_owned();
    files.map(|(name, text)| (short(name), text)).collect()
}

/// A job with one agent and one scenario, when it is over.
async fn job(boxes: &Boxes, environment: Value, command: &str) -> Value {
    let mut body = parameters("fix");
    body["environment_parameters"] = environment;
    let scenario = create(&boxes.server, body).await;
    let agent = json!({"name": "mine", "kwargs": {"command": command}});
    let spec = json!({"type": "scenarios", "scenario_ids": [scenario], "agent_configs": [agent]});
    let made = boxes
        .post("/v1/benchmark_jobs", json!({"spec": spec}))
        .await;
    let path = format!("/v1/benchmark_jobs/{}", made["id"].as_str().unwrap());
    eventually_seen("the job is over", async || {
        let seen = boxes.get(&path).await;
        match seen["state"].as_str().unwrap() {
            "completed" | "failed" => Ok(seen),
            _ => Err(seen),
        }
    })
    .await
}

#[tokio::test]
async fn the_log_of_a_job_shows_what_was_asked_for() {
    let boxes = Boxes::start().await;
    let command = "printf '%s\\n' \"$PROCTOR_MODEL_NAME\" >&2; pwd";
    let environment = json!({"working_directory": "/tmp", "launch_parameters": {"launch_commands": ["echo ready"]}});
    let seen = job(&boxes, environment, command).await;
    let outcome = &seen["benchmark_outcomes"][0]["scenario_outcomes"][0];
    assert_eq!(outcome["state"], "COMPLETED", "{seen:#}");
    let logs = logs(&boxes, outcome["scenario_run_id"].as_str().unwrap()).await;
    let log = |name: &str| {
        let found = logs.iter().find(|(file, _)| file == name);
        found.unwrap().1.as_str()
    };
    let (setup, exec) = (log("setup.log"), log("exec.log"));
    assert!(exec.contains(&format!("$ {command}\n")), "{exec}");
    assert!(exec.contains(" /tmp\n"), "where it was to be run: {exec}");
    assert!(!exec.contains("export PROCTOR_"), "{exec}");
    let first = setup.lines().next().unwrap();
    assert!(
        first.ends_with("the devbox begins with the programs of its host"),
        "{setup}"
    );
    assert!(setup.contains("$ echo ready\n"), "{setup}");
    assert!(!setup.contains("not as asked for"), "{setup}");
    boxes.end().await;
}

#[tokio::test]
async fn a_launch_command_that_fails_is_a_set_up_error_that_says_so() {
    let boxes = Boxes::start().await;
    let commands = json!(["echo no network >&2; exit 7"]);
    let environment = json!({"launch_parameters": {"launch_commands": commands}});
    let seen = job(&boxes, environment, "true").await;
    assert_eq!(seen["state"], "failed", "{seen:#}");
    let outcome = &seen["benchmark_outcomes"][0]["scenario_outcomes"][0];
    let failure = &outcome["failure_reason"];
    assert_eq!(failure["exception_type"], "SetupError", "{outcome:#}");
    let message = failure["exception_message"].as_str().unwrap();
    assert!(message.contains("ended with status 7"), "{message}");
    assert!(outcome.get("scenario_run_id").is_none());
    boxes.end().await;
}
