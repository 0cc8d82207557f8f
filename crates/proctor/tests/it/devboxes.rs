//! `kill -9` of the server while commands run in devboxes: the next one finds every devbox and every command again, and no
//! byte of output is lost or doubled. What a command writes can be read by its owner only, also for who has the disk.

use proctor_testkit::{
    server::{Caller, Server},
    traces,
};
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

#[tokio::test]
async fn a_secret_that_a_command_prints_is_in_its_answer_and_nowhere_on_disk() {
    const SECRET: &str = "never-on-this-disk-7351";
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::on(PROCTOR, data.path());
    let secret = json!({"name": "PASSWORD", "value": SECRET});
    server.caller().post("/v1/secrets", secret).await;
    let body = json!({"secrets": {"DB_PASS": "PASSWORD"}});
    let made = server.caller().post("/v1/devboxes", body).await;
    let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
    server
        .caller()
        .wait(&format!("{path}/wait_for_status"), &["running", "failure"])
        .await;
    let body = json!({"command": "echo \"to be read: $DB_PASS\"; echo \"$DB_PASS\" >&2"});
    let said = server.caller().post(&format!("{path}/execute"), body).await;
    assert_eq!(said["stdout"], format!("to be read: {SECRET}\n"), "{said}");
    assert_eq!(said["stderr"], format!("{SECRET}\n"), "{said}");
    let execution = format!(
        "{path}/executions/{}",
        said["execution_id"].as_str().unwrap()
    );
    let found = |text: &str| -> Vec<_> {
        let has_it = |path: &std::path::PathBuf| {
            let bytes = fs_err::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(text)
        };
        traces::files(data.path())
            .into_iter()
            .filter(has_it)
            .collect()
    };
    assert!(
        !found("to be read: ").is_empty(),
        "the log has the rest of the line"
    );
    assert_eq!(found(SECRET), Vec::<std::path::PathBuf>::new());

    server.kill();
    server = Server::on(PROCTOR, data.path());
    assert_eq!(
        output(server.caller(), &execution).await,
        format!("to be read: {SECRET}\n"),
        "the next server can read it too"
    );
    assert_eq!(found(SECRET), Vec::<std::path::PathBuf>::new());
    server
        .caller()
        .post(&format!("{path}/shutdown"), json!({}))
        .await;
    no_box_is_left(data.path()).await;
}
