//! What happens around every page: which hosts and origins are let in, what browsers are told, how errors look, compression.

use std::io::Write as _;

use askama::Template as _;
use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt as _;

use crate::{
    error::{ErrorPage, PageError},
    session::{self, is_known_host},
    shell::{Section, Shell},
    state::WebState,
};

/// What our own pages may do: load styles, scripts and pictures from here, send forms to here. Markup from text is refused by the
/// browser itself, except through the one policy of our scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types proctor";
/// The smallest page that is worth compressing.
const WORTH_COMPRESSING: usize = 1024;
/// Set by the server's frame on every request.
const REQUEST_ID: &str = "x-request-id";

/// Lets a request through to its page, and finishes what comes back.
pub(crate) async fn around(
    State(state): State<WebState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let host = host(&request);
    let answer = match check(&state, &request, host.as_deref()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    finish(answer, &headers).await
}

fn check(state: &WebState, request: &Request, host: Option<&str>) -> Result<(), PageError> {
    let Some(host) = host.filter(|host| is_known_host(host, state.options())) else {
        return Err(PageError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "This server does not answer under this name. Whoever runs it can set --public-url.",
        ));
    };
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    // A key in the header is no ambient authority: no other site can make a browser send it.
    let has_key = request.headers().contains_key(header::AUTHORIZATION);
    if is_safe || has_key || is_same_origin(request.headers(), host) {
        return Ok(());
    }
    Err(PageError::forbidden(
        "This form did not come from a page of this server, so nothing was changed.",
    ))
}

/// Whether a browser says that a request comes from one of our own pages. Without a word of it, it does not.
fn is_same_origin(headers: &HeaderMap, host: &str) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    let origin = text("origin").and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, origin)| origin.eq_ignore_ascii_case(host))
}

/// The host that a request is for; HTTP/2 has it in the request's own address.
pub(crate) fn host(request: &Request) -> Option<String> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.as_str().to_owned());
    }
    let host = request.headers().get(header::HOST)?;
    Some(host.to_str().ok()?.to_owned())
}

async fn finish(mut answer: Response, request: &HeaderMap) -> Response {
    if let Some(error) = answer.extensions_mut().remove::<PageError>() {
        answer = draw(&error, request);
    }
    let is_html = content_type(&answer).starts_with("text/html");
    if is_html && accepts_gzip(request) {
        answer = compressed(answer).await;
    }
    let headers = answer.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    headers.insert(
        "cross-origin-opener-policy",
        HeaderValue::from_static("same-origin"),
    );
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("private, no-cache"));
    answer
}

fn draw(error: &PageError, request: &HeaderMap) -> Response {
    let id = request.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let id = id.unwrap_or("unknown");
    if let Some(cause) = &error.cause {
        tracing::error!(
            request_id = id,
            status = error.status.as_u16(),
            cause,
            "a page failed"
        );
    }
    let shell = Shell {
        title: String::new(),
        section: Section::None,
        account: None,
        theme: session::theme(request),
        live: None,
    };
    let page = ErrorPage::new(shell, error, id);
    let page = page.render().unwrap_or_else(|_| error.message.to_string());
    let mut response = axum::response::Html(page).into_response();
    *response.status_mut() = error.status;
    response
}

fn content_type(answer: &Response) -> &str {
    let kind = answer.headers().get(header::CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

pub(crate) fn accepts_gzip(request: &HeaderMap) -> bool {
    let accepted = request.get(header::ACCEPT_ENCODING);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    accepted.is_some_and(|list| {
        list.split(',').any(|one| {
            let mut parts = one.split(';').map(str::trim);
            let is_gzip = parts
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            is_gzip && parts.all(|weight| weight != "q=0")
        })
    })
}

/// `content` as gzip.
pub(crate) fn gzip(content: &[u8], level: Compression) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(content.len() / 3), level);
    encoder.write_all(content)?;
    encoder.finish()
}

async fn compressed(answer: Response) -> Response {
    let (mut parts, body) = answer.into_parts();
    let Ok(body) = body.collect().await else {
        return PageError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The page could not be read.",
        )
        .into_response();
    };
    let body = body.to_bytes();
    parts
        .headers
        .insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if body.len() < WORTH_COMPRESSING {
        return Response::from_parts(parts, Body::from(body));
    }
    match gzip(&body, Compression::fast()) {
        Ok(packed) => {
            parts
                .headers
                .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(packed))
        }
        Err(_) => Response::from_parts(parts, Body::from(body)),
    }
}
