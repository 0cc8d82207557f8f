//! From the beginning of a trial to its agent, when everything that its box stands on is built.

use std::{path::Path, process::Command, time::Duration};

use proctor_core::time::Timestamp;
use proctor_testkit::{
    figures::{Report, median},
    server::{BenchServer, KEY},
};
use serde_json::{Value, json};

use crate::{rounds, run, server, write_task};

/// How long a trial may take from its beginning to its agent.
const GOAL: f64 = 50.0;
/// How often a job is looked at.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) async fn measure(report: &mut Report, program: &str) {
    let tasks = tempfile::tempdir().unwrap();
    write_task(&tasks.path().join("one"));
    let server = server(program, tasks.path());
    let first = once(&server, program).await;
    let mut again = Vec::new();
    for _ in 0..rounds() {
        again.push(once(&server, program).await);
    }
    let _ = server.end();
    report.note(
        "first start of a task to its agent",
        format!("{first:.0} ms"),
    );
    report.at_most(
        "second start of a task to its agent",
        median(again),
        GOAL,
        "ms",
    );
}

/// Milliseconds from the beginning of a trial to its agent.
async fn once(server: &BenchServer, program: &str) -> f64 {
    let job = json!({
        "agents": [{"name": "quick", "kwargs": {"command": "true"}}],
        "tasks": [{"path": "tasks:bench/one"}],
    });
    let ended = run(server.caller(), &job, PAUSE).await;
    let out = tempfile::tempdir().unwrap();
    let exported = Command::new(program)
        .args(["harbor", "export", ended["id"].as_str().unwrap()])
        .arg(out.path())
        .arg("--server")
        .arg(server.server().url(""))
        .args(["--key", KEY])
        .output()
        .unwrap();
    assert!(exported.status.success(), "{exported:?}");
    let trial = result_of_trial(out.path());
    let time = |value: &Value| -> Timestamp { value.as_str().unwrap().parse().unwrap() };
    let began = time(&trial["started_at"]);
    let agent = time(&trial["agent_execution"]["started_at"]);
    agent.since(began).as_secs_f64() * 1000.0
}

/// The result of the only trial below a directory.
fn result_of_trial(directory: &Path) -> Value {
    for job in fs_err::read_dir(directory).unwrap() {
        for trial in fs_err::read_dir(job.unwrap().path()).unwrap() {
            let result = trial.unwrap().path().join("result.json");
            if result.is_file() {
                return serde_json::from_slice(&fs_err::read(result).unwrap()).unwrap();
            }
        }
    }
    panic!("the export has no trial");
}
