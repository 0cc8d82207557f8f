//! What went wrong, before any dialect has put it into words of its own.
//!
//! Everything below the HTTP frame answers with an [`ApiError`]. It travels in the response's
//! extensions to the one place that knows the request's dialect, [`render`]; nothing else may
//! write an error body.

use std::{borrow::Cow, collections::BTreeMap, error::Error, fmt, sync::Arc, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::Method;
use proctor_core::{causes::with_causes, problem::Problem};

mod authoring;
pub(crate) mod engine;
pub(crate) mod fleet;
pub(crate) mod render;
mod shelf;
mod store;

/// Why a request was not answered as asked.
#[derive(Clone, Debug)]
pub struct ApiError {
    kind: ApiErrorKind,
    message: Cow<'static, str>,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of error; each dialect gives every kind a status and a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// Fields of the request are wrong, whatever else there is; all of them are named.
    Validation(Vec<Problem>),
    /// Fields of the request ask for what is not there or not ready; all of them are named. Clients are told the same as
    /// with [`ApiErrorKind::Validation`], but the same request may be fine later.
    Unmet(Vec<Problem>),
    /// The request cannot be understood.
    BadRequest,
    /// Nobody, or nobody known, is asking.
    Unauthorized,
    /// The caller may see this but not change it.
    Forbidden,
    /// There is no such thing, or the caller may not know of it.
    NotFound,
    /// The route exists, but not for this method.
    MethodNotAllowed,
    /// Something else already has that name.
    Taken,
    /// It was changed by somebody else in between.
    Conflict,
    /// The object is in a state that does not allow this.
    IllegalState,
    /// The organization has as much of something as its limits allow.
    LimitReached,
    /// The body is larger than the server accepts.
    PayloadTooLarge,
    /// The body is of a kind that this route does not read.
    UnsupportedMediaType,
    /// The credential has used up its requests for now.
    RateLimited {
        /// How long to wait.
        retry_after: Duration,
    },
    /// Something that the server needs is away for now.
    Unavailable {
        /// How long to wait.
        retry_after: Duration,
    },
    /// The answer was not ready in time.
    TimedOut,
    /// A fault of the server.
    Internal,
    /// A known operation that this server does not offer.
    NotImplemented,
}

impl ApiError {
    /// An error of `kind`, told to the client as `message`.
    pub fn new(kind: ApiErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            cause: None,
        }
    }

    /// Wrong fields, all of them named.
    pub fn validation(problems: Vec<Problem>) -> Self {
        let message = summary(&problems);
        Self::new(ApiErrorKind::Validation(problems), message)
    }

    /// Fields that ask for what is not there or not ready, all of them named.
    pub fn unmet(problems: Vec<Problem>) -> Self {
        let message = summary(&problems);
        Self::new(ApiErrorKind::Unmet(problems), message)
    }

    /// One wrong field.
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::validation(vec![Problem::error(field, message)])
    }

    /// A request that cannot be understood.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ApiErrorKind::BadRequest, message)
    }

    /// Nobody, or nobody known, is asking.
    pub fn unauthorized(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ApiErrorKind::Unauthorized, message)
    }

    /// No such thing, as far as the caller may know.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ApiErrorKind::NotFound, message)
    }

    /// No route has this path.
    pub fn no_such_route(method: &Method, path: &str) -> Self {
        Self::not_found(format!(
            "no route {method} {path}; GET /openapi.json lists all routes"
        ))
    }

    /// Something away for now.
    pub fn unavailable(message: impl Into<Cow<'static, str>>, retry_after: Duration) -> Self {
        Self::new(ApiErrorKind::Unavailable { retry_after }, message)
    }

    /// A fault of the server. The client is told where to look, never what broke.
    pub fn internal(cause: impl Error + Send + Sync + 'static) -> Self {
        Self::new(
            ApiErrorKind::Internal,
            "the server failed; its log tells more under this answer's x-request-id",
        )
        .because(cause)
    }

    /// Remembers the underlying error for the log. Clients never see it.
    #[must_use]
    pub fn because(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> &ApiErrorKind {
        &self.kind
    }

    /// What the client is told.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The underlying errors from the outermost in, for the log.
    pub(crate) fn causes(&self) -> Option<String> {
        let cause = self.cause.as_deref()?;
        Some(with_causes(cause).to_string())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ApiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl IntoResponse for ApiError {
    /// An empty response that carries the error to the frame.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = render::status(&self.kind, crate::dialect::Dialect::Verial);
        response.extensions_mut().insert(self);
        response
    }
}

/// Messages by field, in the fields' alphabetical order; a field's messages in the order in which they were found.
fn by_field(problems: &[Problem]) -> BTreeMap<String, Vec<String>> {
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for problem in problems {
        let messages = fields.entry(problem.path.clone()).or_default();
        messages.push(problem.message.clone());
    }
    fields
}

fn summary(problems: &[Problem]) -> String {
    let fields = by_field(problems).into_iter();
    let parts: Vec<_> = fields
        .map(|(field, messages)| format!("{field}: {}", messages.join(", ")))
        .collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_field_is_in_the_message() {
        let error = ApiError::validation(vec![
            Problem::error("name", "must not be blank"),
            Problem::error("alias", "is required"),
            Problem::error("name", "is too long"),
        ]);
        assert_eq!(
            error.message(),
            "alias: is required; name: must not be blank, is too long"
        );
    }

    #[test]
    fn a_cause_is_for_the_log_and_not_for_the_client() {
        let cause = std::io::Error::other("disk on fire");
        let error = ApiError::internal(cause);
        assert_eq!(error.causes().as_deref(), Some("disk on fire"));
        assert!(!error.message().contains("fire"));
    }
}
