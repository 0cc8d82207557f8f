//! The rules of a run's life.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::Clinic;

#[tokio::test]
async fn one_task_at_a_time_unless_the_benchmark_allows_more() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    let second = run.start(1).await;
    insta::assert_snapshot!("second_start", second.shape());
    run.complete(0).await;
    assert_eq!(run.start(1).await.status, 200);

    let clinic = Clinic::open(3, 2).await;
    let run = clinic.begin_open().await;
    assert_eq!(run.start(0).await.status, 200);
    assert_eq!(run.start(1).await.status, 200);
    assert_eq!(run.start(2).await.status, 409);
    let unclear = run.sandbox(Method::GET, "hl7/inbox", Value::Null).await;
    insta::assert_snapshot!("which_task", unclear.shape());
    let new = json!({"resourceType": "Patient", "id": "only-here"});
    let path = format!("fhir/Patient/only-here?task_run_id={}", run.task_runs[1]);
    assert_eq!(run.sandbox(Method::PUT, &path, new).await.status, 201);
    let seen = async |number: usize| {
        let path = format!(
            "/v1/task-runs/{}/fhir/Patient/only-here",
            run.task_runs[number]
        );
        run.ask(Method::GET, &path, Value::Null).await.status
    };
    assert_eq!((seen(0).await, seen(1).await), (404, 200));
    let chosen = run
        .request(
            Method::GET,
            &format!("/v1/benchmark-runs/{}/fhir/Patient/only-here", run.id),
        )
        .header("X-Task-Run", &run.task_runs[1])
        .send()
        .await
        .unwrap();
    assert_eq!(chosen.status(), 200);
}

#[tokio::test]
async fn tasks_that_begin_and_end_at_the_same_moment_see_each_other() {
    let clinic = Clinic::open(2, 1).await;
    for _ in 0..8 {
        let run = clinic.begin_open().await;
        let (one, other) = tokio::join!(run.start(0), run.start(1));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{} {}", one.body, other.body);
    }
    let clinic = Clinic::open(2, 2).await;
    for _ in 0..8 {
        let run = clinic.begin_open().await;
        tokio::join!(run.start(0), run.start(1));
        let (one, other) = tokio::join!(run.complete(0), run.complete(1));
        assert_eq!((one.status, other.status), (200, 200));
        assert_eq!(run.look().await.body["phase"], "completed");
    }
}

#[tokio::test]
async fn what_is_not_started_can_neither_be_used_nor_completed() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    let answer = run.sandbox(Method::GET, "hl7/inbox", Value::Null).await;
    insta::assert_snapshot!("nothing_started", answer.shape());
    insta::assert_snapshot!("complete_before_start", run.complete(0).await.shape());
    run.start(0).await;
    let nowhere = run.sandbox(Method::GET, "telegraph", Value::Null).await;
    assert_eq!(nowhere.status, 404);
    let missing = run.sandbox(Method::GET, "cds-services", Value::Null).await;
    insta::assert_snapshot!("no_such_simulator", missing.shape());
}

#[tokio::test]
async fn a_task_that_takes_too_long_counts_zero_and_the_run_goes_on() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    clinic.server.clock.advance(Duration::from_secs(600));
    let late = run.sandbox(Method::GET, "hl7/inbox", Value::Null).await;
    assert_eq!(late.status, 409, "{}", late.body);
    insta::assert_snapshot!("timed_out", run.complete(0).await.shape());
    assert_eq!(run.start(1).await.status, 200);
    run.solve().await;
    let last = run.complete(1).await;
    assert_eq!(last.body["benchmark_run"]["score"], 0.5);
    let axes = run.look().await.body["axes"].clone();
    for axis in ["workflow", "payer", "safety"] {
        let expected = json!({"score": 0.5, "weight": 4.0});
        assert_eq!(axes[axis], expected, "it counts zero on its axes too");
    }
    assert_eq!(run.start(0).await.status, 409);
}

