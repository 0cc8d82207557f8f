//! What the log says of a request, and what it never says.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use reqwest::Method;
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use crate::support::{Answer, TestServer};

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Collects what this thread logs from here on.
    fn start() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The lines about one request.
    fn about(&self, request_id: &str) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|line: &Value| {
                line["request_id"] == request_id || line["span"]["request_id"] == request_id
            })
            .collect()
    }
}

#[tokio::test]
async fn a_panic_is_logged_with_its_words_and_the_requests_id() {
    let (log, _guard) = Log::start();
    let server = TestServer::start().await;
    let ask = server.get("/test/panics").header("x-request-id", "boom");
    ask.send().await.unwrap();
    let lines = log.about("boom");
    let [line] = &lines[..] else {
        panic!("one line, not {lines:?}");
    };
    assert_eq!(line["level"], "ERROR");
    assert_eq!(line["status"], 500);
    assert_eq!(line["cause"], "a handler panicked: the handler's own words");
}

#[tokio::test]
async fn the_cause_of_an_unavailable_database_is_logged_and_not_told() {
    let (log, _guard) = Log::start();
    let server = TestServer::start().await;
    server.store.close().await;
    let ask = server.get("/readyz").header("x-request-id", "gone");
    let answer = Answer::of(ask.send().await.unwrap()).await;
    assert!(!answer.shape().contains("pool"), "{}", answer.shape());
    let lines = log.about("gone");
    let causes: Vec<_> = lines
        .iter()
        .filter_map(|line| line["cause"].as_str())
        .collect();
    assert_eq!(causes.len(), 1, "{lines:?}");
    assert!(causes[0].contains("closed"), "{causes:?}");
}

#[tokio::test]
async fn an_access_line_says_who_asked_for_what_and_holds_no_secret() {
    let (log, _guard) = Log::start();
    let server = TestServer::start().await;
    let ask = server
        .own(Method::POST, "/v1/secrets")
        .header("x-request-id", "put")
        .body(json!({"name": "TOKEN", "value": "hush-hush"}).to_string());
    ask.send().await.unwrap();
    let lines = log.about("put");
    let [line] = &lines[..] else {
        panic!("one line, not {lines:?}");
    };
    assert_eq!(line["status"], 200);
    let span = &line["span"];
    assert_eq!(span["method"], "POST");
    assert_eq!(span["route"], "/v1/secrets");
    assert_eq!(span["organization"], server.organization.to_string());
    assert!(span["caller"].as_str().unwrap().starts_with("key_"));
    assert!(span["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    for secret in [&server.key, "hush-hush"] {
        assert!(!log.text().contains(secret));
    }
}
