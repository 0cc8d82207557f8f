//! The time-out for request heads, without a timer for every request.
//!
//! hyper arms a timer when it begins to wait for a head and disarms it when the head is there. With
//! tokio's timers that is a lock shared by all threads, taken twice a request. Here a deadline is
//! only a moment that hyper compares with the clock whenever its connection is polled, and [`Ticks`]
//! see to it that every connection is polled now and then.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};

/// Gives hyper deadlines that wake nobody.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadTimer;

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline(deadline))
    }
}

struct Deadline(Instant);

impl Sleep for Deadline {}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Wakes a connection at regular times, so that deadlines are looked at.
pub(super) struct Ticks {
    period: Duration,
    next: Pin<Box<tokio::time::Sleep>>,
    is_armed: bool,
}

impl Ticks {
    /// Often enough that a time-out of `limit` is noticed soon after.
    pub(super) fn for_limit(limit: Duration) -> Self {
        let period = limit / 4;
        Self {
            period,
            next: Box::pin(tokio::time::sleep(period)),
            is_armed: false,
        }
    }

    /// Ready at every tick. To be polled by one task only: it is armed once for each tick, not
    /// with every poll.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_armed && !self.next.is_elapsed() {
            return Poll::Pending;
        }
        self.is_armed = true;
        ready!(self.next.as_mut().poll(context));
        self.is_armed = false;
        let next = tokio::time::Instant::now() + self.period;
        self.next.as_mut().reset(next);
        Poll::Ready(())
    }
}
