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
    let agent = json!({"name": "mine", "kwargs": {"command": command}});
    job_of(boxes, environment, agent).await
}

/// The same with this agent.
async fn job_of(boxes: &Boxes, environment: Value, agent: Value) -> Value {
    let mut body = parameters("fix");
    body["environment_parameters"] = environment;
    let scenario = create(&boxes.server, body).await;
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

/// What is said about a job that failed because its one scenario could not be set up.
fn not_set_up(seen: &Value) -> &str {
    assert_eq!(seen["state"], "failed", "{seen:#}");
    let outcome = &seen["benchmark_outcomes"][0]["scenario_outcomes"][0];
    let failure = &outcome["failure_reason"];
    assert_eq!(failure["exception_type"], "SetupError", "{outcome:#}");
    assert!(outcome.get("scenario_run_id").is_none());
    let message = failure["exception_message"].as_str().unwrap();
    let whole = format!("no scenario could be set up; fix: {message}");
    assert_eq!(seen["failure_reason"], whole);
    message
}

#[tokio::test]
async fn a_working_directory_that_does_not_exist_is_a_set_up_error() {
    let boxes = Boxes::start().await;
    let missing = json!({"working_directory": "/no/such/dir"});
    let seen = job(&boxes, missing, "true").await;
    assert_eq!(
        not_set_up(&seen),
        "the working directory '/no/such/dir' does not exist"
    );
    // The launch commands may make it.
    let commands = json!({"launch_commands": ["mkdir made"]});
    let made = json!({"working_directory": "made", "launch_parameters": commands});
    let seen = job(&boxes, made, "true").await;
    assert_eq!(seen["state"], "completed", "{seen:#}");
    boxes.end().await;
}

#[tokio::test]
async fn a_launch_command_that_fails_without_a_word_is_told_without_one() {
    let boxes = Boxes::start().await;
    let environment = json!({"launch_parameters": {"launch_commands": ["exit 7"]}});
    let seen = job(&boxes, environment, "true").await;
    assert_eq!(
        not_set_up(&seen),
        "the launch command 'exit 7' ended with status 7"
    );
    boxes.end().await;
}

#[tokio::test]
async fn a_mount_that_cannot_be_put_into_the_box_is_a_set_up_error_that_says_why() {
    let boxes = Boxes::start().await;
    // Nothing of this network may be fetched, which only fetching tells.
    let source = json!({"type": "git", "git": {"repository": "https://127.0.0.1/a.git"}});
    boxes
        .post("/v1/agents", json!({"name": "mine", "source": source}))
        .await;
    let seen = job(&boxes, Value::Null, "true").await;
    let message = not_set_up(&seen);
    let begin = "a mount could not be put into the devbox: agent_mount agt_";
    assert!(message.starts_with(begin), "{message}");
    boxes.end().await;
}

#[tokio::test]
async fn the_object_of_an_agent_must_be_there_when_a_job_or_a_devbox_names_it() {
    let boxes = Boxes::start().await;
    let object = json!({"name": "a.sh", "content_type": "text"});
    let object = boxes.post("/v1/objects", object).await;
    let object = object["id"].as_str().unwrap();
    let source = json!({"type": "object", "object": {"object_id": object}});
    let agent = json!({"name": "mine", "source": source});
    let agent = boxes.post("/v1/agents", agent).await;
    let mount =
        json!({"type": "agent_mount", "agent_id": agent["id"], "agent_path": "/home/user/agent"});
    let devbox = json!({"mounts": [mount]});
    let mut scenario = parameters("fix");
    scenario["environment_parameters"] = Value::Null;
    let scenario = create(&boxes.server, scenario).await;
    let config = json!({"name": "mine", "kwargs": {"command": "true"}});
    let spec = json!({"type": "scenarios", "scenario_ids": [scenario], "agent_configs": [config]});
    let job = json!({"spec": spec});
    let deleted = format!("/v1/objects/{object}/delete");
    for part in ["cannot be mounted", "there is no object"] {
        for (path, body) in [("/v1/devboxes", &devbox), ("/v1/benchmark_jobs", &job)] {
            let (status, message) = boxes.refused(path, body.clone()).await;
            assert_eq!(status, 400, "{path}: {message}");
            assert!(message.contains("the agent 'mine'"), "{path}: {message}");
            assert!(message.contains(object), "{path}: {message}");
            // Once it is deleted, either is true of it.
            let is_told = message.contains(part) || message.contains("deleted");
            assert!(is_told, "{path}: {message}");
        }
        boxes.server.ask(Method::POST, &deleted, json!({})).await;
    }
    boxes.end().await;
}
