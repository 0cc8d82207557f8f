//! A route's answer, or why there is none: the time-out and caught panics.

use std::{
    any::Any,
    convert::Infallible,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::response::Response;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use crate::error::{ApiError, ApiErrorKind};

pin_project! {
    /// Written out by hand because every request goes through it: the answer is polled in place,
    /// never moved, and a timer is made only for an answer that is not ready at once.
    pub(crate) struct Guarded<F> {
        #[pin]
        answer: F,
        time_out: Option<Duration>,
        timer: Option<Pin<Box<Sleep>>>,
    }
}

impl<F> Guarded<F> {
    pub(crate) fn new(answer: F, time_out: Option<Duration>) -> Self {
        Self {
            answer,
            time_out,
            timer: None,
        }
    }
}

impl<F: Future<Output = Result<Response, Infallible>>> Future for Guarded<F> {
    type Output = Result<Response, ApiError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // What a panic leaves half-done is dropped with the answer and never polled again.
        match catch_unwind(AssertUnwindSafe(|| this.answer.poll(context))) {
            Ok(Poll::Ready(Ok(response))) => Poll::Ready(Ok(response)),
            Ok(Poll::Pending) => {
                let Some(limit) = *this.time_out else {
                    return Poll::Pending;
                };
                let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
                ready!(timer.as_mut().poll(context));
                Poll::Ready(Err(ApiError::new(
                    ApiErrorKind::TimedOut,
                    format!("no answer within {} seconds", limit.as_secs_f64()),
                )))
            }
            Err(panic) => Poll::Ready(Err(ApiError::internal(Panicked::new(&*panic)))),
        }
    }
}

/// A handler that panicked, with what it said.
#[derive(Debug, thiserror::Error)]
#[error("a handler panicked: {0}")]
struct Panicked(String);

impl Panicked {
    fn new(panic: &(dyn Any + Send)) -> Self {
        let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(text), _) => text,
            (None, Some(text)) => text.as_str(),
            (None, None) => "(not a text)",
        };
        Self(text.to_owned())
    }
}
