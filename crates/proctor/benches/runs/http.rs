//! Whole runs over HTTP: begin, start, four requests to sandboxes, complete.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use futures::future::join_all;
use proctor_testkit::{
    figures::Report,
    server::{Caller, Server, serve},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::clinic::{Clinic, SLUG};

const SPAN: Duration = Duration::from_secs(4);
/// Durable commits in a run: its making, the start, the opening, three writes, the seal, the end.
const COMMITS: f64 = 8.0;

#[tokio::main]
pub(crate) async fn measure(report: &mut Report, commits: f64) {
    let directory = tempfile::tempdir().unwrap();
    let clinic = Clinic::open(directory.path()).await;
    let key = clinic.key.clone();
    clinic.close().await;
    let mut command = serve(env!("CARGO_BIN_EXE_proctor"), directory.path());
    let server = Server::start(command.stderr(Stdio::null()));
    let solver = server.caller().with_key(&key);
    let mut alone = 0.0;
    for agents in [1usize, 8, 64] {
        let began = Instant::now();
        let agent = async || {
            let mut runs = 0usize;
            while began.elapsed() < SPAN {
                take(&solver).await;
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

async fn take(solver: &Caller) {
    let begin = json!({"benchmark": format!("{SLUG}@1")});
    let run = solver.post("/v1/benchmark-runs", begin).await;
    let agent = solver.with_key(run["bearer_token"].as_str().unwrap());
    let id = run["benchmark_run_id"].as_str().unwrap();
    let task_run = run["task_runs"][0]["id"].as_str().unwrap();
    let start = format!("/v1/task-runs/{task_run}/start");
    agent.post(&start, json!({})).await;
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
        let (status, answer) = agent.ask(method, &path, body).await;
        assert!(status < 300, "{path}: {answer}");
    }
    let complete = format!("/v1/task-runs/{task_run}/complete");
    agent.post(&complete, json!({})).await;
}
