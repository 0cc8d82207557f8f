//! A server for one test, on a port that the system chooses, gone when the test ends.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, routing};
use proctor_api::{
    Api, ApiOptions, ApiState, OfferedDevboxes,
    extract::Json,
    metrics::Metrics,
    server::{Drained, Server, ServerOptions},
};
use proctor_core::{
    id::{IdSource, kinds::OrganizationId},
    time::{ManualClock, Timestamp},
};
use proctor_engine::{Engine, Extensions, scenarios::Workshop};
use proctor_fleet::Fleet;
use proctor_store::{
    DatabaseCounts, MasterKey, Store, StoreOptions,
    credentials::{KeyOwner, PlainKey},
};
use reqwest::{Client, Method, RequestBuilder, Response};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

/// A running server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) client: Client,
    pub(crate) stop: CancellationToken,
    pub(crate) ended: JoinHandle<Drained>,
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) organization: OrganizationId,
    /// The key of the organization.
    pub(crate) key: String,
    data: tempfile::TempDir,
}

/// What a test can choose about its server.
pub(crate) struct Setup {
    pub(crate) api: ApiOptions,
    pub(crate) server: ServerOptions,
    pub(crate) routes: OpenApiRouter<ApiState>,
    pub(crate) extensions: Extensions,
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
            extensions: Extensions::shipped(),
        }
    }
}

impl Setup {
    pub(crate) async fn start(self) -> TestServer {
        self.start_as(|_, _| std::future::ready((None, None, ())))
            .await
            .0
    }

    /// The same with devboxes.
    pub(crate) async fn start_with<F: Future<Output = Fleet>>(
        self,
        fleet: impl FnOnce(Store, Arc<ManualClock>) -> F,
    ) -> (TestServer, Fleet) {
        let devboxes = |store, clock| async move {
            let fleet = fleet(store, clock).await;
            let offered = OfferedDevboxes {
                fleet: fleet.clone(),
                blueprints: None,
                ssh: None,
            };
            let workshop = Workshop::on(&fleet);
            (Some(offered), Some(workshop), fleet)
        };
        self.start_as(devboxes).await
    }

    /// The same without devboxes, with boxes for scenarios that are the test's own.
    pub(crate) async fn start_in(self, workshop: Workshop) -> TestServer {
        let boxes = |_, _| std::future::ready((None, Some(workshop), ()));
        self.start_as(boxes).await.0
    }

