//! A store by itself over HTTP.
//!
//! Translation only: what a request means is decided in its world. The store can be mounted under
//! any path; the address that clients see is part of its settings.

use axum::{Router, body::Body, extract::State as Shared, routing::any};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use proctor_core::time::Timestamp;
use proctor_fhir_store::{
    PATH,
    outcome::{Issue, IssueCode, Refusal},
    rest,
};
use proctor_playground::world::World;
use proctor_simulation::exchange::{Request, Response};

/// How large a request's body may be.
const BODY_LIMIT: usize = 64 * 1024 * 1024;
/// The only door of a store by itself.
const DOOR: usize = 0;

/// A router that answers `prefix` and everything below it from a world of one store. The prefix
/// begins with a slash and does not end with one; empty for the root.
pub fn router_at(prefix: &str, world: World) -> Router {
    let length = prefix.len();
    let handle = move |Shared(world): Shared<World>, request: axum::extract::Request| async move {
        let answer: http::Response<Bytes> = answer(&world, length, request).await.into();
        answer.map(Body::from)
    };
    let mut router = Router::new()
        .route(&format!("{prefix}/"), any(handle))
        .route(&format!("{prefix}/{{*path}}"), any(handle));
    if !prefix.is_empty() {
        router = router.route(prefix, any(handle));
    }
    router.with_state(world)
}

/// Answers a request whose path begins with `length` bytes that the store does not see.
async fn answer(world: &World, length: usize, request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(refusal) => return rest::Response::from(refusal).into(),
    };
    let path = parts.uri.path()[length..].trim_start_matches('/');
    let asked = Request {
        path: format!("{PATH}/{path}"),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        method: parts.method,
        headers: parts.headers,
        body,
        at: Timestamp::from_millis(0),
        base: None,
    };
    world.handle(DOOR, asked).await
}

async fn read_body(body: Body) -> Result<Bytes, Box<Refusal>> {
    if hyper::body::Body::is_end_stream(&body) {
        return Ok(Bytes::new());
    }
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Issue::error(
                IssueCode::TooLong,
                format!("the body is larger than {BODY_LIMIT} bytes"),
            )
            .at("http.body"),
        )),
        Err(error) => Err(Refusal::bad_request(
            IssueCode::Invalid,
            format!("the body broke off: {error}"),
        )
        .at("http.body")),
    }
}
