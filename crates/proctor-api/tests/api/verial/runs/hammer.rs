//! Ten agents at once on one run: never two results, never a lost event, never a standstill.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::clinic::Clinic;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_agents_on_one_run_make_one_result_of_each_task() {
    let clinic = Clinic::open(2, 1).await;
    let run = clinic.begin_open().await;
    let agent = async |number: usize| {
        let mut written = 0;
        let mut results: Vec<Value> = Vec::new();
        for round in 0..6 {
            for task in 0..2 {
                run.start(task).await;
                for _ in 0..3 {
                    let patient = json!({"resourceType": "Patient", "id": format!("p{number}-{round}-{task}")});
                    let path = format!("fhir/Patient/p{number}-{round}-{task}");
                    let answer = run.sandbox(Method::PUT, &path, patient).await;
                    assert!(
                        matches!(answer.status, 200 | 201 | 409),
                        "{} {}",
                        answer.status,
                        answer.body
                    );
                    written += usize::from(answer.status < 300);
                }
                if round > number % 4 {
                    let completed = run.complete(task).await;
                    assert!(matches!(completed.status, 200 | 409), "{}", completed.body);
                    if completed.status == 200 {
                        results.push(completed.body["score"].clone());
                    }
                }
            }
        }
        (written, results)
    };
    let outcomes = join_all((0..10).map(agent)).await;
    let written: usize = outcomes.iter().map(|(written, _)| written).sum();
    let whole = clinic
        .server
        .read(&format!("/benchmark-runs/{}", run.id))
        .await;
    assert_eq!(whole.body["status"], "completed");
    let mut recorded = 0;
    for task_run in whole.body["task_runs"].as_array().unwrap() {
        assert_eq!(
            task_run["criterion_runs"].as_array().unwrap().len(),
            6,
            "one result"
        );
        let id = task_run["id"].as_str().unwrap();
        let playground = id.replacen("tr_", "pg_", 1);
        let playground = clinic
            .server
            .read(&format!("/playgrounds/{playground}"))
            .await;
        let fhir = playground.body["sandboxes"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let mut path = format!("/sandboxes/{fhir}/events?limit=100");
        loop {
            let page = clinic.server.read(&path).await;
            let is_write = |event: &&Value| {
                event["payload"]["method"] == "PUT"
                    && event["payload"]["status"].as_u64().unwrap() < 300
            };
            recorded += page.body["data"]
                .as_array()
                .unwrap()
                .iter()
                .filter(is_write)
                .count();
            match page.body["next_cursor"].as_str() {
                Some(cursor) => {
                    path = format!("/sandboxes/{fhir}/events?limit=100&cursor={cursor}");
                }
                None => break,
            }
        }
    }
    assert_eq!(
        recorded, written,
        "every acknowledged write is an event, and nothing else is"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_in_the_middle_leaves_one_truth() {
    let clinic = Clinic::open(2, 2).await;
    let run = clinic.begin_open().await;
    run.start(0).await;
    run.start(1).await;
    let agents = join_all((0..8).map(async |number: usize| {
        let patient = json!({"resourceType": "Patient"});
        let path = format!("fhir/Patient?task_run_id={}", run.task_runs[number % 2]);
        for _ in 0..10 {
            run.sandbox(Method::POST, &path, patient.clone()).await;
        }
        run.complete(number % 2).await.status
    }));
    let cancel = format!("/benchmark-runs/{}/cancel", run.id);
    let cancelling = clinic.server.ask(Method::POST, &cancel, json!({}));
    let (statuses, cancelled) = tokio::join!(agents, cancelling);
    assert!(
        statuses
            .iter()
            .all(|status| matches!(status, 200 | 401 | 409)),
        "{statuses:?}"
    );
    assert!(matches!(cancelled.status, 200 | 409), "{}", cancelled.body);
    let whole = clinic
        .server
        .read(&format!("/benchmark-runs/{}", run.id))
        .await;
    assert_ne!(whole.body["status"], "active");
    for task_run in whole.body["task_runs"].as_array().unwrap() {
        let found = task_run["criterion_runs"].as_array().unwrap().len();
        let expected = if task_run["status"] == "completed" {
            6
        } else {
            0
        };
        assert_eq!(found, expected, "{task_run}");
    }
}
