//! `kill -9` of the server while commands run in devboxes: the next one finds every devbox and every command again, and no
//! byte of output is lost or doubled.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};

const KEY: &str = "vk_chosen_for_this_test_0123456789";
/// How often the server is killed.
const KILLS: usize = 5;

struct Server {
    child: Child,
    url: String,
    client: Client,
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proctor"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PROCTOR_")) {
            command.env_remove(name);
        }
        let mut child = command
            .args([
                "serve",
                "--json",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "warn",
            ])
            .args(["--data".as_ref(), data.as_os_str()])
            .env("PROCTOR_BOOTSTRAP_KEY", KEY)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            url: ready["url"].as_str().unwrap().to_owned(),
            client: Client::new(),
        }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(KEY)
            .body(body.to_string());
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or(Value::Null))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(Method::POST, path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Asks again until the wait is over.
    async fn wait(&self, path: &str, statuses: &[&str]) -> Value {
        let body = json!({"statuses": statuses});
        loop {
            let (code, answer) = self.ask(Method::POST, path, body.clone()).await;
            match code {
                200 => return answer,
                408 => {}
                other => panic!("{other}: {answer}"),
            }
        }
    }

    async fn output(&self, execution: &str) -> String {
        let url = format!("{}{execution}/stream_stdout_updates", self.url);
        let stream = self.client.get(url).bearer_auth(KEY).send().await.unwrap();
        let text = stream.text().await.unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| {
                let event: Value = serde_json::from_str(data).unwrap();
                event["output"].as_str().unwrap().to_owned()
            })
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn commands_go_on_while_the_server_is_killed_and_nothing_they_write_is_lost() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::start(data.path());
    let mut executions = Vec::new();
    let mut devboxes = Vec::new();
    for _ in 0..3 {
        let made = server.post("/v1/devboxes", json!({})).await;
        let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
        let view = server
            .wait(&format!("{path}/wait_for_status"), &["running", "failure"])
            .await;
        assert_eq!(view["status"], "running", "{view}");
        for shell in [Value::Null, json!("main"), json!("main")] {
            let command =
                "n=0; while [ ! -e stop ]; do n=$((n+1)); echo $n; sleep 0.01; done; echo last";
            let body = json!({"command": command, "shell_name": shell});
            let begun = server.post(&format!("{path}/execute_async"), body).await;
            executions.push(format!(
                "{path}/executions/{}",
                begun["execution_id"].as_str().unwrap()
            ));
        }
        devboxes.push(path);
    }
    for _ in 0..KILLS {
        server.kill();
        server = Server::start(data.path());
        for path in &devboxes {
            let (status, view) = server.ask(Method::GET, path, Value::Null).await;
            assert_eq!(
                (status, &view["status"]),
                (200, &json!("running")),
                "{view}"
            );
        }
        for execution in &executions {
            let (status, view) = server.ask(Method::GET, execution, Value::Null).await;
            assert_eq!(
                (status, &view["status"]),
                (200, &json!("running")),
                "{view}"
            );
        }
    }
    for path in &devboxes {
        server
            .post(&format!("{path}/execute"), json!({"command": "touch stop"}))
            .await;
    }
    for execution in &executions {
        let view = server
            .wait(&format!("{execution}/wait_for_status"), &["completed"])
            .await;
        assert_eq!(
            (&view["status"], &view["exit_status"]),
            (&json!("completed"), &json!(0))
        );
        let output = server.output(execution).await;
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
            .ask(Method::GET, &format!("{path}/logs"), Value::Null)
            .await;
        let ended = logs["logs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|log| log["exit_code"].is_i64());
        assert_eq!(ended.count(), 4, "each command ends once in the log");
        assert_eq!(
            server.post(&format!("{path}/shutdown"), json!({})).await["status"],
            "shutdown"
        );
    }
    let boxes = data.path().join("devboxes/local/boxes");
    while fs_err::read_dir(&boxes).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
}
