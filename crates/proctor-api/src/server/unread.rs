//! Bodies that nobody read.
//!
//! A request may be answered before its body was read: nobody knows its route, or its key. hyper would then close the
//! connection without a word, and a client that goes on using it sees one that broke; while it still writes, it may not
//! even see the answer. So what is left of a body is read and thrown away first, within limits. Beyond them the answer
//! says that the connection ends.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, response::Response, routing::future::RouteFuture};
use bytes::Bytes;
use futures::future::{BoxFuture, Either};
use http::{HeaderValue, Request, Version, header};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::{sync::oneshot, time::timeout};
use tower::Service as _;

use crate::extract::drain;

/// How long the rest of a body is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The answer of the routes, and what comes after it for a request with a body.
pub(super) type Answer =
    Either<RouteFuture<Infallible>, BoxFuture<'static, Result<Response, Infallible>>>;

/// Lets the routes answer, and leaves nothing of the request's body behind.
pub(super) fn answer(mut router: Router, request: Request<Incoming>) -> Answer {
    // HTTP/2 can end a stream without ending the connection.
    if request.body().is_end_stream() || request.version() > Version::HTTP_11 {
        return Either::Left(router.call(request.map(Body::new)));
    }
    // A client that waits for "100 Continue" has sent nothing that could be read.
    let waits = request.headers().contains_key(header::EXPECT);
    let (back, mut unread) = oneshot::channel();
    let request = request.map(|body| {
        Body::new(Lent {
            body: Some(body),
            back: Some(back),
        })
    });
    Either::Right(Box::pin(async move {
        let mut response = router.call(request).await?;
        if let Ok(rest) = unread.try_recv()
            && (waits || !is_drained(rest).await)
        {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        Ok(response)
    }))
}

async fn is_drained(rest: Incoming) -> bool {
    timeout(PATIENCE, drain(&mut Body::new(rest)))
        .await
        .unwrap_or(false)
}

/// A body that comes back if it was not read to its end.
struct Lent {
    body: Option<Incoming>,
    back: Option<oneshot::Sender<Incoming>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(body), Some(back)) = (self.body.take(), self.back.take())
            && !body.is_end_stream()
        {
            // Nobody waits for it any more when the connection is over.
            let _ = back.send(body);
        }
    }
}
