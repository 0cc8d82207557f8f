//! `kill -9` at any moment of a run: nothing acknowledged is lost, nothing counts twice, and the run
//! can be finished.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rand::{Rng as _, RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How often the server is killed.
const KILLS: u64 = 50;
const KEY: &str = "vk_chosen_for_this_test_0123456789";

struct Server {
    child: Child,
    url: String,
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
        }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to a request, unless the server died over it.
async fn ask(
    client: &Client,
    server: &str,
    key: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> Option<(u16, Value)> {
    let request = client
        .request(method, format!("{server}{path}"))
        .bearer_auth(key)
        .header("content-type", "application/json")
        .body(body.to_string());
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    let text = answer.text().await.ok()?;
    Some((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
}

async fn make(client: &Client, server: &str, path: &str, body: Value) -> String {
    let (status, made) = ask(client, server, KEY, Method::POST, path, &body)
        .await
        .unwrap();
    assert!(status < 300, "{path}: {made}");
    made["id"].as_str().unwrap_or_default().to_owned()
}

/// Publishes a benchmark of two tasks and returns a Solver's key.
async fn publish(client: &Client, server: &str) -> String {
    let environment = make(client, server, "/environments", json!({"name": "Ward"})).await;
    for body in [
        json!({"type": "Fhir", "name": "EHR"}),
        json!({"type": "Files", "name": "Drop"}),
    ] {
        let simulator = make(client, server, "/simulators", body).await;
        let path = format!("/environments/{environment}/simulators/{simulator}");
        make(client, server, &path, json!({})).await;
    }
    let body = json!({"name": "Ward", "environment_id": environment, "timeout": 600});
    let benchmark = make(client, server, "/benchmarks", body).await;
    for name in ["First", "Second"] {
        let scenario =
            json!([{"type": "drop_file_inbox", "path": "note.txt", "content": "Register them."}]);
        let body = json!({"benchmark_id": benchmark, "name": name, "scenario": scenario});
        let task = make(client, server, "/tasks", body).await;
        for number in 0..4 {
            let assertion = json!({"assert": "fhir-resource-state", "resource_type": "Patient",
                "search": {"_id": format!("p{number}")}});
            let body = json!({"task_id": task, "label": format!("Patient {number}"), "assertion": assertion});
            make(client, server, "/criteria", body).await;
        }
    }
    let path = format!("/benchmarks/{benchmark}/publish");
    make(client, server, &path, json!({"slug": "ward"})).await;
    let body = json!({"alias": "ada", "real_name": "Ada", "agent_description": "Registers.",
        "contact_email": "ada@example.org"});
    let solver = make(client, server, "/solvers", body).await;
    let path = format!("/solvers/{solver}/api-keys");
    let (_, key) = ask(client, server, KEY, Method::POST, &path, &json!({}))
        .await
        .unwrap();
    key["key"].as_str().unwrap().to_owned()
}

/// Everything that an agent does in a run, in order; each may be repeated.
fn plan(run: &Value) -> Vec<(Method, String, Value)> {
    let id = run["benchmark_run_id"].as_str().unwrap();
    let mut steps = Vec::new();
    for task_run in run["task_runs"].as_array().unwrap() {
        let task_run = task_run["id"].as_str().unwrap();
        steps.push((
            Method::POST,
            format!("/v1/task-runs/{task_run}/start"),
            json!({}),
        ));
        for number in 0..4 {
            let path = format!("/v1/benchmark-runs/{id}/fhir/Patient/p{number}");
            let patient = json!({"resourceType": "Patient", "id": format!("p{number}")});
            steps.push((Method::PUT, path, patient));
            let path = format!("/v1/benchmark-runs/{id}/files/outbound/{number}.json");
            steps.push((Method::PUT, path, json!({"done": number})));
        }
        steps.push((
            Method::POST,
            format!("/v1/task-runs/{task_run}/complete"),
            json!({}),
        ));
    }
    steps
}

#[tokio::test]
async fn a_run_survives_kill_9_at_any_moment() {
    let data = TempDir::new().unwrap();
    let mut server = Server::start(data.path());
    let client = Client::new();
    let solver = publish(&client, &server.url).await;
    let mut random = StdRng::seed_from_u64(20_261_115);
    for round in 0..KILLS {
        let begin = json!({"benchmark": "ward@1"});
        let (status, run) = ask(
            &client,
            &server.url,
            &solver,
            Method::POST,
            "/v1/benchmark-runs",
            &begin,
        )
        .await
        .unwrap();
        assert_eq!(status, 201, "{run}");
        let token = run["bearer_token"].as_str().unwrap();
        let steps = plan(&run);
        let fatal = random.random_range(0..steps.len());
        let pause = Duration::from_micros(u64::from(random.next_u32() % 4_000));
        let mut acknowledged = vec![0; steps.len()];
        for (number, (method, path, body)) in steps.iter().enumerate() {
            if number == fatal {
                // The request is under way when the server dies: it may have been carried out or not.
                let url = server.url.clone();
                let asking = ask(&client, &url, token, method.clone(), path, body);
                let killing = async {
                    tokio::time::sleep(pause).await;
                    server.kill();
                };
                let (answer, ()) = tokio::join!(asking, killing);
                acknowledged[number] += usize::from(answer.is_some_and(|(status, _)| status < 300));
                server = Server::start(data.path());
            }
            let (status, answer) = ask(&client, &server.url, token, method.clone(), path, body)
                .await
                .unwrap();
            // What the dying server did complete cannot be done again in a frozen world.
            let is_done = number == fatal && status == 409 && acknowledged[number] > 0;
            assert!(
                status < 300 || is_done,
                "round {round}, step {number}: {status} {answer}"
            );
            acknowledged[number] += usize::from(status < 300);
            if path.ends_with("/complete") {
                assert_eq!(answer["score"], 1.0, "round {round}: {answer}");
            }
        }
        let id = run["benchmark_run_id"].as_str().unwrap();
        let path = format!("/benchmark-runs/{id}");
        let (_, whole) = ask(&client, &server.url, KEY, Method::GET, &path, &Value::Null)
            .await
            .unwrap();
        assert_eq!(
            (&whole["status"], &whole["score"]),
            (&json!("completed"), &json!(1.0)),
            "{whole}"
        );
        for (place, task_run) in whole["task_runs"].as_array().unwrap().iter().enumerate() {
            let found = task_run["criterion_runs"].as_array().unwrap().len();
            assert_eq!(found, 4, "round {round}: one result, not two");
            let of_task = &acknowledged[place * 10..(place + 1) * 10];
            let writes: usize = of_task[1..9].iter().sum();
            let recorded = recorded_writes(&client, &server.url, task_run).await;
            // One more may have been carried out without the answer reaching us.
            assert!(
                recorded == writes || recorded == writes + 1,
                "round {round}: {writes} acknowledged, {recorded} recorded"
            );
        }
    }
    server.kill();
    let verified = Command::new(env!("CARGO_BIN_EXE_proctor"))
        .args([
            "verify-journal".as_ref(),
            "--data".as_ref(),
            data.path().as_os_str(),
        ])
        .output()
        .unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
}

/// How many writes the journal of a task run's world tells of.
async fn recorded_writes(client: &Client, server: &str, task_run: &Value) -> usize {
    let playground = task_run["id"].as_str().unwrap().replacen("tr_", "pg_", 1);
    let path = format!("/playgrounds/{playground}");
    let (_, playground) = ask(client, server, KEY, Method::GET, &path, &Value::Null)
        .await
        .unwrap();
    let mut writes = 0;
    for sandbox in playground["sandboxes"].as_array().unwrap() {
        let id = sandbox["id"].as_str().unwrap();
        let path = format!("/sandboxes/{id}/events?limit=100");
        let (_, events) = ask(client, server, KEY, Method::GET, &path, &Value::Null)
            .await
            .unwrap();
        let is_write = |event: &&Value| {
            let payload = &event["payload"];
            let asked = payload.get("request").unwrap_or(payload);
            let status = payload["status"].as_u64();
            asked["method"] == "PUT" && status.is_some_and(|status| status < 300)
        };
        writes += events["data"]
            .as_array()
            .unwrap()
            .iter()
            .filter(is_write)
            .count();
    }
    writes
}
