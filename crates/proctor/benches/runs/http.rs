//! Whole runs over HTTP: begin, start, four requests to sandboxes, complete.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures::future::join_all;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::{
    clinic::{Clinic, SLUG},
    report::Report,
};

const SPAN: Duration = Duration::from_secs(4);
/// Durable commits in a run: its making, the start, the opening, three writes, the seal, the end.
const COMMITS: f64 = 8.0;

struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_proctor"))
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
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
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::main]
pub(crate) async fn measure(report: &mut Report, commits: f64) {
    let directory = tempfile::tempdir().unwrap();
    let clinic = Clinic::open(directory.path()).await;
    let key = clinic.key.clone();
    clinic.close().await;
    let served = Served::start(directory.path());
    let client = Client::new();
    let mut alone = 0.0;
    for agents in [1usize, 8, 64] {
        let began = Instant::now();
        let agent = async || {
            let mut runs = 0usize;
            while began.elapsed() < SPAN {
                take(&client, &served.url, &key).await;
                runs += 1;
            }
            runs
        };
        let runs: usize = join_all((0..agents).map(|_| agent())).await.iter().sum();
        let rate = runs as f64 / began.elapsed().as_secs_f64();
        if agents == 1 {
            alone = rate;
        }
        report.note(
            &format!("whole runs over HTTP, {agents} agents"),
            format!(
                "{rate:.0}/s ({:.2} × of {COMMITS} bare commits, {:.1} × one agent)",
                rate * COMMITS / commits,
                rate / alone
            ),
        );
    }
}

async fn take(client: &Client, url: &str, key: &str) {
    let ask = async |key: &str, method: Method, path: &str, body: Value| {
        let request = client
            .request(method, format!("{url}{path}"))
            .bearer_auth(key)
            .header("content-type", "application/json")
            .body(body.to_string());
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let body: Value = answer.json().await.unwrap();
        assert!(status.is_success(), "{path}: {body}");
        body
    };
    let begin = json!({"benchmark": format!("{SLUG}@1")});
    let run = ask(key, Method::POST, "/v1/benchmark-runs", begin).await;
    let token = run["bearer_token"].as_str().unwrap();
    let id = run["benchmark_run_id"].as_str().unwrap();
    let task_run = run["task_runs"][0]["id"].as_str().unwrap();
    let start = format!("/v1/task-runs/{task_run}/start");
    ask(token, Method::POST, &start, json!({})).await;
    let observation = json!({"resourceType": "Observation", "status": "final", "code": {"text": "BP"},
        "subject": {"reference": "Patient/p4"}});
    let order = "MSH|^~\\&|EHR|CLINIC|LAB|HOSP|20260421170500||ORM^O01|ORD1|P|2.5.1\rPID|1||12345^^^MRN||Ray^Ada\rORC|NW|A1\rOBR|1|A1||2823-3^Potassium^LN\r";
    for (method, path, body) in [
        (Method::GET, "fhir/Patient?family=Family7", Value::Null),
        (Method::POST, "fhir/Observation", observation),
        (Method::POST, "hl7/outbound", json!({"payload": order})),
        (
            Method::PUT,
            "files/outbound/1.json",
            json!({"total": 240.5}),
        ),
    ] {
        let path = format!("/v1/benchmark-runs/{id}/{path}");
        ask(token, method, &path, body).await;
    }
    let complete = format!("/v1/task-runs/{task_run}/complete");
    ask(token, Method::POST, &complete, json!({})).await;
}
