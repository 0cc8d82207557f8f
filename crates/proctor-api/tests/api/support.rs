//! A server for one test, on a port that the system chooses, gone when the test ends.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, routing};
use proctor_api::{
    Api, ApiOptions, ApiState,
    extract::Json,
    metrics::Metrics,
    server::{Drained, Server, ServerOptions},
};
use proctor_core::id::IdSource;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

/// A running server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) client: Client,
    pub(crate) stop: CancellationToken,
    pub(crate) ended: JoinHandle<Drained>,
}

/// What a test can choose about its server.
pub(crate) struct Setup {
    pub(crate) api: ApiOptions,
    pub(crate) server: ServerOptions,
    pub(crate) routes: OpenApiRouter<ApiState>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            api: ApiOptions {
                body_limit: 64 << 10,
                ..ApiOptions::default()
            },
            server: ServerOptions {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                ..ServerOptions::default()
            },
            routes: misbehaving_routes(),
        }
    }
}

impl Setup {
    pub(crate) async fn start(self) -> TestServer {
        let metrics = Metrics::new();
        let ids: Arc<dyn IdSource> = Arc::new(Ids::default());
        let state = ApiState::new(self.api, ids, metrics.clone());
        let router = Api::new()
            .with_routes(self.routes)
            .unhurried("/test/unhurried")
            .into_router(state);
        let server = Server::bind(self.server, metrics).await.unwrap();
        let address = server.local_addr();
        let stop = CancellationToken::new();
        let ended = serve(server, router, stop.clone());
        TestServer {
            address,
            client: Client::new(),
            stop,
            ended,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test owns the handle and the process ends with the test"
)]
fn serve(
    server: proctor_api::server::BoundServer,
    router: Router,
    stop: CancellationToken,
) -> JoinHandle<Drained> {
    tokio::spawn(server.serve(router, stop))
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Setup::default().start().await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.url(path))
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Rising ids that need no randomness.
#[derive(Default)]
struct Ids(std::sync::atomic::AtomicU64);

impl IdSource for Ids {
    fn next_uuid(&self) -> uuid::Uuid {
        let next = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        uuid::Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(next))
    }
}

/// Routes with faults that no real route has, at a path of each dialect.
fn misbehaving_routes() -> OpenApiRouter<ApiState> {
    async fn panics() -> &'static str {
        panic!("the handler's own words")
    }
    async fn sleeps() -> &'static str {
        tokio::time::sleep(Duration::from_millis(300)).await;
        "slept"
    }
    async fn never() -> &'static str {
        std::future::pending().await
    }
    async fn echo(Json(value): Json<Value>) -> Json<Value> {
        Json(value)
    }
    OpenApiRouter::new()
        .route("/test/panics", routing::get(panics))
        .route("/v1/test/panics", routing::get(panics))
        .route("/test/sleeps", routing::get(sleeps))
        .route("/test/unhurried", routing::get(sleeps))
        .route("/test/never", routing::get(never))
        .route("/v1/test/never", routing::get(never))
        .route("/test/echo", routing::post(echo))
        .route("/v1/test/echo", routing::post(echo))
}

/// Status, telling headers and body of an answer, for snapshots.
pub(crate) async fn shape(response: Response) -> Value {
    const TELLING: [&str; 6] = [
        "allow",
        "content-type",
        "retry-after",
        "www-authenticate",
        "x-should-retry",
        "location",
    ];
    let status = response.status().as_u16();
    let headers: serde_json::Map<String, Value> = response
        .headers()
        .iter()
        .filter(|(name, _)| TELLING.contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
        .collect();
    assert!(
        response.headers().contains_key("x-request-id"),
        "every answer carries a request id"
    );
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    serde_json::json!({"status": status, "headers": headers, "body": body})
}
