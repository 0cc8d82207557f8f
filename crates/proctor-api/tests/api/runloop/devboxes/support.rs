//! A server with devboxes of its own, gone when the test ends.

use std::{collections::BTreeSet, sync::Arc};

use proctor_devbox::{
    Backend, Error,
    local::{LocalBackend, LocalConfig},
};
use proctor_engine::Extensions;
use proctor_fleet::{Fleet, FleetOptions};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Setup, TestServer};

pub(in crate::runloop) struct Boxes {
    pub(in crate::runloop) server: TestServer,
    pub(in crate::runloop) fleet: Fleet,
    backend: Arc<dyn Backend>,
    _directory: tempfile::TempDir,
}

impl Boxes {
    pub(in crate::runloop) async fn start() -> Self {
        Self::start_extended(Extensions::shipped()).await
    }

    /// The same with these extensions.
    pub(in crate::runloop) async fn start_extended(extensions: Extensions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = LocalConfig::new(directory.path().join("boxes"));
        let backend = Arc::new(LocalBackend::open(config).unwrap());
        Self::start_in(directory, backend, extensions).await
    }

    /// The same with boxes of another backend.
    pub(in crate::runloop) async fn start_on(backend: Arc<dyn Backend>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::start_in(directory, backend, Extensions::shipped()).await
    }

    /// The same with a domain for tunnels.
    pub(in crate::runloop) async fn start_under(domain: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = LocalConfig::new(directory.path().join("boxes"));
        let backend = Arc::new(LocalBackend::open(config).unwrap());
        let mut setup = Setup::default();
        setup.api.tunnel_domain = Some(domain.to_owned());
        Self::start_as(directory, backend, setup).await
    }

    async fn start_in(
        directory: tempfile::TempDir,
        backend: Arc<dyn Backend>,
        extensions: Extensions,
    ) -> Self {
        let setup = Setup {
            extensions,
            ..Setup::default()
        };
        Self::start_as(directory, backend, setup).await
    }

    async fn start_as(
        directory: tempfile::TempDir,
        backend: Arc<dyn Backend>,
        setup: Setup,
    ) -> Self {
        let options = FleetOptions::new(directory.path().join("fleet"));
        let made = Arc::clone(&backend);
        let (server, fleet) = setup
            .start_with(|store, clock| async move {
                let fleet = Fleet::open(options, store, made, clock).await.unwrap();
                fleet.recover().await.unwrap();
                fleet
            })
            .await;
        Self {
            server,
            fleet,
            backend,
            _directory: directory,
        }
    }

    /// Ends every box and the server.
    pub(in crate::runloop) async fn end(self) {
        while let Err(error) = self.backend.sweep(&BTreeSet::new()).await {
            assert!(matches!(error, Error::NoSuchBox(_)), "{error}");
        }
        self.fleet.close().await;
    }

    /// The body of the answer to a POST that succeeds.
    pub(in crate::runloop) async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.server.ask(Method::POST, path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// The answer to a POST that is refused.
    pub(in crate::runloop) async fn refused(&self, path: &str, body: Value) -> (u16, String) {
        let answer = self.server.ask(Method::POST, path, body).await;
        assert_ne!(answer.status, 200, "{path}: {}", answer.body);
        (answer.status, answer.text("message"))
    }

    pub(in crate::runloop) async fn get(&self, path: &str) -> Value {
        let answer = self.server.read(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// The path of a new devbox that runs.
    pub(in crate::runloop) async fn running(&self, body: Value) -> String {
        let made = self.post("/v1/devboxes", body).await;
        let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
        let view = self.reaches(&path, "running").await;
        assert_eq!(view["status"], "running", "{view}");
        path
    }

    /// The devbox when it has this status, or has ended.
    pub(in crate::runloop) async fn reaches(&self, path: &str, status: &str) -> Value {
        let wait = json!({"statuses": [status, "failure", "shutdown"], "timeout_seconds": 30.0});
        loop {
            let path = format!("{path}/wait_for_status");
            let answer = self.server.ask(Method::POST, &path, wait.clone()).await;
            match answer.status {
                200 => return answer.body,
                408 => {}
                other => panic!("{other}: {}", answer.body),
            }
        }
    }

    /// Runs a command to its end.
    pub(in crate::runloop) async fn execute(&self, devbox: &str, body: Value) -> Value {
        self.post(&format!("{devbox}/execute"), body).await
    }

    /// The events of a stream that ends.
    pub(in crate::runloop) async fn events(&self, path: &str) -> Vec<Value> {
        let response = self.server.own(Method::GET, path).send().await.unwrap();
        let kind = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(kind, "text/event-stream");
        let text = response.text().await.unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    pub(in crate::runloop) async fn answer(&self, request: reqwest::RequestBuilder) -> Answer {
        Answer::of(request.send().await.unwrap()).await
    }
}
