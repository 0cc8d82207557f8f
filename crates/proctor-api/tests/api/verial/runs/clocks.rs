//! The clock of a world: what comes later comes when it is advanced, by every path to it.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::{Clinic, make};
use crate::support::TestServer;

/// Publishes a benchmark of one task whose second patient comes after two hours.
async fn publish_with(server: &TestServer, environment: &str, clock: Value, slug: &str) {
    let benchmark = json!({"name": slug, "environment_id": environment, "timeout": 600});
    let benchmark = make(server, "/benchmarks", benchmark).await;
    let task = json!({"benchmark_id": benchmark, "name": "Wait", "clock": clock, "scenario": [
        {"type": "fhir_upsert", "after": "2h", "resource": {"resourceType": "Patient", "id": "late"}}]});
    let task = make(server, "/tasks", task).await;
    let assertion = json!({"assert": "fhir-resource-state", "resource_type": "Patient",
        "search": {"_id": "late", "active": "true"}});
    let criterion = json!({"task_id": task, "label": "Seen", "assertion": assertion});
    make(server, "/criteria", criterion).await;
    let path = format!("/benchmarks/{benchmark}/publish");
    let published = server.ask(Method::POST, &path, json!({"slug": slug})).await;
    assert!(published.status < 300, "{}", published.body);
}

#[tokio::test]
async fn an_agent_waits_without_waiting_and_the_deadline_stays() {
    let clinic = Clinic::open(1, 1).await;
    publish_with(&clinic.server, &clinic.environment, Value::Null, "late").await;
    let run = clinic.begin(json!({"benchmark": "late@1"})).await;
    let started = run.start(0).await;
    assert_eq!(
        run.sandbox(Method::GET, "fhir/Patient/late", Value::Null)
            .await
            .status,
        404
    );
    let advance = async |path: &str, body: Value| {
        let answer = run.ask(Method::POST, path, body).await;
        (answer.status, answer.body)
    };
    let of_run = format!("/v1/benchmark-runs/{}/clock/advance", run.id);
    let of_task = format!("/v1/task-runs/{}/clock/advance", run.task_runs[0]);
    assert_eq!(advance(&of_run, json!({"seconds": 3600})).await.0, 200);
    assert_eq!(advance(&of_task, json!({"seconds": 3500})).await.0, 200);
    assert_eq!(
        run.sandbox(Method::GET, "fhir/Patient/late", Value::Null)
            .await
            .status,
        404
    );
    let sandbox = run.created.body["sandboxes"][0]["id"].as_str().unwrap();
    for path in ["sandboxes", "services"] {
        let path = format!("/{path}/{sandbox}/clock/advance");
        assert_eq!(
            advance(&path, json!({"seconds": 100})).await.0,
            200,
            "{path}"
        );
    }
    let late = run
        .sandbox(Method::GET, "fhir/Patient/late", Value::Null)
        .await;
    assert_eq!(late.status, 200);
    for (body, status) in [
        (json!({"seconds": -1}), 409),
        (json!({"seconds": 90 * 86_400 + 1}), 409),
        (json!({"seconds": 1e300}), 409),
        (json!({"seconds": 1.5}), 400),
        (json!({"seconds": "soon"}), 400),
        (json!({}), 400),
    ] {
        let (got, answer) = advance(&of_run, body.clone()).await;
        assert_eq!(got, status, "{body}: {answer}");
    }
    let before = started.body["deadline_at"].clone();
    let again = run.start(0).await;
    assert_eq!(again.body["deadline_at"], before);
    let done = run.complete(0).await;
    assert_eq!(done.status, 200, "{}", done.body);
    let events = format!("/task-runs/{}/events?limit=100", run.task_runs[0]);
    let events = clinic.server.read(&events).await;
    let advanced = events.body["data"].as_array().unwrap().iter();
    let advanced = advanced.filter(|event| event["type"] == "clock_advanced");
    assert_eq!(advanced.count(), 4);
    let after = advance(&of_task, json!({"seconds": 1})).await;
    assert_eq!(after.0, 409, "{}", after.1);
}

#[tokio::test]
async fn a_task_may_forbid_it() {
    let clinic = Clinic::open(1, 1).await;
    publish_with(&clinic.server, &clinic.environment, json!("fixed"), "fixed").await;
    let run = clinic.begin(json!({"benchmark": "fixed@1"})).await;
    run.start(0).await;
    let path = format!("/v1/benchmark-runs/{}/clock/advance", run.id);
    let refused = run.ask(Method::POST, &path, json!({"seconds": 1})).await;
    assert_eq!(refused.status, 409);
    assert!(
        refused
            .body
            .to_string()
            .contains("does not let anybody advance the clock")
    );
}

#[tokio::test]
async fn a_playground_has_a_clock_for_its_organization_only() {
    let clinic = Clinic::open(1, 1).await;
    let server = &clinic.server;
    let body = json!({"environment_id": clinic.environment});
    let made = server.ask(Method::POST, "/playgrounds", body).await;
    let path = format!("/playgrounds/{}/clock/advance", made.text("id"));
    let advanced = server
        .ask(Method::POST, &path, json!({"seconds": 60}))
        .await;
    assert_eq!(advanced.status, 200, "{}", advanced.body);
    let foreign = server.foreign_key().await;
    let hidden = server
        .request(Method::POST, &path)
        .bearer_auth(foreign)
        .header("content-type", "application/json")
        .body(json!({"seconds": 60}).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(hidden.status(), 404);
}
