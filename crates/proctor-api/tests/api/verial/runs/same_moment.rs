//! A write and the end of its task at the same moment: what is judged is what was recorded.

use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::{Clinic, Run};

/// Writes what the first criterion of a task asks for.
async fn book(run: &Run<'_>) -> u16 {
    let appointment = json!({"resourceType": "Appointment", "id": "visit", "status": "booked", "participant": [
        {"actor": {"display": "Dr. Rivera"}, "status": "accepted"},
        {"actor": {"reference": "Patient/ada"}, "status": "accepted"}]});
    let path = "fhir/Appointment/visit";
    run.sandbox(Method::PUT, path, appointment).await.status
}

/// Whether the world of a run's first task holds the appointment.
async fn is_recorded(run: &Run<'_>) -> bool {
    let server = &run.clinic.server;
    let playground = run.task_runs[0].replacen("tr_", "pg_", 1);
    let playground = server.read(&format!("/playgrounds/{playground}")).await;
    let fhir = playground.body["sandboxes"][0]["id"].as_str().unwrap();
    let events = server
        .read(&format!("/sandboxes/{fhir}/events?limit=100"))
        .await;
    let is_booking = |event: &Value| event["payload"]["status"] == 201;
    events.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .any(is_booking)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_at_the_moment_of_completing_counts_if_it_was_acknowledged_and_only_then() {
    let clinic = Clinic::open(2, 1).await;
    for round in 0..200 {
        let run = clinic.begin_open().await;
        assert_eq!(run.start(0).await.status, 200);
        let (status, completed) = tokio::join!(book(&run), run.complete(0));
        assert_eq!(completed.status, 200, "{}", completed.body);
        let is_written = match status {
            201 => true,
            409 => false,
            other => panic!("round {round}: the write was answered {other}"),
        };
        assert_eq!(is_recorded(&run).await, is_written, "round {round}");
        let expected = if is_written { "pass" } else { "fail" };
        assert_eq!(
            completed.body["checks"][0]["result"], expected,
            "round {round}: the write was answered {status}"
        );
        let path = format!("/task-runs/{}/rescore", run.task_runs[0]);
        let again = clinic.server.ask(Method::POST, &path, json!({})).await;
        assert_eq!(
            again.body["score"], completed.body["score"],
            "round {round}"
        );
        assert_eq!(
            again.body["checks"], completed.body["checks"],
            "round {round}"
        );
        let path = format!("/task-runs/{}", run.task_runs[0]);
        let stored = clinic.server.read(&path).await;
        assert_eq!(stored.body["score"], again.body["score"], "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_started_at_the_moment_its_run_is_completed_is_judged() {
    let clinic = Clinic::open(2, 2).await;
    for round in 0..80 {
        let run = clinic.begin_open().await;
        assert_eq!(run.start(0).await.status, 200);
        let path = format!("/benchmark-runs/{}/complete", run.id);
        let complete = clinic.server.ask(Method::POST, &path, json!({}));
        let (started, completed) = tokio::join!(run.start(1), complete);
        assert_eq!(completed.status, 200, "{}", completed.body);
        let path = format!("/benchmark-runs/{}", run.id);
        let whole = clinic.server.read(&path).await.body;
        for (place, was_started) in [(0, true), (1, started.status == 200)] {
            let seen = &whole["task_runs"][place];
            let found = seen["criterion_runs"].as_array().unwrap();
            assert_eq!(!found.is_empty(), was_started, "round {round}: {seen:#}");
        }
    }
}
