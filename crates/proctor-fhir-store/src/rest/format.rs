//! Which formats are spoken: JSON, both ways.

use std::borrow::Cow;

use http::StatusCode;
use serde_json::Value;

use super::{Request, Response, Shown};
use crate::{
    outcome::{Answer, Issue, IssueCode, Refusal},
    query,
};

/// Refuses a request whose client cannot read JSON.
pub(super) fn check_accept(request: &Request) -> Answer<()> {
    let asked: Cow<'_, str> = match query::first(&request.query, "_format") {
        Some(format) => format.into(),
        None => match &request.headers.accept {
            Some(accept) => accept.as_str().into(),
            None => return Ok(()),
        },
    };
    let readable = asked
        .split(',')
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .any(|range| range.contains("json") || range.ends_with("/*") || range.is_empty());
    if readable {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::NOT_ACCEPTABLE,
        Issue::error(
            IssueCode::NotSupported,
            format!("'{asked}' is not offered: the store speaks application/fhir+json"),
        )
        .at("http.Accept"),
    ))
}

/// Refuses a body that does not say it is JSON. Saying nothing is fine.
pub(super) fn check_content(request: &Request, what: &str) -> Answer<()> {
    match &request.headers.content_type {
        Some(kind) if !kind.contains("json") => Err(unsupported_media(kind, what)),
        _ => Ok(()),
    }
}

/// 415 for a body of the wrong kind.
pub(super) fn unsupported_media(kind: &str, expected: &str) -> Box<Refusal> {
    Refusal::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Issue::error(
            IssueCode::NotSupported,
            format!("a body of type '{kind}' is not read here: {expected} is expected"),
        )
        .at("http.Content-Type"),
    )
}

/// The answer laid out for people, when they ask for it.
pub(super) fn prettify(response: Response, request: &Request) -> Response {
    if query::first(&request.query, "_pretty").as_deref() != Some("true") {
        return response;
    }
    match serde_json::from_slice::<Value>(&response.body) {
        Ok(value) => Response {
            body: format!("{value:#}").into(),
            shown: response.shown.into_iter().map(Shown::in_part).collect(),
            ..response
        },
        Err(_) => response,
    }
}
