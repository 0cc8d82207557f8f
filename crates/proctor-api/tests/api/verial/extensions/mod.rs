//! A simulator, a step of scenarios, evidence and a check that no crate of ours knows, used over HTTP
//! like those that are shipped.

mod pager;

use proctor_engine::Extensions;
use reqwest::Method;
use serde_json::{Value, json};

use self::pager::{PageSent, PagerPlugin};
use super::{solver, studio::make};
use crate::support::{Answer, Setup, TestServer};

async fn with_pagers() -> TestServer {
    let extensions = Extensions::shipped()
        .with_simulator(PagerPlugin)
        .with_check::<PageSent>();
    let setup = Setup {
        extensions,
        ..Setup::default()
    };
    setup.start().await
}

/// A published benchmark with one task: to answer a page.
async fn publish(server: &TestServer) {
    let pager = json!({"type": "beeper", "name": "Ward", "config": {"number": "4711"}});
    let simulator = make(server, "/simulators", pager).await;
    let environment = make(server, "/environments", json!({"name": "Ward"})).await;
    let link = format!("/environments/{environment}/simulators/{simulator}");
    assert_eq!(server.ask(Method::POST, &link, json!({})).await.status, 200);
    let benchmark = json!({"name": "Night shift", "environment_id": environment, "timeout": 600});
    let benchmark = make(server, "/benchmarks", benchmark).await;
    let task = json!({"benchmark_id": benchmark, "name": "Answer", "task_item": "Answer the page.",
        "scenario": [{"type": "page_inbound", "text": "Call the lab", "simulator": "Ward"}]});
    let task = make(server, "/tasks", task).await;
    let criterion = json!({"task_id": task, "label": "The page is answered",
        "assertion": {"assert": "page-sent", "text": "On my way"}});
    make(server, "/criteria", criterion).await;
    let publish = format!("/benchmarks/{benchmark}/publish");
    let published = server
        .ask(Method::POST, &publish, json!({"slug": "night-shift"}))
        .await;
    assert!(published.status < 300, "{}", published.body);
}

async fn ask(server: &TestServer, key: &str, method: Method, path: &str, body: Value) -> Answer {
    let request = server.request(method, path).bearer_auth(key);
    let request = request.body(body.to_string());
    Answer::of(request.send().await.unwrap()).await
}

/// Takes the benchmark, sending these pages; what the task run came to.
async fn take(server: &TestServer, solver_key: &str, pages: &[&str]) -> Answer {
    let begin = json!({"benchmark": "night-shift@1"});
    let run = ask(
        server,
        solver_key,
        Method::POST,
        "/v1/benchmark-runs",
        begin,
    )
    .await;
    assert_eq!(run.status, 201, "{}", run.body);
    let (token, id) = (run.text("bearer_token"), run.text("benchmark_run_id"));
    let pages_path = format!("/v1/benchmark-runs/{id}/pages");
    assert_eq!(run.body["endpoints"], json!({"pages": pages_path}));
    let sandbox = &run.body["sandboxes"][0];
    assert_eq!(sandbox["type"], "Pager");
    let credentials = json!({"number": "4711", "pages_url": pages_path});
    assert_eq!(sandbox["credentials"], credentials);
    let task_run = run.body["task_runs"][0]["id"].as_str().unwrap().to_owned();
    let start = format!("/v1/task-runs/{task_run}/start");
    let started = ask(server, &token, Method::POST, &start, json!({})).await;
    assert_eq!(started.status, 200, "{}", started.body);
    let waiting = ask(server, &token, Method::GET, &pages_path, json!({})).await;
    assert_eq!(
        waiting.body,
        json!({"data": [{"text": "Call the lab", "is_given": true}]})
    );
    for text in pages {
        let sent = ask(
            server,
            &token,
            Method::POST,
            &pages_path,
            json!({"text": text}),
        )
        .await;
        assert_eq!(sent.status, 201, "{}", sent.body);
    }
    let complete = format!("/v1/task-runs/{task_run}/complete");
    ask(server, &token, Method::POST, &complete, json!({})).await
}

#[tokio::test]
async fn what_is_added_from_outside_is_used_like_what_is_shipped() {
    let server = with_pagers().await;
    publish(&server).await;
    let id = make(&server, "/solvers", solver("ada")).await;
    let key = format!("/solvers/{id}/api-keys");
    let key = server.ask(Method::POST, &key, json!({})).await.text("key");
    let answered = take(&server, &key, &["On my way"]).await;
    assert_eq!(answered.body["score"], 1.0, "{}", answered.body);
    assert_eq!(answered.body["checks"][0]["result"], "pass");
    let ignored = take(&server, &key, &[]).await;
    assert_eq!(ignored.body["score"], 0.0, "{}", ignored.body);
    assert_eq!(ignored.body["checks"][0]["result"], "fail");
}

#[tokio::test]
async fn what_is_wrong_with_it_is_told_like_what_is_shipped() {
    let server = with_pagers().await;
    let unknown = json!({"type": "Telegraph", "name": "n"});
    let refused = server.ask(Method::POST, "/simulators", unknown).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.to_string().contains("CdsHooks, Pager"));
    let environment = make(&server, "/environments", json!({"name": "e"})).await;
    let benchmark = json!({"name": "b", "environment_id": environment, "timeout": 60});
    let benchmark = make(&server, "/benchmarks", benchmark).await;
    let task =
        json!({"benchmark_id": benchmark, "name": "t", "scenario": [{"type": "page_inbound"}]});
    let refused = server.ask(Method::POST, "/tasks", task).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.to_string().contains("text: is required"));
    let task = make(
        &server,
        "/tasks",
        json!({"benchmark_id": benchmark, "name": "t"}),
    )
    .await;
    let criterion = json!({"task_id": task, "label": "l", "assertion": {"assert": "page-sent"}});
    let warned = server.ask(Method::POST, "/criteria", criterion).await;
    assert_eq!(warned.status, 201);
    let warnings = warned.body["warnings"].to_string();
    assert!(
        warnings.contains("assertion.text: is required"),
        "{warnings}"
    );
}

#[tokio::test]
async fn its_configuration_is_described_and_checked_like_what_is_shipped() {
    let server = with_pagers().await;
    let pager = server
        .engine
        .extensions()
        .simulators
        .resolve("beeper")
        .unwrap();
    let schema = pager.config_schema();
    assert_eq!(schema["properties"]["number"]["type"], "string");
    assert_eq!(pager.check_config(&json!({"number": "4711"})), Ok(()));
    let refused = pager.check_config(&json!({"number": 4711})).unwrap_err();
    let places: Vec<&str> = refused.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(places, ["config.number"]);

    // What is wrong with it keeps it from being made.
    let wrong = json!({"type": "Pager", "name": "Ward", "config": {"number": 4711}});
    let refused = server.ask(Method::POST, "/simulators", wrong).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let details = refused.body["error"]["details"].as_object().unwrap();
    assert!(details.contains_key("config.number"), "{details:?}");
    assert_eq!(server.read("/simulators").await.body["data"], json!([]));
}

#[tokio::test]
async fn a_server_without_it_does_not_know_it() {
    let server = TestServer::start().await;
    let pager = json!({"type": "Pager", "name": "Ward"});
    let refused = server.ask(Method::POST, "/simulators", pager).await;
    assert_eq!(refused.status, 400);
}
