//! Our own numbers of a run.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::Clinic;
use crate::support::Answer;

#[tokio::test]
async fn what_takes_too_long_counts_zero_and_what_was_stopped_is_left_out() {
    let clinic = Clinic::open(3, 1).await;
    let body = json!({"benchmark": "clinic-day@1", "agent": "mine"});
    let run = clinic.begin(body).await;
    run.start(0).await;
    run.solve().await;
    run.complete(0).await;
    run.start(1).await;
    clinic.server.clock.advance(Duration::from_secs(600));
    run.complete(1).await;
    let path = format!("/benchmark-runs/{}/results", run.id);
    let live = clinic.server.read(&path).await;
    insta::assert_snapshot!("results_of_a_live_run", live.shape());
    let stop = format!("/task-runs/{}/cancel", run.task_runs[2]);
    clinic.server.ask(Method::POST, &stop, json!({})).await;
    let over = clinic.server.read(&path).await;
    let numbers = &over.body["agents"][0]["summary"];
    let (low, high) = (&numbers["low"], &numbers["high"]);
    assert!(low.as_f64().unwrap() < 0.5 && high.as_f64().unwrap() > 0.5);
    let summary = json!({"score": 0.5, "low": low, "high": high, "about": "tasks", "planned": 3, "scored": 2, "void": 1,
        "agent_faults": 1, "worst": 1.0 / 3.0, "best": 2.0 / 3.0});
    assert_eq!(over.body["agents"][0]["summary"], summary);
    assert_eq!(over.body["agents"][0]["attempts"][2]["cause"], "cancelled");
    for key in [&run.token, &clinic.solver_key] {
        let request = clinic.server.get(&path).bearer_auth(key);
        let status = request.send().await.unwrap().status();
        assert_eq!(status, 401, "only its organization reads this");
    }
}

#[tokio::test]
async fn a_run_that_ends_with_its_token_counts_what_was_never_started() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    clinic
        .server
        .clock
        .advance(Duration::from_secs(2 * 60 * 60));
    clinic.server.engine.sweep().await.unwrap();
    let path = format!("/benchmark-runs/{}/results", run.id);
    let results = clinic.server.read(&path).await.body;
    let agent = &results["agents"][0];
    assert_eq!(agent["name"], "ada", "the Solver's name");
    assert_eq!(
        (
            &agent["summary"]["score"],
            &agent["summary"]["agent_faults"]
        ),
        (&json!(0.0), &json!(2))
    );
    for attempt in agent["attempts"].as_array().unwrap() {
        assert_eq!(attempt["cause"], "agent_timeout");
    }
    assert_eq!(agent["attempts"][1]["reason"], "it was never started");
}

#[tokio::test]
async fn whoever_may_not_read_criterion_runs_is_told_nothing_of_them() {
    let clinic = Clinic::open(1, 1).await;
    let publish = format!("/benchmarks/{}/publish", clinic.benchmark);
    let public = json!({"slug": "clinic-day", "visibility": "Public"});
    clinic.server.ask(Method::POST, &publish, public).await;
    let foreign = clinic.server.foreign_key().await;
    let as_foreign = async |method: Method, path: &str, body: Value| {
        let request = clinic.server.request(method, path).bearer_auth(&foreign);
        Answer::of(request.body(body.to_string()).send().await.unwrap()).await
    };
    let solver = as_foreign(Method::POST, "/solvers", super::super::solver("visitor")).await;
    let keys = format!("/solvers/{}/api-keys", solver.text("id"));
    let key = as_foreign(Method::POST, &keys, json!({})).await.text("key");
    for (scored, told) in [(true, None), (false, Some(json!([])))] {
        let body = json!({"benchmark": "clinic-day@2", "scored": scored});
        let request = clinic.server.post("/v1/benchmark-runs").bearer_auth(&key);
        let run = Answer::of(request.body(body.to_string()).send().await.unwrap()).await;
        let id = run.text("benchmark_run_id");
        for path in [
            format!("/benchmark-runs/{id}/results"),
            format!("/v1/benchmark_runs/{}/results", id.replace("br_", "bmr_")),
        ] {
            let results = as_foreign(Method::GET, &path, json!({})).await;
            assert_eq!(results.status, 200, "{}", results.body);
            let attempt = &results.body["agents"][0]["attempts"][0];
            assert_eq!(attempt.get("critical_misses"), told.as_ref(), "{path}");
            assert_eq!(clinic.server.read(&path).await.status, 404);
        }
    }
}
