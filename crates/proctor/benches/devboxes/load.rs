//! So many at once, for a while.

use std::time::{Duration, Instant};

use futures::future::join_all;
use proctor_testkit::figures::Times;

/// How long each took, and all together.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) times: Times,
    took: Duration,
}

impl Load {
    pub(crate) fn per_second(&self) -> f64 {
        self.times.count() as f64 / self.took.as_secs_f64()
    }

    /// Counts what had to be waited for afterwards as part of the work.
    pub(crate) async fn until(mut self, end: impl Future<Output = ()>) -> Self {
        let began = Instant::now();
        end.await;
        self.took += began.elapsed();
        self
    }

    /// Takes what was done at another time together with this.
    pub(crate) fn add(&mut self, other: Self) {
        self.times.append(other.times);
        self.took += other.took;
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
    let took = began.elapsed();
    let mut times = Times::default();
    times.extend(done.into_iter().flatten());
    Load { times, took }
}
