//! The server dies between doing a request and keeping its answer: whoever repeats the request finds what was done.

use std::path::Path;

use proctor_testkit::server::{Caller, Server};
use reqwest::Method;
use serde_json::{Value, json};

use super::{mortal::Mortal, scenario};
use crate::PROCTOR;

/// Where a request was done and nobody knows its answer.
const FAULT: &str = "request.done";

/// How many there are in a list.
async fn total(caller: &Caller, list: &str) -> i64 {
    let listed = caller.get(&format!("{list}?limit=1")).await;
    listed["total_count"]
        .as_i64()
        .unwrap_or_else(|| panic!("{list}: {listed}"))
}

/// Asks a server that dies over it, and repeats the request: what it answers.
async fn repeated(data: &Path, path: &str, body: &Value) -> Value {
    let mut mortal = Mortal::start(data, [FAULT.to_owned()]);
    let answer = mortal.post(path, body.clone()).await;
    assert_eq!(mortal.deaths, 1, "{path}: the server did not die");
    answer
}

/// Makes something over the death of a server; there is one more of it then, and it is what was answered.
async fn made_once(data: &Path, path: &str, list: &str, body: Value) -> String {
    let before = total(Server::on(PROCTOR, data).caller(), list).await;
    let made = repeated(data, path, &body).await;
    let server = Server::on(PROCTOR, data);
    assert_eq!(total(server.caller(), list).await, before + 1, "{path}");
    let newest = server.caller().get(&format!("{list}?limit=1")).await;
    let id = made["id"].as_str().unwrap();
    assert!(
        newest.to_string().contains(id),
        "{path}: {newest} has no {id}"
    );
    id.to_owned()
}

#[tokio::test]
async fn what_is_written_down_is_made_once() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let scenario = {
        let server = Server::on(PROCTOR, data);
        scenario::make(server.caller()).await
    };
    let contract = json!({"scoring_function_parameters": [{"name": "s", "weight": 1,
        "scorer": {"type": "command_scorer", "command": "true"}}]});
    for (path, body) in [
        (
            "/v1/scenarios",
            json!({"name": "once", "input_context": {"problem_statement": "p"}, "scoring_contract": contract}),
        ),
        (
            "/v1/benchmarks",
            json!({"name": "once", "scenario_ids": [scenario]}),
        ),
        (
            "/v1/scenarios/scorers",
            json!({"type": "once", "bash_script": "echo score=1"}),
        ),
        ("/v1/secrets", json!({"name": "ONCE", "value": "v"})),
        ("/v1/agents", json!({"name": "once", "version": "1"})),
        (
            "/v1/network-policies",
            json!({"name": "once", "allow_all": false}),
        ),
        (
            "/v1/blueprints",
            json!({"name": "once", "dockerfile": "FROM host"}),
        ),
    ] {
        made_once(data, path, path, body).await;
    }
    let body = json!({"name": "all", "scenario_ids": [scenario]});
    let benchmark = made_once(data, "/v1/benchmarks", "/v1/benchmarks", body).await;
    let body = json!({"benchmark_id": benchmark});
    made_once(data, "/v1/benchmarks/start_run", "/v1/benchmark_runs", body).await;

    let body = json!({"name": "once", "content_type": "text"});
    let object = made_once(data, "/v1/objects", "/v1/objects", body).await;
    let server = Server::on(PROCTOR, data);
    let body = json!({"name": "full", "content_type": "text"});
    let full = server.caller().post("/v1/objects", body).await;
    let put = reqwest::Client::new().put(full["upload_url"].as_str().unwrap());
    assert!(put.body("text").send().await.unwrap().status().is_success());
    drop(server);
    assert_ne!(full["id"], object);
    let path = format!("/v1/objects/{}/complete", full["id"].as_str().unwrap());
    let completed = repeated(data, &path, &Value::Null).await;
    assert_eq!(completed["state"], "READ_ONLY", "{completed}");
}

#[tokio::test]
async fn boxes_commands_and_snapshots_are_made_once() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let scenario = {
        let server = Server::on(PROCTOR, data);
        scenario::make(server.caller()).await
    };
    let devbox = made_once(data, "/v1/devboxes", "/v1/devboxes", json!({})).await;
    let path = format!("/v1/devboxes/{devbox}");
    let running = async |server: &Server| {
        let wait = format!("{path}/wait_for_status");
        let seen = server.caller().wait(&wait, &["running", "failure"]).await;
        assert_eq!(seen["status"], "running", "{seen}");
    };
    running(&Server::on(PROCTOR, data)).await;
    for shell in [Value::Null, json!("main")] {
        let body = json!({"command": "echo ran >> times", "shell_name": shell});
        repeated(data, &format!("{path}/execute_async"), &body).await;
        repeated(data, &format!("{path}/execute"), &body).await;
    }
    let server = Server::on(PROCTOR, data);
    let body = json!({"command": "cat times", "shell_name": "main"});
    let times = server
        .caller()
        .post(&format!("{path}/execute_sync"), body)
        .await;
    assert_eq!(times["stdout"], "ran\n".repeat(4), "{times}");
    let body = json!({"command": "cat > input", "attach_stdin": true});
    let reading = server
        .caller()
        .post(&format!("{path}/execute_async"), body)
        .await;
    drop(server);

    // Whether input arrived cannot be seen, and it must not arrive twice.
    let execution = reading["execution_id"].as_str().unwrap();
    let send = format!("{path}/executions/{execution}/send_std_in");
    let mut mortal = Mortal::start(data, [FAULT.to_owned()]);
    let (status, answer) = mortal
        .ask(Method::POST, &send, json!({"text": "line\n"}))
        .await;
    assert_eq!((status, mortal.deaths), (409, 1), "{answer}");
    drop(mortal);

    for (number, action) in ["snapshot_disk", "snapshot_disk_async"].iter().enumerate() {
        let mut mortal = Mortal::start(data, [FAULT.to_owned()]);
        let taken = mortal.post(&format!("{path}/{action}"), json!({})).await;
        let status = format!(
            "/v1/devboxes/disk_snapshots/{}/status",
            taken["id"].as_str().unwrap()
        );
        mortal
            .wait(&status, |snapshot| snapshot["status"] == "complete")
            .await;
        let all = mortal.get("/v1/devboxes/disk_snapshots").await;
        assert_eq!(
            all["snapshots"].as_array().unwrap().len(),
            number + 1,
            "{all}"
        );
        assert_eq!(mortal.deaths, 1);
    }
    let body = json!({"scenario_id": scenario});
    let run = made_once(data, "/v1/scenarios/start_run", "/v1/scenarios/runs", body).await;
    let agents = json!([{"name": "nop", "type": "job_agent"}]);
    let body =
        json!({"spec": {"type": "scenarios", "scenario_ids": [scenario], "agent_configs": agents}});
    made_once(data, "/v1/benchmark_jobs", "/v1/benchmark_jobs", body).await;

    let server = Server::on(PROCTOR, data);
    let input = json!({"command": "cat input"});
    let input = server
        .caller()
        .post(&format!("{path}/execute_sync"), input)
        .await;
    assert_eq!(input["stdout"], "line\n", "{input}");
    let cancel = format!("/v1/scenarios/runs/{run}/cancel");
    server.caller().post(&cancel, Value::Null).await;
    server
        .caller()
        .post(&format!("{path}/shutdown"), Value::Null)
        .await;
    let mut mortal = Mortal::adopt(data, server);
    mortal
        .wait("/v1/benchmark_jobs", |jobs| {
            jobs["jobs"][0]["state"] == "completed"
        })
        .await;
    mortal.leaves_nothing().await;
}
