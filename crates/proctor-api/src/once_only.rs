//! Requests that carry their own id are done once.
//!
//! In the Runloop dialect a client's `x-request-id` on anything but a read is an idempotency key.
//! The request then runs as a task of its own: a client that gives up and asks again with the
//! same id waits for the first attempt and gets its answer, instead of starting a second one.
//!
//! Doing a request and keeping its answer are two commits, and the server may end in between. Then the request is carried
//! out again, and what it makes has the ids that it had the first time ([`proctor_store::repeatable`]): it is found instead
//! of made twice. ARCHITECTURE.md says how each operation behaves.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    response::{IntoResponse as _, Response},
    routing::Route,
};
use http::{HeaderValue, StatusCode, header};
use proctor_core::canonical::Digest;
use proctor_core::causes::with_causes;
use proctor_store::{
    fault,
    idempotency::{Answer, Begun, Claim, Unanswered},
};
use tower::Service as _;
use tracing::Instrument as _;

use crate::{
    auth::Caller,
    dialect::Dialect,
    error::{ApiError, ApiErrorKind, render},
    extract::read_body,
    frame::Guarded,
    state::ApiState,
};

/// Does `request` unless it was done before under this id.
pub(crate) async fn answer(
    state: ApiState,
    request_id: String,
    request: Request,
    route: Route,
    time_out: Option<Duration>,
) -> Result<Response, Infallible> {
    let answered = answer_or_problem(state, request_id, request, route, time_out).await;
    Ok(answered.unwrap_or_else(ApiError::into_response))
}

async fn answer_or_problem(
    state: ApiState,
    request_id: String,
    request: Request,
    mut route: Route,
    time_out: Option<Duration>,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::authenticate(&parts.headers, &state).await?;
    let body = read_body(&parts.headers, body, state.body_limit()).await?;
    let scope = format!(
        "{} {} {}",
        caller.principal().credential,
        parts.method,
        parts.uri.path()
    );
    let digest = Digest::of_bytes(
        &[
            parts.uri.query().unwrap_or_default().as_bytes(),
            b"\n",
            &body,
        ]
        .concat(),
    );
    match state
        .store()
        .begin_request(&scope, &request_id, digest, time_out)
        .await?
    {
        Begun::Done(answer) => Ok(replay(answer)),
        Begun::OtherBody => Err(ApiError::bad_request(format!(
            "the x-request-id '{request_id}' was used for another request; a new request needs a new id"
        ))),
        Begun::Fresh(claim) => {
            parts.extensions.insert(caller);
            let request = Request::from_parts(parts, Body::from(body));
            let tasks = state.tasks().clone();
            let doing = async move {
                let answer = Guarded::new(route.call(request), time_out);
                let response = claim
                    .request()
                    .carry_out(answer)
                    .await
                    .unwrap_or_else(ApiError::into_response);
                fault::point("request.done");
                keep(&state, claim, response).await
            };
            tasks
                .spawn(doing.in_current_span())
                .await
                .map_err(ApiError::internal)
        }
    }
}

fn replay(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(content_type) = answer
        .content_type
        .and_then(|text| text.parse::<HeaderValue>().ok())
    {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
    }
    response
}

/// Keeps the answer for those who ask again, if it will still be true then.
async fn keep(state: &ApiState, claim: Claim, mut response: Response) -> Response {
    if let Some(problem) = response.extensions().get::<ApiError>() {
        if let Some(how) = passing(problem.kind()) {
            abandon(state, claim, how).await;
            return response;
        }
        response = render::response(problem, Dialect::Runloop);
    }
    if !is_json(&response) {
        // Bytes that somebody downloads: nothing was done.
        abandon(state, claim, Unanswered::NotDone).await;
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = match to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => {
            abandon(state, claim, Unanswered::PerhapsDone).await;
            return ApiError::internal(error).into_response();
        }
    };
    let answer = Answer {
        status: parts.status.as_u16(),
        content_type: parts
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned),
        body: body.to_vec(),
    };
    if let Err(error) = state.store().finish_request(claim, &answer).await {
        // What was done is done; only a repetition would not be recognised.
        tracing::error!(error = %with_causes(&error), "an answer could not be kept for its request id");
    }
    Response::from_parts(parts, Body::from(body))
}

async fn abandon(state: &ApiState, claim: Claim, how: Unanswered) {
    if let Err(error) = state.store().abandon_request(claim, how).await {
        tracing::warn!(error = %with_causes(&error), "a request id stays claimed for a while");
    }
}

/// What became of a request whose problem may pass; none if the request itself is wrong, whenever it is sent.
fn passing(kind: &ApiErrorKind) -> Option<Unanswered> {
    match kind {
        ApiErrorKind::Validation(_)
        | ApiErrorKind::MethodNotAllowed
        | ApiErrorKind::UnsupportedMediaType => None,
        // Refused because of how things stand: what else there is, in which state, whose it is.
        ApiErrorKind::Unmet(_)
        | ApiErrorKind::IllegalState
        | ApiErrorKind::Taken
        | ApiErrorKind::LimitReached
        | ApiErrorKind::Conflict
        | ApiErrorKind::NotFound
        | ApiErrorKind::Unauthorized
        | ApiErrorKind::Forbidden
        | ApiErrorKind::RateLimited { .. }
        // These are also said of the files and programs in a box.
        | ApiErrorKind::BadRequest
        | ApiErrorKind::PayloadTooLarge
        // Another server, or this one with other settings, may offer it.
        | ApiErrorKind::NotImplemented => Some(Unanswered::NotDone),
        ApiErrorKind::Unavailable { .. } | ApiErrorKind::TimedOut | ApiErrorKind::Internal => {
            Some(Unanswered::PerhapsDone)
        }
    }
}

fn is_json(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_with_the_request_itself_is_kept() {
        let wrong = ApiError::field("name", "is required");
        assert_eq!(passing(wrong.kind()), None);
        let unmet = ApiError::unmet(Vec::new());
        assert_eq!(passing(unmet.kind()), Some(Unanswered::NotDone));
        let state = ApiErrorKind::IllegalState;
        assert_eq!(passing(&state), Some(Unanswered::NotDone));
    }

    #[test]
    fn after_a_fault_nobody_knows_what_was_done() {
        for kind in [ApiErrorKind::TimedOut, ApiErrorKind::Internal] {
            assert_eq!(passing(&kind), Some(Unanswered::PerhapsDone));
        }
    }
}
