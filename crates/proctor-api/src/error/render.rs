//! Errors in each dialect's words: status, code, headers and body.

use std::collections::BTreeMap;

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, ApiErrorKind, by_field};
use crate::dialect::Dialect;

/// Stops the retries of Runloop's clients.
const SHOULD_RETRY: &str = "x-should-retry";

/// The response that tells `error` to a client of `dialect`.
pub(crate) fn response(error: &ApiError, dialect: Dialect) -> Response {
    let status = status(&error.kind, dialect);
    let body = match dialect {
        Dialect::Verial => serde_json::to_vec(&VerialError::of(error)),
        Dialect::Runloop => serde_json::to_vec(&RunloopError::of(error)),
    }
    .expect("strings and maps of strings are always JSON");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    match &error.kind {
        ApiErrorKind::RateLimited { retry_after } | ApiErrorKind::Unavailable { retry_after } => {
            // Whole seconds, and never "at once".
            let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        ApiErrorKind::Unauthorized => {
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

/// The response that tells `error` to somebody who looks at a page: for what the pages themselves could not tell, such as a time-out.
pub(crate) fn page(error: &ApiError, dialect: Dialect, request_id: &str) -> Response {
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('"', "&quot;")
    };
    let message = escape(&error.message);
    let body = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>Proctor</title>\
         <h1>This page could not be shown</h1><p>{message}</p><p>Request id: <code>{}</code></p><p><a href=\"/ui/\">Overview</a></p></html>",
        escape(request_id)
    );
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status(&error.kind, dialect);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    response
}

/// The status that `dialect` gives to a kind of error.
pub(crate) fn status(kind: &ApiErrorKind, dialect: Dialect) -> StatusCode {
    match kind {
        ApiErrorKind::Validation(_) | ApiErrorKind::Unmet(_) | ApiErrorKind::BadRequest => {
            StatusCode::BAD_REQUEST
        }
        ApiErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ApiErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ApiErrorKind::NotFound => StatusCode::NOT_FOUND,
        ApiErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ApiErrorKind::Conflict => StatusCode::CONFLICT,
        ApiErrorKind::IllegalState | ApiErrorKind::Taken => match dialect {
            Dialect::Verial => StatusCode::CONFLICT,
            // Runloop's clients would take a 409 for a passing condition.
            Dialect::Runloop => StatusCode::BAD_REQUEST,
        },
        ApiErrorKind::LimitReached => match dialect {
            Dialect::Verial => StatusCode::CONFLICT,
            // Not a 429 either, for the same reason: waiting alone does not help.
            Dialect::Runloop => StatusCode::FORBIDDEN,
        },
        ApiErrorKind::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ApiErrorKind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ApiErrorKind::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        ApiErrorKind::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        ApiErrorKind::TimedOut => StatusCode::REQUEST_TIMEOUT,
        ApiErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ApiErrorKind::NotImplemented => StatusCode::NOT_IMPLEMENTED,
    }
}

/// The code in Verial's words; Runloop's is the same in lower case.
fn code(kind: &ApiErrorKind, dialect: Dialect) -> &'static str {
    match kind {
        ApiErrorKind::LimitReached => match dialect {
            Dialect::Verial => "CONFLICT",
            Dialect::Runloop => "FORBIDDEN",
        },
        ApiErrorKind::Validation(_) | ApiErrorKind::Unmet(_) => "VALIDATION_ERROR",
        ApiErrorKind::BadRequest => "BAD_REQUEST",
        ApiErrorKind::Unauthorized => "UNAUTHORIZED",
        ApiErrorKind::Forbidden => "FORBIDDEN",
        ApiErrorKind::NotFound => "NOT_FOUND",
        ApiErrorKind::MethodNotAllowed => "METHOD_NOT_ALLOWED",
        ApiErrorKind::Taken | ApiErrorKind::Conflict | ApiErrorKind::IllegalState => "CONFLICT",
        ApiErrorKind::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
        ApiErrorKind::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
        ApiErrorKind::RateLimited { .. } => "RATE_LIMITED",
        ApiErrorKind::Unavailable { .. } => "UNAVAILABLE",
        ApiErrorKind::TimedOut => "REQUEST_TIMEOUT",
        ApiErrorKind::Internal => "INTERNAL_ERROR",
        ApiErrorKind::NotImplemented => "NOT_IMPLEMENTED",
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
    details: BTreeMap<String, Vec<String>>,
}

impl VerialError {
    fn of(error: &ApiError) -> Self {
        let details = match &error.kind {
            ApiErrorKind::Validation(problems) | ApiErrorKind::Unmet(problems) => {
                by_field(problems)
            }
            _ => BTreeMap::new(),
        };
        Self {
            error: VerialErrorDetail {
                code: code(&error.kind, Dialect::Verial),
                message: error.message.to_string(),
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
    fn of(error: &ApiError) -> Self {
        Self {
            message: error.message.to_string(),
            code: code(&error.kind, Dialect::Runloop).to_ascii_lowercase(),
        }
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
        let error = ApiError::new(ApiErrorKind::IllegalState, "the run is cancelled");
        let response = response(&error, dialect);
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
    #[case(Dialect::Verial, 409)]
    #[case(Dialect::Runloop, 403)]
    fn a_reached_limit_is_nothing_to_wait_for(#[case] dialect: Dialect, #[case] status: u16) {
        let error = ApiError::new(ApiErrorKind::LimitReached, "2 devboxes at once");
        let response = response(&error, dialect);
        assert_eq!(response.status().as_u16(), status);
        assert!(!response.headers().contains_key(header::RETRY_AFTER));
    }

    #[rstest]
    #[case(ApiErrorKind::Conflict)]
    #[case(ApiErrorKind::NotImplemented)]
    fn runloops_clients_are_told_not_to_retry(#[case] kind: ApiErrorKind) {
        let error = ApiError::new(kind, "no");
        assert_eq!(
            response(&error, Dialect::Runloop).headers()[SHOULD_RETRY],
            "false"
        );
        assert!(
            !response(&error, Dialect::Verial)
                .headers()
                .contains_key(SHOULD_RETRY)
        );
    }

    #[rstest]
    #[case(Duration::ZERO, "1")]
    #[case(Duration::from_millis(1001), "2")]
    #[case(Duration::from_secs(30), "30")]
    fn retry_after_is_in_whole_seconds_rounded_up(#[case] wait: Duration, #[case] header: &str) {
        let error = ApiError::unavailable("the database is locked", wait);
        for dialect in [Dialect::Verial, Dialect::Runloop] {
            let response = response(&error, dialect);
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers()[header::RETRY_AFTER], header);
        }
    }
}
