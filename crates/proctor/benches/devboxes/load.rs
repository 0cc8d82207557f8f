//! So many at once, for a while.

use std::time::{Duration, Instant};

use futures::future::join_all;
use proctor_testkit::figures::Times;

/// How long each took, and how many there were in a second.
pub(crate) struct Load {
    pub(crate) times: Times,
    pub(crate) per_second: f64,
    began: Instant,
}

impl Load {
    /// Counts what had to be waited for afterwards as part of the work.
    pub(crate) fn went_on_until_now(&mut self) {
        self.per_second = self.times.count() as f64 / self.began.elapsed().as_secs_f64();
    }
}

/// Keeps `at_once` of the same work under way for `span`. What is begun by then is waited for, and counts.
pub(crate) async fn keep_up(at_once: usize, span: Duration, work: impl AsyncFn()) -> Load {
    let began = Instant::now();
    let worker = async || {
        let mut times = Vec::new();
        while began.elapsed() < span {
            let one = Instant::now();
            work().await;
            times.push(one.elapsed());
        }
        times
    };
    let done = join_all((0..at_once).map(|_| worker())).await;
    let mut load = Load {
        times: Times::default(),
        per_second: 0.0,
        began,
    };
    load.times.extend(done.into_iter().flatten());
    load.went_on_until_now();
    load
}
