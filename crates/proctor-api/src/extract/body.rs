//! Reading a whole body within a limit.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::error::{ApiError, ApiErrorKind};

/// How much of a body over the limit is still read and thrown away. A client that is cut off
/// while it writes sees a broken connection instead of the 413.
const COURTESY: usize = 8 << 20;

/// The whole body, or 413 when it is longer than `limit`.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    limit: usize,
) -> Result<Bytes, ApiError> {
    let announced = announced_length(headers);
    if announced.is_some_and(|length| length > limit as u64) {
        // A client that waits for "100 Continue" has sent nothing that would have to be drained.
        if !headers.contains_key(header::EXPECT) {
            drain(&mut body).await;
        }
        return Err(too_large(limit));
    }
    match Limited::new(&mut body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            drain(&mut body).await;
            Err(too_large(limit))
        }
        Err(error) => Err(ApiError::bad_request(format!(
            "the request's body could not be read to its end: {error}"
        ))),
    }
}

pub(crate) fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Reads what is left of a body and throws it away, within limits; whether that was all of it.
pub(crate) async fn drain(body: &mut Body) -> bool {
    let mut drained = 0;
    while drained < COURTESY {
        match body.frame().await {
            Some(Ok(frame)) => drained += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) => return false,
            None => return true,
        }
    }
    false
}

fn too_large(limit: usize) -> ApiError {
    ApiError::new(
        ApiErrorKind::PayloadTooLarge,
        format!("the body is larger than the limit of {limit} bytes"),
    )
}
