//! Why a page is not shown, in words for its reader.

use std::borrow::Cow;

use askama::Template;
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use proctor_core::causes::with_causes;
use proctor_engine::EngineError;
use proctor_store::StoreError;

use crate::shell::{Section, Shell};

/// Why a page is not shown. It travels in the response's extensions to the guard, which knows the request and draws it.
#[derive(Clone, Debug)]
pub struct PageError {
    pub(crate) status: StatusCode,
    pub(crate) message: Cow<'static, str>,
    pub(crate) cause: Option<String>,
}

impl PageError {
    /// An error with this status and sentence.
    pub fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            message: message.into(),
            cause: None,
        }
    }

    /// There is no such thing, as far as the reader may know.
    pub fn not_found(what: &str) -> Self {
        let message = format!("There is no such {what}, or it belongs to somebody else.");
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// The request cannot be understood.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The reader may not do this.
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    fn internal(cause: &(dyn std::error::Error + 'static)) -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message:
                "Something failed on this server. Its log says what, under the request id below."
                    .into(),
            cause: Some(with_causes(cause).to_string()),
        }
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::internal(&error)
    }
}

impl From<EngineError> for PageError {
    fn from(error: EngineError) -> Self {
        match &error {
            EngineError::NotFound(what) => Self::not_found(what),
            EngineError::Refused(_) | EngineError::Unclear(_) | EngineError::Frozen => {
                Self::new(StatusCode::CONFLICT, error.to_string())
            }
            _ => Self::internal(&error),
        }
    }
}

impl From<askama::Error> for PageError {
    fn from(error: askama::Error) -> Self {
        Self::internal(&error)
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

/// An error as a page.
#[derive(Template)]
#[template(path = "error.html")]
pub(crate) struct ErrorPage<'e> {
    pub(crate) shell: Shell,
    pub(crate) error: &'e PageError,
    pub(crate) request_id: &'e str,
}

impl<'e> ErrorPage<'e> {
    pub(crate) fn new(shell: Shell, error: &'e PageError, request_id: &'e str) -> Self {
        Self {
            shell: Shell {
                title: heading(error.status).to_owned(),
                section: Section::None,
                ..shell
            },
            error,
            request_id,
        }
    }
}

/// What stands above the sentence.
fn heading(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::BAD_REQUEST => "This address is not right",
        StatusCode::CONFLICT => "Not possible as things are",
        StatusCode::MISDIRECTED_REQUEST => "Unknown host",
        _ => "Something went wrong",
    }
}
