//! The public flow, step by step.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::Clinic;

#[tokio::test]
async fn an_agent_takes_a_benchmark_from_key_to_verdict() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic
        .begin(json!({"benchmark": "clinic-day@1", "agent": "ward-clerk 2"}))
        .await;
    insta::assert_snapshot!("created", run.created.shape());
    insta::assert_snapshot!("looked_at_before", run.look().await.shape());
    let started = run.start(0).await;
    insta::assert_snapshot!("started", started.shape());
    run.solve().await;
    let completed = run.complete(0).await;
    insta::assert_snapshot!("completed", completed.shape());
    assert_eq!(completed.body["score"], 1.0, "{}", completed.body);
    assert_eq!(run.start(1).await.status, 200);
    let last = run.complete(1).await;
    insta::assert_snapshot!("completed_last", last.shape());
    insta::assert_snapshot!("looked_at_after", run.look().await.shape());
}

#[tokio::test]
async fn starting_again_answers_the_same_and_runs_nothing_again() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    let first = run.start(0).await;
    let again = run.start(0).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    let inbox = run.sandbox(Method::GET, "hl7/inbox", Value::Null).await;
    assert_eq!(inbox.body["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn completing_again_answers_the_stored_result() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let first = run.complete(0).await;
    let again = run.complete(0).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    let late = run
        .sandbox(
            Method::POST,
            "fhir/Patient",
            json!({"resourceType": "Patient"}),
        )
        .await;
    assert_eq!(late.status, 409, "{}", late.body);
}

#[tokio::test]
async fn a_scored_run_hides_what_explains_its_scores() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic
        .begin(json!({"benchmark": "clinic-day@1", "scored": true}))
        .await;
    run.start(0).await;
    run.solve().await;
    let completed = run.complete(0).await;
    insta::assert_snapshot!("completed_scored", completed.shape());
    for check in completed.body["checks"].as_array().unwrap() {
        let check = check.as_object().unwrap();
        assert!(!check.contains_key("details") && !check.contains_key("evidence"));
    }
}

#[tokio::test]
async fn only_what_may_be_taken_can_be_taken() {
    let clinic = Clinic::open(1, 1).await;
    for (name, body) in [
        ("nothing", json!({})),
        ("no_version", json!({"benchmark": "clinic-day"})),
        ("bad_version", json!({"benchmark": "clinic-day@one"})),
        ("unknown_version", json!({"benchmark": "clinic-day@2"})),
        ("unknown_slug", json!({"benchmark": "other@1"})),
        (
            "wrong_types",
            json!({"benchmark": "clinic-day@1", "scored": "yes"}),
        ),
        (
            "unknown_field",
            json!({"benchmark": "clinic-day@1", "speed": 1}),
        ),
    ] {
        let answer = clinic.try_begin(body).await;
        insta::assert_snapshot!(format!("not_begun_{name}"), answer.shape());
    }
    let unpublish = format!("/benchmarks/{}/unpublish", clinic.benchmark);
    let run = clinic.begin_open().await;
    clinic.server.ask(Method::POST, &unpublish, json!({})).await;
    let answer = clinic.try_begin(json!({"benchmark": "clinic-day@1"})).await;
    assert_eq!(answer.status, 201, "a version that is named stays runnable");
    assert_eq!(
        run.start(0).await.status,
        200,
        "a run that has begun goes on"
    );
}

#[tokio::test]
async fn credentials_open_only_their_own_doors() {
    let clinic = Clinic::open(1, 1).await;
    let (run, other) = (clinic.begin_open().await, clinic.begin_open().await);
    let path = format!("/v1/benchmark-runs/{}", run.id);
    let as_other = other.ask(Method::GET, &path, Value::Null).await;
    assert_eq!(as_other.status, 404);
    let start = format!("/v1/task-runs/{}/start", run.task_runs[0]);
    assert_eq!(
        other.ask(Method::POST, &start, Value::Null).await.status,
        404
    );
    let get = |path: String, key: String| {
        let request = clinic.server.get(&path).bearer_auth(key);
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(get(path.clone(), clinic.solver_key.clone()).await, 200);
    assert_eq!(get(path.clone(), clinic.server.key.clone()).await, 401);
    let stranger = super::clinic::solver_key(&clinic.server, "stranger").await;
    assert_eq!(get(path.clone(), stranger).await, 404);
    let inbox = format!("{path}/hl7/inbox");
    assert_eq!(get(inbox.clone(), clinic.solver_key.clone()).await, 401);
    assert_eq!(get(inbox, other.token.clone()).await, 404);
    let internal = format!("/benchmark-runs/{}", run.id);
    assert_eq!(get(internal.clone(), run.token.clone()).await, 401);
    let foreign = clinic.server.foreign_key().await;
    assert_eq!(get(internal, foreign).await, 404);
}
