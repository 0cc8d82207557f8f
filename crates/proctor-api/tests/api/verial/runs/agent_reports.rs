//! What an agent tells of its task runs.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::Clinic;

fn trajectory(text: &str) -> Value {
    json!({"schema_version": "ATIF-v1.7", "agent": {"name": "mine", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": text}]})
}

#[tokio::test]
async fn a_trajectory_is_kept_without_credentials_for_its_taker_and_its_organization() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    let path = format!("/v1/task-runs/{}/trajectory", run.task_runs[0]);
    let early = run.ask(Method::PUT, &path, trajectory("x")).await;
    assert_eq!(early.status, 409, "{}", early.body);
    run.start(0).await;
    let none = run.ask(Method::GET, &path, Value::Null).await;
    assert_eq!(none.status, 404, "{}", none.body);
    let told = trajectory(&format!("my token is {}", run.token));
    let kept = run.ask(Method::PUT, &path, told).await;
    assert_eq!((kept.status, kept.body), (200, json!({"steps": 1})));
    run.complete(0).await;
    // The last part of it comes when the task is over.
    let shown = run.ask(Method::GET, &path, Value::Null).await;
    assert_eq!(shown.body, trajectory("my token is vrl_run_***"));
    let again = run.ask(Method::PUT, &path, trajectory("done")).await;
    assert_eq!(again.status, 200, "{}", again.body);
    let internal = format!("/task-runs/{}/trajectory", run.task_runs[0]);
    let internal = clinic.server.read(&internal).await;
    assert_eq!(internal.body, trajectory("done"));
    let wrong =
        json!({"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": []});
    let wrong = run.ask(Method::PUT, &path, wrong).await;
    assert_eq!(wrong.status, 400);
    assert_eq!(
        wrong.body["error"]["details"]["steps"],
        json!(["must have a step"])
    );
}

#[tokio::test]
async fn usage_is_on_attempts_and_what_was_not_reported_is_null() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let path = format!("/v1/task-runs/{}/usage", run.task_runs[0]);
    let nothing = run.ask(Method::GET, &path, Value::Null).await;
    assert_eq!(nothing.body, json!({"usage": null, "models": []}));
    let one = json!({"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.5, "model": "m"});
    let first = run.ask(Method::POST, &path, one.clone()).await;
    assert_eq!(first.status, 200, "{}", first.body);
    let more = run
        .ask(Method::POST, &path, json!({"reports": [one.clone(), one]}))
        .await;
    let usage =
        json!({"input_tokens": 300, "cached_tokens": 0, "output_tokens": 30, "cost_usd": 1.5});
    let models = json!([{"model": "m", "usage": usage}]);
    assert_eq!(more.body, json!({"usage": usage, "models": models}));
    let wrong = run
        .ask(Method::POST, &path, json!({"input_tokens": "many"}))
        .await;
    assert_eq!(wrong.status, 400);
    let named = wrong.body["error"]["details"].as_object().unwrap();
    assert!(named.contains_key("input_tokens") && named.contains_key("output_tokens"));
    let wrong = json!({"reports": [{"input_tokens": 1}]});
    let wrong = run.ask(Method::POST, &path, wrong).await;
    let named = &wrong.body["error"]["details"];
    assert!(named["reports.0.output_tokens"].is_array(), "{named}");
    run.complete(0).await;
    let results = clinic
        .server
        .read(&format!("/benchmark-runs/{}/results", run.id))
        .await;
    let agent = &results.body["agents"][0];
    assert_eq!(agent["usage"], usage, "{agent}");
    assert_eq!(agent["attempts"][0]["usage"], usage);
    assert_eq!(agent["attempts"][1]["usage"], Value::Null);
}
