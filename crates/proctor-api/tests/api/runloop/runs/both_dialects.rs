//! Benchmarks whose tasks belong to both dialects.

use std::time::Duration;

use serde_json::{Value, json};

use super::Desk;
use crate::{
    runloop::scenarios::{create, parameters},
    support::Answer,
};

#[tokio::test]
async fn one_benchmark_has_tasks_in_playgrounds_and_in_boxes() {
    let desk = Desk::new().await;
    let make = async |path: &str, body: Value| {
        let answer = desk.post(path, body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.text("id")
    };
    let environment = make("/environments", json!({"name": "Ward"})).await;
    let fhir = make("/simulators", json!({"type": "Fhir", "name": "EHR"})).await;
    let link = format!("/environments/{environment}/simulators/{fhir}");
    desk.post(&link, json!({})).await;
    let body =
        json!({"name": "Mixed", "environment_id": environment, "timeout": 600, "concurrency": 2});
    let benchmark = make("/benchmarks", body).await;
    let task = make(
        "/tasks",
        json!({"benchmark_id": benchmark, "name": "clinical"}),
    )
    .await;
    let assertion = json!({"assert": "fhir-resource-state", "resource_type": "Patient"});
    let criterion = |task: &str, assertion: &Value| json!({"task_id": task, "label": "a patient is there", "assertion": assertion});
    make("/criteria", criterion(&task, &assertion)).await;
    let scenario = desk.scenario("coding", "true").await;
    // The same things, by their names in the other dialect.
    let as_task = scenario.replace("scn_", "task_");
    make("/criteria", criterion(&as_task, &assertion)).await;
    let as_suite = benchmark.replace("bench_", "bmd_");
    let path = format!("/v1/benchmarks/{as_suite}/scenarios");
    let joined = desk
        .post(&path, json!({"scenarios_to_add": [scenario]}))
        .await;
    assert_eq!(joined.body["scenarioIds"], json!([scenario]));

    let begun = desk
        .post(
            "/benchmark-runs",
            json!({"benchmark_id": benchmark, "draft": true}),
        )
        .await;
    assert_eq!(begun.status, 201, "{}", begun.body);
    let token = begun.text("bearer_token");
    let act = async |task_run: &Value, action: &str| {
        let path = format!(
            "/v1/task-runs/{}/{action}",
            task_run["id"].as_str().unwrap()
        );
        let request = desk.server.post(&path).bearer_auth(&token);
        let answer = Answer::of(request.send().await.unwrap()).await;
        assert!(answer.status < 300, "{}", answer.body);
        answer
    };
    let task_runs = begun.body["task_runs"].as_array().unwrap();
    assert_eq!(task_runs.len(), 2);
    for task_run in task_runs {
        act(task_run, "start").await;
    }
    assert_eq!(desk.shop.live(), 1, "one of the two has a box");
    let run = begun.text("benchmark_run_id").replace("br_", "bmr_");
    let seen = desk
        .server
        .read(&format!("/v1/benchmark_runs/{run}/scenario_runs"))
        .await
        .body;
    assert_eq!(seen["runs"][0]["scenario_id"], json!(scenario));
    assert_eq!(seen["runs"].as_array().unwrap().len(), 1);
    let scores: Vec<Value> =
        futures::future::join_all(task_runs.iter().map(|one| act(one, "complete")))
            .await
            .into_iter()
            .map(|answer| answer.body["score"].clone())
            .collect();
    assert_eq!(
        scores,
        [json!(0.0), json!(0.5)],
        "no patient was made, and in a box there is none to be found"
    );
    let over = desk.benchmark_run(&run).await;
    assert_eq!(
        (&over["state"], &over["score"]),
        (&json!("completed"), &json!(0.25))
    );
    assert_eq!(desk.shop.live(), 0);
    for (task_run, mode) in task_runs.iter().zip([Value::Null, json!("clone")]) {
        let path = format!("/task-runs/{}/rescore", task_run["id"].as_str().unwrap());
        let again = desk.post(&path, json!({})).await;
        assert_eq!(again.status, 200, "{}", again.body);
        assert_eq!(again.body["score"], again.body["original_score"]);
        assert_eq!(again.body["scoring_mode"], mode);
    }
}

#[tokio::test]
async fn what_a_task_in_a_box_requires_is_required_in_both_dialects() {
    let desk = Desk::new().await;
    let mut body = parameters("needy");
    body["required_environment_variables"] = json!(["MODEL"]);
    let scenario = create(&desk.server, body).await;
    let benchmark = desk.benchmark(&[&scenario]).await.replace("bmd_", "bench_");
    let begin = json!({"benchmark_id": benchmark, "draft": true});
    let begun = desk.post("/benchmark-runs", begin).await;
    assert_eq!(begun.status, 201, "{}", begun.body);
    let task_run = begun.body["task_runs"][0]["id"].as_str().unwrap();
    let request = desk
        .server
        .post(&format!("/v1/task-runs/{task_run}/start"))
        .bearer_auth(begun.text("bearer_token"));
    let refused = Answer::of(request.send().await.unwrap()).await;
    insta::assert_snapshot!("start_missing_verial", refused.shape());
    assert!(desk.shop.orders().is_empty());
}

#[tokio::test]
async fn a_run_whose_token_ends_waits_for_what_is_being_scored() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("coding", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await.replace("bmd_", "bench_");
    let begin = json!({"benchmark_id": benchmark, "draft": true});
    let begun = desk.post("/benchmark-runs", begin).await;
    let minutes = |number: u64| Duration::from_secs(number * 60);
    desk.server.clock.advance(minutes(59));
    let task_run = begun.body["task_runs"][0]["id"].as_str().unwrap();
    let request = desk
        .server
        .post(&format!("/v1/task-runs/{task_run}/start"))
        .bearer_auth(begun.text("bearer_token"));
    assert_eq!(request.send().await.unwrap().status(), 200);
    let run = begun.text("benchmark_run_id").replace("br_", "bmr_");
    let path = format!("/v1/benchmark_runs/{run}/scenario_runs");
    let seen = desk.server.read(&path).await.body;
    let taken = seen["runs"][0]["id"].as_str().unwrap();
    desk.shop.slow_down(true);
    desk.act(taken, "score").await;
    desk.server.clock.advance(minutes(5));
    desk.server.engine.sweep().await.unwrap();
    assert_eq!(desk.run(taken).await["state"], "scoring");
    desk.shop.slow_down(false);
    assert_eq!(desk.leaves(taken, "scoring").await["state"], "scored");
    desk.server.engine.sweep().await.unwrap();
    let over = desk.benchmark_run(&run).await;
    assert_eq!(
        (&over["state"], &over["score"]),
        (&json!("completed"), &json!(1.0)),
        "{over:#}"
    );
}
