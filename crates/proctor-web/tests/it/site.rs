//! Pages over a store of the test's own.

use std::sync::Arc;

use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use proctor_core::{
    id::kinds::OrganizationId,
    time::{ManualClock, Timestamp},
};
use proctor_engine::{Engine, Extensions};
use proctor_store::{
    Store, StoreOptions,
    ambient::RandomIds,
    credentials::{IssuedKey, PlainKey},
};
use proctor_web::{WebOptions, WebState};
use secrecy::ExposeSecret as _;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

pub(crate) const HOST: &str = "127.0.0.1:7070";

/// A site with one organization.
pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) organization: OrganizationId,
    pub(crate) key: IssuedKey,
    router: Router,
    _data: TempDir,
}

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The cookie that it sets, without its attributes.
    pub(crate) fn cookie(&self) -> String {
        let line = self.header(header::SET_COOKIE.as_str());
        line.split(';').next().unwrap().to_owned()
    }
}

impl Site {
    pub(crate) async fn open(options: WebOptions) -> Self {
        let data = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_790_000_000_000)));
        let options_of_store = StoreOptions::embedded(data.path());
        let ids = Arc::new(RandomIds::default());
        let store = Store::open(&options_of_store, clock.clone(), ids)
            .await
            .unwrap();
        let made = store.bootstrap("Clinic", PlainKey::Random).await.unwrap();
        let (organization, key) = made.unwrap();
        let engine = Engine::new(
            store.clone(),
            clock,
            "http://x",
            None,
            Extensions::shipped(),
        );
        let state = WebState::new(engine, None, options, CancellationToken::new());
        Self {
            store,
            organization: organization.id,
            key,
            router: proctor_web::router(state),
            _data: data,
        }
    }

    pub(crate) fn secret(&self) -> &str {
        self.key.secret.expose_secret()
    }

    pub(crate) async fn send(&self, request: http::request::Builder, body: String) -> Answer {
        let has_host = request.headers_ref().unwrap().contains_key(header::HOST);
        let request = match has_host {
            true => request,
            false => request.header(header::HOST, HOST),
        };
        let request = request.body(Body::from(body)).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    pub(crate) async fn get(&self, path: &str, cookie: &str) -> Answer {
        let request = Request::get(path).header(header::COOKIE, cookie);
        self.send(request, String::new()).await
    }

    /// Sends a form as a page of this site would.
    pub(crate) async fn post(&self, path: &str, cookie: &str, form: &str) -> Answer {
        let request = Request::post(path)
            .header(header::COOKIE, cookie)
            .header(header::ORIGIN, format!("http://{HOST}"))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, form.to_owned()).await
    }

    /// Signs in, and returns the cookie.
    pub(crate) async fn sign_in(&self) -> String {
        let form = format!("key={}", self.secret());
        let answer = self.post("/ui/login", "", &form).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        answer.cookie()
    }
}
