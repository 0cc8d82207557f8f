//! `kill -9` of the server while commands run in devboxes: the next one finds every devbox and every command again, and no
//! byte of output is lost or doubled.

use proctor_testkit::server::{Caller, Server};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{PROCTOR, leftovers::no_box_is_left};

/// How often the server is killed.
const KILLS: usize = 5;

/// All that a command has written.
async fn output(caller: &Caller, execution: &str) -> String {
    let events = format!("{execution}/stream_stdout_updates");
    let events = caller.text(&events).await;
    let data = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| {
        let event: Value = serde_json::from_str(data).unwrap();
        event["output"].as_str().unwrap().to_owned()
    })
    .collect()
}

#[tokio::test]
async fn commands_go_on_while_the_server_is_killed_and_nothing_they_write_is_lost() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::on(PROCTOR, data.path());
    let mut executions = Vec::new();
    let mut devboxes = Vec::new();
    for _ in 0..3 {
        let made = server.caller().post("/v1/devboxes", json!({})).await;
        let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
        let view = server
            .caller()
            .wait(&format!("{path}/wait_for_status"), &["running", "failure"])
            .await;
        assert_eq!(view["status"], "running", "{view}");
        for shell in [Value::Null, json!("main"), json!("main")] {
            let command =
                "n=0; while [ ! -e stop ]; do n=$((n+1)); echo $n; sleep 0.01; done; echo last";
            let body = json!({"command": command, "shell_name": shell});
            let begun = server
                .caller()
                .post(&format!("{path}/execute_async"), body)
                .await;
            executions.push(format!(
                "{path}/executions/{}",
                begun["execution_id"].as_str().unwrap()
            ));
        }
        devboxes.push(path);
    }
    for _ in 0..KILLS {
        server.kill();
        server = Server::on(PROCTOR, data.path());
        for path in &devboxes {
            let (status, view) = server.caller().ask(Method::GET, path, Value::Null).await;
            assert_eq!(
                (status, &view["status"]),
                (200, &json!("running")),
                "{view}"
            );
        }
        for execution in &executions {
            let (status, view) = server
                .caller()
                .ask(Method::GET, execution, Value::Null)
                .await;
            assert_eq!(
                (status, &view["status"]),
                (200, &json!("running")),
                "{view}"
            );
        }
    }
    for path in &devboxes {
        server
            .caller()
            .post(&format!("{path}/execute"), json!({"command": "touch stop"}))
            .await;
    }
    for execution in &executions {
        let view = server
            .caller()
            .wait(&format!("{execution}/wait_for_status"), &["completed"])
            .await;
        assert_eq!(
            (&view["status"], &view["exit_status"]),
            (&json!("completed"), &json!(0))
        );
        let output = output(server.caller(), execution).await;
        let mut lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.pop(), Some("last"), "{execution}");
        let numbers: Vec<usize> = lines.iter().map(|line| line.parse().unwrap()).collect();
        assert!(
            numbers.iter().copied().eq(1..=numbers.len()),
            "{execution}: {output}"
        );
    }
    for path in &devboxes {
        let (_, logs) = server
            .caller()
            .ask(Method::GET, &format!("{path}/logs"), Value::Null)
            .await;
        let ended = logs["logs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|log| log["exit_code"].is_i64());
        assert_eq!(ended.count(), 4, "each command ends once in the log");
        assert_eq!(
            server
                .caller()
                .post(&format!("{path}/shutdown"), json!({}))
                .await["status"],
            "shutdown"
        );
    }
    no_box_is_left(data.path()).await;
}
