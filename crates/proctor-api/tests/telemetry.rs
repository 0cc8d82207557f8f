//! Traces reach a collector. Logs and traces are set up once per process, so this test has one of
//! its own.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on stops where it is"
)]

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, routing};
use http::HeaderMap;
use proctor_api::{
    Api, ApiOptions, ApiState,
    metrics::Metrics,
    server::{Server, ServerOptions},
    telemetry::{self, LogFormat, TelemetryOptions},
};
use proctor_engine::{Engine, Extensions};
use proctor_store::{
    Store, StoreOptions,
    ambient::{RandomIds, SystemClock},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// What the collector was sent.
type Received = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

async fn collect(State(received): State<Received>, headers: HeaderMap, body: Bytes) {
    received.lock().unwrap().push((headers, body));
}

async fn start_collector(tasks: &TaskTracker) -> (String, Received) {
    let received = Received::default();
    let router = Router::new()
        .route("/v1/traces", routing::post(collect))
        .with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    tasks.spawn(async move { axum::serve(listener, router).await });
    (address, received)
}

async fn start_server(tasks: &TaskTracker, data: &std::path::Path) -> String {
    let ids = Arc::new(RandomIds::default());
    let store = Store::open(
        &StoreOptions::embedded(data),
        Arc::new(SystemClock),
        ids.clone(),
    )
    .await
    .unwrap();
    let metrics = Metrics::new();
    let engine = Engine::new(
        store,
        Arc::new(SystemClock),
        "http://localhost",
        None,
        Extensions::shipped(),
    );
    let state = ApiState::new(ApiOptions::default(), engine, None, ids, metrics.clone());
    let options = ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        ..ServerOptions::default()
    };
    let server = Server::bind(options, metrics).await.unwrap();
    let address = format!("http://{}", server.local_addr());
    let router = Api::new().into_router(state);
    tasks.spawn(server.serve(router, CancellationToken::new()));
    address
}

fn contains(body: &[u8], wanted: &[u8]) -> bool {
    body.windows(wanted.len()).any(|window| window == wanted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_becomes_a_span_of_the_clients_trace() {
    let tasks = TaskTracker::new();
    let data = tempfile::tempdir().unwrap();
    let (collector, received) = start_collector(&tasks).await;
    let telemetry = telemetry::install(&TelemetryOptions {
        filter: "info".to_owned(),
        format: LogFormat::Json,
        otlp_endpoint: Some(collector),
        service_name: "examiner-under-test".to_owned(),
    })
    .unwrap();
    let server = start_server(&tasks, data.path()).await;

    let trace = [0xab; 16];
    let answer = reqwest::Client::new()
        .get(format!("{server}/v1/no/such/thing"))
        .header("x-request-id", "the-request-in-question")
        .header(
            "traceparent",
            format!("00-{}-00f067aa0ba902b7-01", "ab".repeat(16)),
        )
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 404);
    tokio::task::spawn_blocking(|| telemetry.shutdown())
        .await
        .unwrap();

    let received = received.lock().unwrap();
    let (headers, body) = received
        .iter()
        .find(|(_, body)| contains(body, b"the-request-in-question"))
        .expect("the span was exported");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    for wanted in [
        &b"examiner-under-test"[..],
        b"request",
        b"/v1/no/such/thing",
        b"runloop",
        &trace,
    ] {
        assert!(contains(body, wanted), "{}", wanted.escape_ascii());
    }
    assert!(
        telemetry::install(&TelemetryOptions::default()).is_err(),
        "logs are set up once"
    );
}
