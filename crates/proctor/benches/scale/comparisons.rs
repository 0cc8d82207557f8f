//! Comparisons and gates of stored runs, over HTTP.

use std::time::Instant;

use proctor_testkit::figures::{Report, median};
use serde_json::{Value, json};

use crate::{millis, rounds, tasks::Clinic};

/// How many tasks each run has.
const TASKS: usize = 10_000;
/// Each so manieth task is solved in the second run only.
const FLIPS: usize = 5;

pub(crate) async fn measure(report: &mut Report, program: &str) {
    let clinic = Clinic::open(program).await;
    let slug = clinic.publish(TASKS).await;
    let (a, b) = (
        taken(&clinic, &slug, false).await,
        taken(&clinic, &slug, true).await,
    );
    let caller = clinic.server.caller();
    let compare = json!({"a": {"runs": [a]}, "b": {"runs": [b]}, "about": "tasks"});
    let policy = json!({"about": "tasks", "line": [{"kind": "change", "at": -0.05}, {"kind": "level", "at": 0.1}]});
    let gate = json!({"run": b, "baseline": {"run": a}, "policy": policy});
    for (what, path, body) in [
        (
            "a comparison of two runs of 10,000 tasks",
            "/comparisons",
            compare,
        ),
        ("a gate over two runs of 10,000 tasks", "/gates", gate),
    ] {
        // The first one reads the definition.
        let first = caller.post(path, body.clone()).await;
        check(&first);
        let mut took = Vec::new();
        for _ in 0..rounds() {
            let began = Instant::now();
            caller.post(path, body.clone()).await;
            took.push(millis(began.elapsed()));
        }
        report.at_most(what, median(took), 200.0, "ms");
    }
    let _ = clinic.server.end();
}

fn check(answer: &Value) {
    let numbers = match answer["comparison"]["comparison"].is_object() {
        true => &answer["comparison"]["comparison"],
        false => &answer["comparison"],
    };
    assert_eq!(
        (&numbers["tasks"], &numbers["better"]),
        (&json!(TASKS), &json!(TASKS / FLIPS)),
        "{numbers}"
    );
}

/// A run of all tasks that is over.
async fn taken(clinic: &Clinic, slug: &str, solves: bool) -> String {
    let (run, waiting) = clinic.begin(slug).await;
    let ada = json!({"resourceType": "Bundle", "type": "transaction", "entry": [
        {"resource": {"resourceType": "Patient", "id": "ada"}, "request": {"method": "PUT", "url": "Patient/ada"}}]});
    for (place, task_run) in waiting.task_runs.iter().enumerate() {
        let path = format!("/v1/task-runs/{task_run}/start");
        waiting.agent.post(&path, json!({})).await;
        if solves && place % FLIPS == 0 {
            let path = format!("/v1/benchmark-runs/{run}/fhir");
            waiting.agent.post(&path, ada.clone()).await;
        }
        let path = format!("/v1/task-runs/{task_run}/complete");
        waiting.agent.post(&path, json!({})).await;
    }
    run
}
