//! What went wrong, before any dialect has put it into words of its own.
//!
//! Everything below the HTTP frame answers with a [`Problem`]. It travels in the response's
//! extensions to the one place that knows the request's dialect, [`render`]; nothing else may
//! write an error body.

use std::{borrow::Cow, collections::BTreeMap, error::Error, fmt, sync::Arc, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::Method;

mod authoring;
mod engine;
mod fleet;
pub(crate) mod render;
mod shelf;
mod store;

/// Why a request was not answered as asked.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: ProblemKind,
    message: Cow<'static, str>,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of problem; each dialect gives every kind a status and a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Fields of the request are wrong, whatever else there is; all of them are named.
    Validation(FieldErrors),
    /// Fields of the request ask for what is not there or not ready; all of them are named. Clients are told the same as
    /// with [`ProblemKind::Validation`], but the same request may be fine later.
    Unmet(FieldErrors),
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

impl Problem {
    /// A problem of `kind`, told to the client as `message`.
    pub fn new(kind: ProblemKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            cause: None,
        }
    }

    /// Wrong fields, all of them named.
    pub fn validation(errors: FieldErrors) -> Self {
        let message = errors.summary();
        Self::new(ProblemKind::Validation(errors), message)
    }

    /// Fields that ask for what is not there or not ready, all of them named.
    pub fn unmet(errors: FieldErrors) -> Self {
        let message = errors.summary();
        Self::new(ProblemKind::Unmet(errors), message)
    }

    /// One wrong field.
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        let mut errors = FieldErrors::default();
        errors.add(field, message);
        Self::validation(errors)
    }

    /// A request that cannot be understood.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ProblemKind::BadRequest, message)
    }

    /// Nobody, or nobody known, is asking.
    pub fn unauthorized(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ProblemKind::Unauthorized, message)
    }

    /// No such thing, as far as the caller may know.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ProblemKind::NotFound, message)
    }

    /// No route has this path.
    pub fn no_such_route(method: &Method, path: &str) -> Self {
        Self::not_found(format!(
            "no route {method} {path}; GET /openapi.json lists all routes"
        ))
    }

    /// Something away for now.
    pub fn unavailable(message: impl Into<Cow<'static, str>>, retry_after: Duration) -> Self {
        Self::new(ProblemKind::Unavailable { retry_after }, message)
    }

    /// A fault of the server. The client is told where to look, never what broke.
    pub fn internal(cause: impl Error + Send + Sync + 'static) -> Self {
        Self::new(
            ProblemKind::Internal,
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

    /// What kind of problem it is.
    pub fn kind(&self) -> &ProblemKind {
        &self.kind
    }

    /// What the client is told.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The underlying errors from the outermost in, for the log.
    pub(crate) fn cause_chain(&self) -> Option<String> {
        let cause = self.cause.as_deref()?;
        let mut chain = cause.to_string();
        let mut next = cause.source();
        while let Some(error) = next {
            chain.push_str(": ");
            chain.push_str(&error.to_string());
            next = error.source();
        }
        Some(chain)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl IntoResponse for Problem {
    /// An empty response that carries the problem to the frame.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = render::status(&self.kind, crate::dialect::Dialect::Verial);
        response.extensions_mut().insert(self);
        response
    }
}

/// Messages by field, in the fields' alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldErrors(BTreeMap<String, Vec<String>>);

impl FieldErrors {
    /// Adds a message to `field`, a dotted path into the request.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.entry(field.into()).or_default().push(message.into());
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `value` when nothing is wrong, else the problem that names every wrong field.
    pub fn or_value<T>(self, value: T) -> Result<T, Problem> {
        if self.is_empty() {
            Ok(value)
        } else {
            Err(Problem::validation(self))
        }
    }

    /// Each field with its messages.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0
            .iter()
            .map(|(field, messages)| (field.as_str(), messages.as_slice()))
    }

    fn summary(&self) -> String {
        let parts: Vec<_> = self
            .iter()
            .map(|(field, messages)| format!("{field}: {}", messages.join(", ")))
            .collect();
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_field_is_in_the_message() {
        let mut errors = FieldErrors::default();
        errors.add("name", "must not be blank");
        errors.add("alias", "is required");
        errors.add("name", "is too long");
        let problem = Problem::validation(errors);
        assert_eq!(
            problem.message(),
            "alias: is required; name: must not be blank, is too long"
        );
    }

    #[test]
    fn a_cause_is_for_the_log_and_not_for_the_client() {
        let cause = std::io::Error::other("disk on fire");
        let problem = Problem::internal(cause);
        assert_eq!(problem.cause_chain().as_deref(), Some("disk on fire"));
        assert!(!problem.message().contains("fire"));
    }
}
