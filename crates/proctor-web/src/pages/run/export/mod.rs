//! A run to take away: one HTML file, a zip with everything that is needed to check it, CSV and JSON lines.
//!
//! The same addresses take a session or a bearer key, so that `proctor export` needs no browser.

mod archive;
mod one_file;
mod redaction;
mod table;
mod task;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts, Path, RawQuery, State},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{HeaderValue, header, request::Parts};
use proctor_core::id::kinds::TaskRunId;

use self::redaction::Redaction;
use super::run_id;
use crate::{
    error::PageError,
    query::Params,
    run_model::{RunModel, TaskRow},
    session::Visitor,
    state::WebState,
};

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/runs/{id}/export.html", get(html_file))
        .route("/ui/runs/{id}/export.zip", get(zip_file))
        .route("/ui/runs/{id}/export.csv", get(csv_file))
        .route("/ui/runs/{id}/export.jsonl", get(json_lines))
}

/// Whoever shows a key or has a session.
struct Taker(Visitor);

impl FromRequestParts<WebState> for Taker {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &WebState) -> Result<Self, Response> {
        match Visitor::of_key(parts, state).await {
            Ok(Some(visitor)) => Ok(Self(visitor)),
            Ok(None) => {
                let visitor = <Visitor as FromRequestParts<WebState>>::from_request_parts;
                Ok(Self(visitor(parts, state).await?))
            }
            Err(error) => Err(error.into_response()),
        }
    }
}

/// A run that is taken away.
pub(super) struct Export {
    state: WebState,
    model: Arc<RunModel>,
    redaction: Redaction,
}

impl Export {
    async fn begin(
        state: WebState,
        visitor: &Visitor,
        id: &str,
        query: Option<&str>,
    ) -> Result<Self, PageError> {
        let model = RunModel::load(&state, visitor, run_id(id)?).await?;
        let is_redacted = matches!(Params::read(query).get("redact"), Some("1" | "true"));
        let redaction = match is_redacted {
            true => Redaction::of(&state, &model),
            false => Redaction::none(),
        };
        Ok(Self {
            state,
            model,
            redaction,
        })
    }

    /// The task runs, those that did not pass first.
    fn taken(&self) -> Vec<(&TaskRow, TaskRunId)> {
        let params = Params::read(Some("sort=worst"));
        let rows = super::chosen(&self.model, &params).into_iter();
        rows.filter_map(|row| Some((row, row.id?))).collect()
    }
}

/// A file to keep: browsers save it instead of showing it, and nothing in it runs on this origin.
fn attachment(body: Body, kind: &'static str, name: &str) -> Response {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'"),
    );
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    answer
}

async fn html_file(
    State(state): State<WebState>,
    Taker(visitor): Taker,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let export = Export::begin(state, &visitor, &id, query.as_deref()).await?;
    let name = format!("{}.html", export.model.run.id);
    let page = one_file::draw(&export).await?;
    Ok(attachment(
        Body::from(page),
        "text/html; charset=utf-8",
        &name,
    ))
}

async fn zip_file(
    State(state): State<WebState>,
    Taker(visitor): Taker,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let export = Export::begin(state, &visitor, &id, query.as_deref()).await?;
    let name = format!("{}.zip", export.model.run.id);
    let file = archive::write(&export).await?;
    let stream = tokio_util::io::ReaderStream::new(tokio::fs::File::from_std(file));
    Ok(attachment(
        Body::from_stream(stream),
        "application/zip",
        &name,
    ))
}

async fn csv_file(
    State(state): State<WebState>,
    Taker(visitor): Taker,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let export = Export::begin(state, &visitor, &id, query.as_deref()).await?;
    let name = format!("{}.csv", export.model.run.id);
    let rows = table::csv(export);
    Ok(attachment(
        Body::from_stream(rows),
        "text/csv; charset=utf-8",
        &name,
    ))
}

async fn json_lines(
    State(state): State<WebState>,
    Taker(visitor): Taker,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let export = Export::begin(state, &visitor, &id, query.as_deref()).await?;
    let name = format!("{}.jsonl", export.model.run.id);
    let rows = table::json_lines(export);
    Ok(attachment(
        Body::from_stream(rows),
        "application/jsonl; charset=utf-8",
        &name,
    ))
}
