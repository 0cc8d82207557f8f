//! Whether a version sees harm, asked of a server: tried in the background, kept with the digest.

use std::sync::Arc;

use proctor_engine::{
    Extensions,
    admission::{Admission, FrozenVersion},
};
use proctor_testkit::eventually;
use reqwest::Method;
use serde_json::{Value, json};

use super::studio::make;
use crate::support::{Setup, TestServer};

/// Says what it was asked about.
struct Echo;

impl Admission for Echo {
    fn admit(&self, frozen: &FrozenVersion, _: &Extensions) -> Result<Value, String> {
        let simulators = frozen.environment.as_ref().map(|one| one.simulators.len());
        Ok(
            json!({"admitted": true, "tasks": frozen.definition.tasks.len(), "simulators": simulators}),
        )
    }
}

async fn published(server: &TestServer) -> String {
    let simulator = json!({"type": "Message", "name": "Messages"});
    let simulator = make(server, "/simulators", simulator).await;
    let environment = make(server, "/environments", json!({"name": "Desk"})).await;
    let link = format!("/environments/{environment}/simulators/{simulator}");
    assert_eq!(server.ask(Method::POST, &link, json!({})).await.status, 200);
    let benchmark = json!({"name": "b", "environment_id": environment, "timeout": 600});
    let benchmark = make(server, "/benchmarks", benchmark).await;
    let task = json!({"benchmark_id": benchmark, "name": "Write", "task_item": "Write."});
    make(server, "/tasks", task).await;
    let publish = format!("/benchmarks/{benchmark}/publish");
    let published = server
        .ask(Method::POST, &publish, json!({"slug": "b"}))
        .await;
    assert!(published.status < 300, "{}", published.body);
    benchmark
}

#[tokio::test]
async fn a_version_is_tried_in_the_background_and_what_was_found_is_kept() {
    let setup = Setup {
        extensions: Extensions {
            admission: Some(Arc::new(Echo)),
            ..Extensions::shipped()
        },
        ..Setup::default()
    };
    let server = setup.start().await;
    let benchmark = published(&server).await;
    let path = format!("/benchmarks/{benchmark}/versions/1/admission");
    assert_eq!(server.read(&path).await.status, 404, "nobody asked yet");
    let asked = server.ask(Method::POST, &path, json!({})).await;
    assert_eq!(
        (asked.status, asked.text("status")),
        (202, "running".to_owned())
    );
    eventually("the admission is done", async || {
        server.read(&path).await.body["status"] == "done"
    })
    .await;
    let found = server.read(&path).await;
    assert_eq!(found.body["admitted"], true, "{}", found.body);
    assert_eq!(found.body["certificate"]["tasks"], 1);
    assert_eq!(found.body["certificate"]["simulators"], 1);
    assert!(found.text("digest").starts_with("sha256:"));
    let nowhere = format!("/benchmarks/{benchmark}/versions/2/admission");
    assert_eq!(server.read(&nowhere).await.status, 404);
}

#[tokio::test]
async fn a_server_that_tries_nothing_says_so() {
    let server = TestServer::start().await;
    let benchmark = published(&server).await;
    let path = format!("/benchmarks/{benchmark}/versions/1/admission");
    let refused = server.ask(Method::POST, &path, json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
}
