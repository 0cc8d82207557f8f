//! The service over HTTP.
//!
//! Translation only: what a request means is decided in [`super::rest`]. The store can be mounted
//! under any path; the address that clients see is part of its settings.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::{Router, body::Body, extract::State as Shared, response::IntoResponse, routing::any};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::{
    outcome::{Issue, IssueCode, Refusal},
    rest::{Headers, Request, Response},
    service::FhirService,
    smart::Smart,
};

/// How large a request's body may be, unless told otherwise.
pub const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// A store as it is mounted: the service, and who may use it.
#[derive(Clone)]
pub struct Mounted {
    inner: Arc<Inner>,
}

struct Inner {
    service: FhirService,
    smart: Option<Smart>,
    body_limit: usize,
}

impl Mounted {
    /// A store that anybody who reaches it may use.
    pub fn open(service: FhirService) -> Self {
        Self::new(service, None)
    }

    /// A store behind the tokens that `smart` gives out.
    pub fn guarded(service: FhirService, smart: Smart) -> Self {
        Self::new(service, Some(smart))
    }

    fn new(service: FhirService, smart: Option<Smart>) -> Self {
        Self {
            inner: Arc::new(Inner {
                service,
                smart,
                body_limit: BODY_LIMIT,
            }),
        }
    }

    /// The service.
    pub fn service(&self) -> &FhirService {
        &self.inner.service
    }

    /// Answers a request to `path`, which is below the store's base.
    pub async fn respond(
        &self,
        path: &str,
        request: ::http::Request<Body>,
    ) -> ::http::Response<Body> {
        let inner = &*self.inner;
        let path = path.trim_start_matches('/');
        let query = request.uri().query().unwrap_or_default().to_owned();
        let (parts, body) = request.into_parts();
        let asked = Request {
            method: parts.method,
            path: path.to_owned(),
            query,
            headers: Headers::from_http(&parts.headers),
            body: Bytes::new(),
            at: inner.service.clock().now(),
        };
        if let Some(smart) = &inner.smart {
            match path {
                ".well-known/smart-configuration" => {
                    let response = smart.configuration(&inner.service.settings().base_url);
                    return self.aside(asked, response);
                }
                "token" if asked.method == Method::POST => {
                    let response = match read_body(body, inner.body_limit).await {
                        Ok(body) => smart.token(&parts.headers, &body, asked.at),
                        Err(refusal) => to_http(refusal.into()),
                    };
                    return self.aside(asked, response);
                }
                "metadata" => {}
                _ => {
                    if let Err(refusal) = smart.admit(&parts.headers, asked.at) {
                        let mut response = self.refuse(asked, refusal);
                        response
                            .headers_mut()
                            .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                        return response;
                    }
                }
            }
        }
        match read_body(body, inner.body_limit).await {
            Ok(body) => to_http(inner.service.handle(Request { body, ..asked }).await),
            Err(refusal) => self.refuse(asked, refusal),
        }
    }

    /// Refuses a request that does not reach the store. It is an event all the same.
    fn refuse(&self, asked: Request, refusal: Box<Refusal>) -> ::http::Response<Body> {
        let response = Response::from(refusal);
        self.inner.service.note_aside(asked, &response);
        to_http(response)
    }

    /// Notes what was answered beside the store, without query and bodies: they hold secrets.
    fn aside(&self, asked: Request, response: ::http::Response<Body>) -> ::http::Response<Body> {
        let said = Response::empty(response.status());
        let asked = Request {
            query: String::new(),
            ..asked
        };
        self.inner.service.note_aside(asked, &said);
        response
    }
}

/// A router that answers `prefix` and everything below it from the store. The prefix begins with a
/// slash and does not end with one; empty for the root.
pub fn router_at(prefix: &str, mounted: Mounted) -> Router {
    let length = prefix.len();
    let handle = move |Shared(mounted): Shared<Mounted>, request: axum::extract::Request| async move {
        let path = request.uri().path()[length..].to_owned();
        mounted.respond(&path, request).await
    };
    let mut router = Router::new()
        .route(&format!("{prefix}/"), any(handle))
        .route(&format!("{prefix}/{{*path}}"), any(handle));
    if !prefix.is_empty() {
        router = router.route(prefix, any(handle));
    }
    router.with_state(mounted)
}

async fn read_body(body: Body, limit: usize) -> Result<Bytes, Box<Refusal>> {
    if hyper::body::Body::is_end_stream(&body) {
        return Ok(Bytes::new());
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Issue::error(
                IssueCode::TooLong,
                format!("the body is larger than {limit} bytes"),
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

fn to_http(response: Response) -> ::http::Response<Body> {
    let headers: HeaderMap = response.http_headers();
    let mut answer = ::http::Response::new(Body::from(response.body));
    *answer.status_mut() = response.status;
    *answer.headers_mut() = headers;
    answer
}

impl IntoResponse for Response {
    fn into_response(self) -> axum::response::Response {
        to_http(self)
    }
}