#[tokio::test]
async fn a_complete_just_before_the_deadline_counts() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    clinic.server.clock.advance(Duration::from_millis(599_999));
    let completed = run.complete(0).await;
    assert_eq!(
        (completed.text("status").as_str(), &completed.body["score"]),
        ("completed", &json!(1.0))
    );
}

#[tokio::test]
async fn cancelling_keeps_results_and_ends_the_token() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    run.complete(0).await;
    run.start(1).await;
    let cancel = format!("/benchmark-runs/{}/cancel", run.id);
    let cancelled = clinic.server.ask(Method::POST, &cancel, json!({})).await;
    insta::assert_snapshot!("cancelled", cancelled.shape());
    assert_eq!(run.complete(1).await.status, 401, "the token died");
    let again = clinic.server.ask(Method::POST, &cancel, json!({})).await;
    assert_eq!((again.status, &again.body), (200, &cancelled.body));
    let whole = clinic
        .server
        .read(&format!("/benchmark-runs/{}", run.id))
        .await;
    assert_eq!(whole.body["score"], Value::Null);
    assert_eq!(whole.body["task_runs"][0]["score"], 1.0);
    assert_eq!(whole.body["task_runs"][1]["status"], "cancelled");
    assert_eq!(whole.body["task_runs"][1]["score"], Value::Null);
    let internal = format!("/task-runs/{}/complete", run.task_runs[1]);
    assert_eq!(
        clinic
            .server
            .ask(Method::POST, &internal, json!({}))
            .await
            .status,
        409
    );
}

#[tokio::test]
async fn a_completed_run_cannot_be_cancelled() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.complete(0).await;
    let cancel = format!("/benchmark-runs/{}/cancel", run.id);
    let refused = clinic.server.ask(Method::POST, &cancel, json!({})).await;
    insta::assert_snapshot!("cancel_completed", refused.shape());
}

#[tokio::test]
async fn a_run_may_be_completed_early_and_the_rest_counts_zero() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    run.complete(0).await;
    let complete = format!("/benchmark-runs/{}/complete", run.id);
    let done = clinic.server.ask(Method::POST, &complete, json!({})).await;
    assert_eq!(
        (
            done.status,
            &done.body["score"],
            done.text("verdict").as_str()
        ),
        (200, &json!(0.5), "partial")
    );
}

#[tokio::test]
async fn a_token_ends_and_what_is_left_ends_with_it() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    clinic
        .server
        .clock
        .advance(Duration::from_secs(2 * 60 * 60));
    assert_eq!(run.look().await.status, 401);
    clinic.server.engine.sweep().await.unwrap();
    let whole = clinic
        .server
        .read(&format!("/benchmark-runs/{}", run.id))
        .await;
    assert_eq!(whole.body["status"], "completed");
    assert_eq!(whole.body["score"], 0.0);
    assert_eq!(whole.body["task_runs"][0]["status"], "timed_out");
    assert_eq!(whole.body["task_runs"][1]["status"], "failed");
}

#[tokio::test]
async fn nothing_leaks_from_one_task_run_to_the_next() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.solve().await;
    run.complete(0).await;
    run.start(1).await;
    let count = run
        .sandbox(Method::GET, "fhir/Appointment?_summary=count", Value::Null)
        .await;
    assert_eq!(count.body["total"], 0);
    assert_eq!(run.complete(1).await.body["score"], 0.0);
}

#[tokio::test]
async fn an_edited_benchmark_never_changes_a_run_under_way() {
    let clinic = Clinic::open(1, 1).await;
    let run = clinic.begin_open().await;
    for criterion in &clinic.criteria {
        let path = format!("/criteria/{criterion}");
        let gone = clinic
            .server
            .own(Method::DELETE, &path)
            .send()
            .await
            .unwrap();
        assert_eq!(gone.status(), 204);
    }
    run.start(0).await;
    run.solve().await;
    let completed = run.complete(0).await;
    assert_eq!(completed.body["checks"].as_array().unwrap().len(), 6);
    assert_eq!(completed.body["score"], 1.0);
}
