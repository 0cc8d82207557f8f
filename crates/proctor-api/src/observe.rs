//! The server's own routes: health, numbers, and the description of all routes.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, header};

use serde_json::Value;

use crate::{docs, error::ApiError, state::ApiState};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether the server answers.
///
/// Cheap: touches nothing but the process.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "Server",
    responses(
        (
            status = 200,
            description = "The server is ready",
            body = String,
            content_type = "text/plain",
        ),
    ),
)]
pub(crate) async fn healthz() -> &'static str {
    "ready\n"
}

/// Whether the server can do its work.
///
/// Writes a row and a file; 503 while that is not possible.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "Server",
    responses(
        (
            status = 200,
            description = "The database answers, and what is written is kept",
            body = String,
            content_type = "text/plain",
        ),
    ),
)]
pub(crate) async fn readyz(State(state): State<ApiState>) -> Result<&'static str, ApiError> {
    state.store().ping().await?;
    state.store().try_writing().await?;
    Ok("ready\n")
}

/// The server's numbers for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "Server",
    responses(
        (
            status = 200,
            description = "OpenMetrics text",
            body = String,
            content_type = "application/openmetrics-text",
        ),
    ),
)]
pub(crate) async fn metrics(State(state): State<ApiState>) -> Result<Response, ApiError> {
    let text = state.metrics().text().map_err(ApiError::internal)?;
    Ok((
        [(header::CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS))],
        text,
    )
        .into_response())
}

/// The description of all routes, in both forms.
#[derive(Clone)]
pub(crate) struct Description {
    json: Bytes,
    /// Drawn for the first who wants to see it: most servers are never looked at, and all must start.
    page: Arc<OnceLock<Bytes>>,
}

impl Description {
    pub(crate) fn of(document: &Value) -> Self {
        let json =
            serde_json::to_vec(document).expect("a document made of strings and maps is JSON");
        Self {
            json: Bytes::from(json),
            page: Arc::default(),
        }
    }

    fn page(&self) -> Bytes {
        let draw = || {
            let document = serde_json::from_slice(&self.json).expect("it was written as JSON");
            Bytes::from(docs::page(&document).expect("drawing into a string cannot fail"))
        };
        self.page.get_or_init(draw).clone()
    }
}

/// This document.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "Server",
    responses((status = 200, description = "The OpenAPI document", body = Object)),
)]
pub(crate) async fn openapi_json(State(description): State<Description>) -> Response {
    (
        [(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        )],
        description.json,
    )
        .into_response()
}

/// This document as a page.
#[utoipa::path(
    get,
    path = "/docs",
    tag = "Server",
    responses(
        (
            status = 200,
            description = "A page for people",
            body = String,
            content_type = "text/html",
        ),
    ),
)]
pub(crate) async fn docs_page(State(description): State<Description>) -> Html<Bytes> {
    Html(description.page())
}
