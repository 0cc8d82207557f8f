//! Problems in each dialect's words: status, code, headers and body.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use super::{FieldErrors, Problem, ProblemKind};
use crate::dialect::Dialect;

/// Stops the retries of Runloop's clients.
const SHOULD_RETRY: &str = "x-should-retry";

/// The response that tells `problem` to a client of `dialect`.
pub(crate) fn response(problem: &Problem, dialect: Dialect) -> Response {
    let status = status(&problem.kind, dialect);
    let body = match dialect {
        Dialect::Verial => serde_json::to_vec(&VerialError::of(problem)),
        Dialect::Runloop => serde_json::to_vec(&RunloopError::of(problem)),
    }
    .expect("strings and maps of strings are always JSON");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    match &problem.kind {
        ProblemKind::RateLimited { retry_after } | ProblemKind::Unavailable { retry_after } => {
            // Whole seconds, and never "at once".
            let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        ProblemKind::Unauthorized => {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"proctor\""),
            );
        }
        _ => {}
    }
    if dialect == Dialect::Runloop
        && matches!(status, StatusCode::CONFLICT | StatusCode::NOT_IMPLEMENTED)
    {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    response
}

/// The status that `dialect` gives to a kind of problem.
pub(crate) fn status(kind: &ProblemKind, dialect: Dialect) -> StatusCode {
    match kind {
        ProblemKind::Validation(_) | ProblemKind::Unmet(_) | ProblemKind::BadRequest => {
            StatusCode::BAD_REQUEST
        }
        ProblemKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ProblemKind::Forbidden => StatusCode::FORBIDDEN,
        ProblemKind::NotFound => StatusCode::NOT_FOUND,
        ProblemKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ProblemKind::Conflict => StatusCode::CONFLICT,
        ProblemKind::IllegalState | ProblemKind::Taken => match dialect {
            Dialect::Verial => StatusCode::CONFLICT,
            // Runloop's clients would take a 409 for a passing condition.
            Dialect::Runloop => StatusCode::BAD_REQUEST,
        },
        ProblemKind::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ProblemKind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ProblemKind::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        ProblemKind::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        ProblemKind::TimedOut => StatusCode::REQUEST_TIMEOUT,
        ProblemKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ProblemKind::NotImplemented => StatusCode::NOT_IMPLEMENTED,
    }
}

/// The code in Verial's words; Runloop's is the same in lower case.
fn code(kind: &ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Validation(_) | ProblemKind::Unmet(_) => "VALIDATION_ERROR",
        ProblemKind::BadRequest => "BAD_REQUEST",
        ProblemKind::Unauthorized => "UNAUTHORIZED",
        ProblemKind::Forbidden => "FORBIDDEN",
        ProblemKind::NotFound => "NOT_FOUND",
        ProblemKind::MethodNotAllowed => "METHOD_NOT_ALLOWED",
        ProblemKind::Taken | ProblemKind::Conflict | ProblemKind::IllegalState => "CONFLICT",
        ProblemKind::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
        ProblemKind::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
        ProblemKind::RateLimited { .. } => "RATE_LIMITED",
        ProblemKind::Unavailable { .. } => "UNAVAILABLE",
        ProblemKind::TimedOut => "REQUEST_TIMEOUT",
        ProblemKind::Internal => "INTERNAL_ERROR",
        ProblemKind::NotImplemented => "NOT_IMPLEMENTED",
    }
}

/// The body of every error in the Verial dialect.
#[derive(Serialize, ToSchema)]
pub(crate) struct VerialError {
    error: VerialErrorDetail,
}

/// What went wrong, in the Verial dialect.
#[derive(Serialize, ToSchema)]
pub(crate) struct VerialErrorDetail {
    /// A word for programs.
    #[schema(example = "VALIDATION_ERROR")]
    code: &'static str,
    /// A sentence for people.
    message: String,
    /// Messages by field; empty when no field is to blame.
    #[schema(value_type = std::collections::BTreeMap<String, Vec<String>>)]
    details: FieldErrors,
}

impl VerialError {
    fn of(problem: &Problem) -> Self {
        let details = match &problem.kind {
            ProblemKind::Validation(errors) | ProblemKind::Unmet(errors) => errors.clone(),
            _ => FieldErrors::default(),
        };
        Self {
            error: VerialErrorDetail {
                code: code(&problem.kind),
                message: problem.message.to_string(),
                details,
            },
        }
    }
}

/// The body of every error in the Runloop dialect.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunloopError {
    /// A sentence for people.
    message: String,
    /// A word for programs.
    #[schema(example = "validation_error")]
    code: String,
}

impl RunloopError {
    fn of(problem: &Problem) -> Self {
        Self {
            message: problem.message.to_string(),
            code: code(&problem.kind).to_ascii_lowercase(),
        }
    }
}

impl Serialize for FieldErrors {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Dialect::Verial, 409, None)]
    #[case(Dialect::Runloop, 400, None)]
    fn an_illegal_state_has_each_dialects_status(
        #[case] dialect: Dialect,
        #[case] status: u16,
        #[case] retry: Option<&str>,
    ) {
        let problem = Problem::new(ProblemKind::IllegalState, "the run is cancelled");
        let response = response(&problem, dialect);
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(
            response
                .headers()
                .get(SHOULD_RETRY)
                .map(|value| value.to_str().unwrap()),
            retry
        );
    }

    #[rstest]
    #[case(ProblemKind::Conflict)]
    #[case(ProblemKind::NotImplemented)]
    fn runloops_clients_are_told_not_to_retry(#[case] kind: ProblemKind) {
        let problem = Problem::new(kind, "no");
        assert_eq!(
            response(&problem, Dialect::Runloop).headers()[SHOULD_RETRY],
            "false"
        );
        assert!(
            !response(&problem, Dialect::Verial)
                .headers()
                .contains_key(SHOULD_RETRY)
        );
    }

    #[rstest]
    #[case(Duration::ZERO, "1")]
    #[case(Duration::from_millis(1001), "2")]
    #[case(Duration::from_secs(30), "30")]
    fn retry_after_is_in_whole_seconds_rounded_up(#[case] wait: Duration, #[case] header: &str) {
        let problem = Problem::unavailable("the database is locked", wait);
        for dialect in [Dialect::Verial, Dialect::Runloop] {
            let response = response(&problem, dialect);
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers()[header::RETRY_AFTER], header);
        }
    }
}
