//! An `x-request-id` of the client's own makes a request one that is done once.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::{Answer, TestServer};

fn create(server: &TestServer, id: &str, name: &str) -> RequestBuilder {
    server
        .own(Method::POST, "/v1/secrets")
        .header("x-request-id", id)
        .body(json!({"name": name, "value": "v"}).to_string())
}

async fn answered(request: RequestBuilder) -> Answer {
    Answer::of(request.send().await.unwrap()).await
}

async fn count(server: &TestServer) -> Value {
    server.read("/v1/secrets").await.body["total_count"].clone()
}

#[tokio::test]
async fn a_repetition_gets_the_first_answer() {
    let server = TestServer::start().await;
    let first = answered(create(&server, "once", "A")).await;
    let second = answered(create(&server, "once", "A")).await;
    assert_eq!(first.status, 200);
    assert_eq!(first.shape(), second.shape());
    assert_eq!(count(&server).await, 1);
}

#[tokio::test]
async fn concurrent_repetitions_wait_for_the_first() {
    let server = TestServer::start().await;
    let asked = (0..20).map(|_| answered(create(&server, "once", "A")));
    let answers = futures::future::join_all(asked).await;
    for answer in &answers {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, answers[0].body);
    }
    assert_eq!(count(&server).await, 1);
}

#[tokio::test]
async fn the_same_id_with_another_body_is_refused() {
    let server = TestServer::start().await;
    answered(create(&server, "once", "A")).await;
    let other = answered(create(&server, "once", "B")).await;
    insta::assert_snapshot!("other_body", other.shape());
    assert_eq!(count(&server).await, 1);
}

#[tokio::test]
async fn an_id_is_a_key_only_for_its_caller_method_and_path() {
    let server = TestServer::start().await;
    answered(create(&server, "once", "A")).await;
    let update = server
        .own(Method::POST, "/v1/secrets/A")
        .header("x-request-id", "once")
        .body(json!({"value": "w"}).to_string());
    assert_eq!(answered(update).await.status, 200);
    let foreign = server
        .post("/v1/secrets")
        .bearer_auth(server.foreign_key().await)
        .header("x-request-id", "once")
        .body(json!({"name": "B", "value": "v"}).to_string());
    assert_eq!(answered(foreign).await.text("name"), "B");
}

#[tokio::test]
async fn a_refusal_is_kept_too() {
    let server = TestServer::start().await;
    let refused = answered(create(&server, "once", "two\nlines")).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        answered(create(&server, "once", "two\nlines"))
            .await
            .shape(),
        refused.shape()
    );
}

#[tokio::test]
async fn an_answer_is_kept_for_a_day() {
    let server = TestServer::start().await;
    answered(create(&server, "once", "A")).await;
    server.clock.advance(Duration::from_secs(24 * 3600 - 1));
    assert_eq!(answered(create(&server, "once", "A")).await.status, 200);
    server.clock.advance(Duration::from_secs(1));
    let late = answered(create(&server, "once", "A")).await;
    assert_eq!(late.status, 400, "done again, and the name is taken by now");
}

#[tokio::test]
async fn a_fault_of_the_server_is_not_kept() {
    let server = TestServer::start().await;
    let ask = || {
        server
            .own(Method::POST, "/v1/test/fails-once")
            .header("x-request-id", "once")
    };
    assert_eq!(answered(ask()).await.status, 500);
    assert_eq!(answered(ask()).await.status, 200);
    assert_eq!(answered(ask()).await.status, 200);
}

#[tokio::test]
async fn a_client_that_gave_up_gets_the_answer_when_it_asks_again() {
    let server = TestServer::start().await;
    let ask = || {
        server
            .own(Method::POST, "/v1/test/counts-slowly")
            .header("x-request-id", "once")
    };
    ask()
        .timeout(Duration::from_millis(50))
        .send()
        .await
        .unwrap_err();
    let again = answered(ask()).await;
    assert_eq!(again.body, json!({"times": 1}));
}

#[tokio::test]
async fn without_an_id_and_for_reads_and_in_the_other_dialect_nothing_is_kept() {
    let server = TestServer::start().await;
    let counting =
        |request: RequestBuilder| async { answered(request).await.body["times"].clone() };
    let fresh = |id: &str| {
        server
            .own(Method::POST, "/v1/test/counts")
            .header("x-request-id", id)
    };
    let without = || server.own(Method::POST, "/v1/test/counts");
    let read = || {
        server
            .own(Method::GET, "/v1/test/counts")
            .header("x-request-id", "r")
    };
    let verial = || {
        server
            .own(Method::POST, "/test/counts")
            .header("x-request-id", "v")
    };
    assert_eq!(counting(without()).await, 1);
    assert_eq!(counting(without()).await, 2);
    assert_eq!(counting(read()).await, 3);
    assert_eq!(counting(read()).await, 4);
    assert_eq!(counting(verial()).await, 5);
    assert_eq!(counting(verial()).await, 6);
    assert_eq!(counting(fresh("a")).await, 7);
    assert_eq!(counting(fresh("a")).await, 7);
    assert_eq!(counting(fresh(&"x".repeat(129))).await, 8);
    assert_eq!(counting(fresh(&"x".repeat(129))).await, 9);
}

#[tokio::test]
async fn an_id_does_not_open_doors() {
    let server = TestServer::start().await;
    answered(create(&server, "once", "A")).await;
    let stranger = server
        .post("/v1/secrets")
        .header("x-request-id", "once")
        .body(json!({"name": "A", "value": "v"}).to_string());
    assert_eq!(answered(stranger).await.status, 401);
    let nowhere = server.own(Method::POST, "/v1/nowhere");
    let nowhere = nowhere.header("x-request-id", "once");
    assert_eq!(answered(nowhere).await.status, 404);
    let large = server.own(Method::POST, "/v1/secrets");
    let large = large.header("x-request-id", "big").body("x".repeat(70_000));
    assert_eq!(answered(large).await.status, 413);
}
