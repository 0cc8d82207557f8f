//! Requests that carry their own id are done once.
//!
//! In the Runloop dialect a client's `x-request-id` on anything but a read is an idempotency key.
//! The request then runs as a task of its own: a client that gives up and asks again with the
//! same id waits for the first attempt and gets its answer, instead of starting a second one.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    response::{IntoResponse as _, Response},
    routing::Route,
};
use http::{HeaderValue, StatusCode, header};
use proctor_core::canonical::Digest;
use proctor_store::{
    fault,
    idempotency::{Answer, Begun, Claim},
};
use tower::Service as _;
use tracing::Instrument as _;

use crate::{
    auth::Caller,
    dialect::Dialect,
    extract::read_body,
    frame::Guarded,
    problem::{Problem, render},
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
    Ok(answered.unwrap_or_else(Problem::into_response))
}

async fn answer_or_problem(
    state: ApiState,
    request_id: String,
    request: Request,
    mut route: Route,
    time_out: Option<Duration>,
) -> Result<Response, Problem> {
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
        Begun::OtherBody => Err(Problem::bad_request(format!(
            "the x-request-id '{request_id}' was used for another request; a new request needs a new id"
        ))),
        Begun::Fresh(claim) => {
            parts.extensions.insert(caller);
            let request = Request::from_parts(parts, Body::from(body));
            let tasks = state.tasks().clone();
            let doing = async move {
                let response = Guarded::new(route.call(request), time_out)
                    .await
                    .unwrap_or_else(Problem::into_response);
                fault::point("request.done");
                keep(&state, claim, response).await
            };
            tasks
                .spawn(doing.in_current_span())
                .await
                .map_err(Problem::internal)
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
    if let Some(problem) = response.extensions().get::<Problem>() {
        if !is_lasting(render::status(problem.kind(), Dialect::Runloop)) {
            abandon(state, claim).await;
            return response;
        }
        response = render::response(problem, Dialect::Runloop);
    }
    if !is_lasting(response.status()) || !is_json(&response) {
        abandon(state, claim).await;
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = match to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => {
            abandon(state, claim).await;
            return Problem::internal(error).into_response();
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
        tracing::error!(%error, "an answer could not be kept for its request id");
    }
    Response::from_parts(parts, Body::from(body))
}

async fn abandon(state: &ApiState, claim: Claim) {
    if let Err(error) = state.store().abandon_request(claim).await {
        tracing::warn!(%error, "a request id stays claimed for a while");
    }
}

/// Whether the same request would get the same answer later.
fn is_lasting(status: StatusCode) -> bool {
    !status.is_server_error()
        && !matches!(
            status,
            StatusCode::REQUEST_TIMEOUT
                // Somebody else was first; the next try may find things at rest.
                | StatusCode::CONFLICT
                | StatusCode::TOO_MANY_REQUESTS
        )
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
    fn what_may_be_otherwise_the_next_time_is_not_kept() {
        for passing in [408, 409, 429, 500, 503] {
            assert!(!is_lasting(StatusCode::from_u16(passing).unwrap()));
        }
        for lasting in [200, 400, 403, 404, 413] {
            assert!(is_lasting(StatusCode::from_u16(lasting).unwrap()));
        }
    }
}
