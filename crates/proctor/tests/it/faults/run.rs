//! A run in a playground.

use std::sync::Arc;

use proctor_testkit::server::proctor;
use reqwest::Method;
use serde_json::json;

use super::mortal::{Kills, Mortal, Template, at_every_point};
use crate::PROCTOR;

async fn life(mut mortal: Mortal, template: Arc<Template<String>>) -> usize {
    let begin = json!({"benchmark": "ward@1"});
    let path = "/v1/benchmark-runs";
    let (status, run) = mortal
        .ask_as(&template.prepared, Method::POST, path, begin)
        .await;
    assert!(status < 300, "{run}");
    let token = run["bearer_token"].as_str().unwrap();
    let id = run["benchmark_run_id"].as_str().unwrap();
    let task_run = run["task_runs"][0]["id"].as_str().unwrap();
    let mut steps = vec![(
        Method::POST,
        format!("/v1/task-runs/{task_run}/start"),
        json!({}),
    )];
    for number in 0..2 {
        let path = format!("/v1/benchmark-runs/{id}/fhir/Patient/p{number}");
        let patient = json!({"resourceType": "Patient", "id": format!("p{number}")});
        steps.push((Method::PUT, path, patient));
    }
    let path = format!("/v1/benchmark-runs/{id}/files/outbound/done.json");
    steps.push((Method::PUT, path, json!({"done": true})));
    let path = format!("/v1/task-runs/{task_run}/complete");
    steps.push((Method::POST, path, json!({})));
    for (method, path, body) in steps {
        let (status, answer) = mortal.ask_as(token, method, &path, body).await;
        assert!(status < 300, "{path}: {status} {answer}");
    }

    let whole = mortal.get(&format!("/benchmark-runs/{id}")).await;
    assert_eq!(
        (&whole["status"], &whole["score"]),
        (&json!("completed"), &json!(1.0)),
        "{whole:#}"
    );
    let criteria = whole["task_runs"][0]["criterion_runs"].as_array().unwrap();
    assert_eq!(criteria.len(), 2, "one result, not two: {whole:#}");
    let path = format!("/task-runs/{task_run}/rescore");
    let (_, again) = mortal.ask(Method::POST, &path, json!({})).await;
    assert_eq!(again["score"], whole["score"], "{again:#}");
    let verified = proctor(PROCTOR)
        .args([
            "verify-journal".as_ref(),
            "--data".as_ref(),
            mortal.data().as_os_str(),
        ])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let deaths = mortal.deaths;
    mortal.leaves_nothing().await;
    deaths
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_survives_kill_9_at_every_commit() {
    at_every_point(
        Kills::One,
        Template::new(async |caller| caller.publish_ward(&["Register"], 2).await).await,
        life,
    )
    .await;
}