    pub(crate) async fn start_as<
        T,
        F: Future<Output = (Option<OfferedDevboxes>, Option<Workshop>, T)>,
    >(
        self,
        boxes: impl FnOnce(Store, Arc<ManualClock>) -> F,
    ) -> (TestServer, T) {
        let metrics = Metrics::new();
        let ids: Arc<dyn IdSource> = Arc::new(Ids::default());
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_776_790_800_000)));
        let data = tempfile::tempdir().unwrap();
        let mut options = StoreOptions::embedded(data.path());
        // Always the same, so that what follows from it can be pinned.
        options.master_key =
            Some(MasterKey::from_base64("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap());
        let store = Store::open(&options, clock.clone(), Arc::clone(&ids))
            .await
            .unwrap();
        let (organization, issued) = store
            .bootstrap("Test Clinic", PlainKey::Random)
            .await
            .unwrap()
            .unwrap();
        let server = Server::bind(self.server, metrics.clone()).await.unwrap();
        let address = server.local_addr();
        let (offered, workshop, more) = boxes(store.clone(), clock.clone()).await;
        let url = format!("http://{address}");
        let engine = Engine::new(
            store.clone(),
            clock.clone(),
            &url,
            workshop,
            self.extensions,
        );
        engine.run().await.unwrap();
        let state = ApiState::new(self.api, engine.clone(), offered, ids, metrics);
        let router = Api::new()
            .with_routes(self.routes)
            .unhurried("/test/unhurried")
            .into_router(state);
        let stop = CancellationToken::new();
        let ended = serve(server, router, stop.clone());
        let server = TestServer {
            address,
            client: Client::new(),
            stop,
            ended,
            store,
            engine,
            clock,
            organization: organization.id,
            key: issued.secret.expose_secret().to_owned(),
            data,
        };
        (server, more)
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
    /// Lets nothing more be kept, as on a full disk: the directory of the blobs becomes a file.
    pub(crate) async fn fill_up(&self) {
        let blobs = self.data.path().join("blobs");
        if blobs.exists() {
            fs_err::remove_dir_all(&blobs).unwrap();
        }
        fs_err::write(&blobs, "").unwrap();
    }

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

    /// A request with the organization's key.
    pub(crate) fn own(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).bearer_auth(&self.key)
    }

    /// The answer to a request with the organization's key and a body.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = self.own(method, path).body(body.to_string());
        Answer::of(request.send().await.unwrap()).await
    }

    /// The answer to a read with the organization's key.
    pub(crate) async fn read(&self, path: &str) -> Answer {
        Answer::of(self.own(Method::GET, path).send().await.unwrap()).await
    }

    /// Another store on the same database, whose questions do not count among the server's.
    pub(crate) async fn onlooker(&self) -> Store {
        let options = StoreOptions::embedded(self.data.path());
        Store::open(&options, self.clock.clone(), Arc::new(Ids::default()))
            .await
            .unwrap()
    }

    /// Lets no credential be looked up a second time, however slow the machine is: tests that count what is asked of the database.
    pub(crate) fn trust_credentials(&self) {
        self.store.trust_credentials_for(Duration::from_secs(3600));
    }

    /// What was asked of the database since `before`, as soon as nothing more is asked.
    pub(crate) async fn asked_since(&self, before: DatabaseCounts) -> DatabaseCounts {
        const QUIET_LOOKS: u32 = 4;
        let (mut seen, mut quiet) = (self.store.counters(), 0);
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.store.counters();
            quiet = if now == seen { quiet + 1 } else { 0 };
            if quiet == QUIET_LOOKS {
                return now - before;
            }
            seen = now;
        }
    }

    /// Whether there are devboxes, or only what a test put in their place.
    pub(crate) async fn has_devboxes(&self) -> bool {
        self.read("/v1/devboxes?limit=1").await.status == 200
    }

    /// A second organization's key.
    pub(crate) async fn foreign_key(&self) -> String {
        let other = self.store.create_organization("Other").await.unwrap();
        let issued = self
            .store
            .create_key(other.id, KeyOwner::Organization, None, PlainKey::Random)
            .await
            .unwrap()
            .unwrap();
        issued.secret.expose_secret().to_owned()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// What was asked of a database, for snapshots.
pub(crate) fn costs(counts: DatabaseCounts) -> String {
    let DatabaseCounts {
        statements,
        commits,
        rows_read,
    } = counts;
    format!("{statements:>4} statements {commits:>4} commits {rows_read:>5} rows read")
}

/// Rising ids that need no randomness.
#[derive(Default)]
struct Ids(AtomicU64);

impl IdSource for Ids {
    fn next_uuid(&self) -> uuid::Uuid {
        let next = self.0.fetch_add(1, Ordering::Relaxed);
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
    let calls = Arc::new(AtomicU64::new(0));
    let counts = {
        let calls = Arc::clone(&calls);
        move || async move { Json(json!({"times": calls.fetch_add(1, Ordering::SeqCst) + 1})) }
    };
    let counts_slowly = {
        let calls = Arc::clone(&calls);
        move || async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Json(json!({"times": calls.fetch_add(1, Ordering::SeqCst) + 1}))
        }
    };
    let fails_once = move || async move {
        match calls.fetch_add(1, Ordering::SeqCst) {
            0 => panic!("the first time"),
            _ => Json(json!({})),
        }
    };
    OpenApiRouter::new()
        .route("/test/counts", routing::post(counts.clone()))
        .route("/v1/test/counts", routing::get(counts.clone()).post(counts))
        .route("/v1/test/counts-slowly", routing::post(counts_slowly))
        .route("/v1/test/fails-once", routing::post(fails_once))
        .route("/test/panics", routing::get(panics))
        .route("/v1/test/panics", routing::get(panics))
        .route("/test/sleeps", routing::get(sleeps))
        .route("/test/unhurried", routing::get(sleeps))
        .route("/test/never", routing::get(never))
        .route("/v1/test/never", routing::get(never))
        .route("/test/echo", routing::post(echo))
        .route("/v1/test/echo", routing::post(echo))
}

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: serde_json::Map<String, Value>,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        const TELLING: [&str; 5] = [
            "allow",
            "content-type",
            "retry-after",
            "www-authenticate",
            "x-should-retry",
        ];
        assert!(
            response.headers().contains_key("x-request-id"),
            "every answer carries a request id"
        );
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .filter(|(name, _)| TELLING.contains(&name.as_str()))
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
            .collect();
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Self {
            status,
            headers,
            body,
        }
    }

    /// A text field of the body.
    pub(crate) fn text(&self, field: &str) -> String {
        self.body[field]
            .as_str()
            .unwrap_or_else(|| panic!("no text '{field}' in {}", self.body))
            .to_owned()
    }

    /// Everything that is pinned, as text for snapshots. Key texts are random and hidden.
    pub(crate) fn shape(&self) -> String {
        let mut body = self.body.clone();
        hide_keys(&mut body);
        let shape = json!({"status": self.status, "headers": self.headers, "body": body});
        serde_json::to_string_pretty(&shape).unwrap()
    }
}

fn hide_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if is_random(name, text) => {
                        *text = format!("({} random characters)", text.len());
                    }
                    _ => hide_keys(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_keys),
        _ => {}
    }
}

/// Whether a field is a key's text or a part of it; entities have keys that are not random.
fn is_random(name: &str, text: &str) -> bool {
    match name {
        "prefix" | "suffix" | "bearer_token" => true,
        "key" => text.starts_with("vk_") || text.starts_with("vrl_"),
        _ => false,
    }
}

/// Status, telling headers and body of an answer, for snapshots.
pub(crate) async fn shape(response: Response) -> String {
    Answer::of(response).await.shape()
}
