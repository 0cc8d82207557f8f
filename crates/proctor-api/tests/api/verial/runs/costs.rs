//! How much a task asks of the database, however many its run has. What grows here makes every run slower: whoever changes a number knows why.

use std::fmt::Write as _;

use proctor_store::DatabaseCounts;
use reqwest::Method;
use serde_json::json;

use super::clinic::{Clinic, Run, make};
use crate::support::costs;

/// What each step of a task asks of the database: started, one write, completed.
async fn of_a_task(run: &Run<'_>, number: usize) -> [(&'static str, DatabaseCounts); 3] {
    let server = &run.clinic.server;
    let before = server.store.counters();
    assert!(run.start(number).await.status < 300);
    let start = server.asked_since(before).await;
    let before = server.store.counters();
    let patient = json!({"resourceType": "Patient", "id": "new"});
    let written = run.sandbox(Method::PUT, "fhir/Patient/new", patient).await;
    assert_eq!(written.status, 201, "{}", written.body);
    let write = server.asked_since(before).await;
    let before = server.store.counters();
    assert!(run.complete(number).await.status < 300);
    let complete = server.asked_since(before).await;
    [("start", start), ("write", write), ("complete", complete)]
}

#[tokio::test]
async fn a_task_asks_so_much_of_the_database() {
    let clinic = Clinic::open(3, 1).await;
    clinic.server.trust_credentials();
    let run = clinic.begin_open().await;
    // The first begins the run, the last ends it.
    of_a_task(&run, 0).await;
    let mut told = String::new();
    for (step, asked) in of_a_task(&run, 1).await {
        writeln!(told, "{step:<10}{}", costs(asked)).unwrap();
    }
    insta::assert_snapshot!("costs_of_a_task", told);
}

#[tokio::test]
async fn taking_a_benchmark_asks_so_much_of_the_database() {
    let clinic = Clinic::open(1, 1).await;
    clinic.server.trust_credentials();
    // The first reads the definition and the key.
    clinic.begin_open().await;
    let before = clinic.server.store.counters();
    clinic.begin_open().await;
    let asked = clinic.server.asked_since(before).await;
    insta::assert_snapshot!("costs_of_taking_a_benchmark", costs(asked));
}

/// A benchmark of so many tasks that ask for nothing but their end, published.
async fn publish_many(clinic: &Clinic, tasks: usize) -> String {
    let server = &clinic.server;
    let body = json!({"name": "Many", "environment_id": clinic.environment, "timeout": 600});
    let benchmark = make(server, "/benchmarks", body).await;
    for number in 0..tasks {
        let body = json!({"benchmark_id": benchmark, "name": format!("Task {number}")});
        let task = make(server, "/tasks", body).await;
        let assertion = json!({"assert": "fhir-resource-state", "resource_type": "Patient", "search": {"_id": "new"}});
        let body = json!({"task_id": task, "label": "Registered", "assertion": assertion});
        make(server, "/criteria", body).await;
    }
    let slug = format!("many-{tasks}");
    let path = format!("/benchmarks/{benchmark}/publish");
    let published = server.ask(Method::POST, &path, json!({"slug": slug})).await;
    assert!(published.status < 300, "{}", published.body);
    slug
}

#[tokio::test]
async fn a_task_asks_the_same_of_the_database_in_a_small_run_and_in_a_large_one() {
    let clinic = Clinic::open(1, 1).await;
    clinic.server.trust_credentials();
    let mut asked = Vec::new();
    for tasks in [10, 500] {
        let slug = publish_many(&clinic, tasks).await;
        let run = clinic
            .begin(json!({"benchmark": format!("{slug}@1")}))
            .await;
        of_a_task(&run, 0).await;
        asked.push(of_a_task(&run, 1).await);
    }
    assert_eq!(asked[0], asked[1]);
}
