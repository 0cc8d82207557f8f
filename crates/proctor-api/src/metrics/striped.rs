//! Numbers that every request changes, on whichever thread it runs.
//!
//! A number that two threads change at once travels between their cores, and a lock around it makes one wait for the
//! other. Here each thread changes a stripe of its own, and whoever asks adds the stripes up.

use std::{
    array, fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder, NoLabelSet},
    metrics::{MetricType, TypedMetric},
};

/// Threads beyond this number share stripes.
const STRIPES: usize = 8;

/// The same for every thread, two cache lines apart, because processors fetch lines in pairs.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Stripe<T>(T);

#[derive(Debug)]
struct Stripes<T>([Stripe<T>; STRIPES]);

impl<T: Default> Default for Stripes<T> {
    fn default() -> Self {
        Self(array::from_fn(|_| Stripe::default()))
    }
}

impl<T> Stripes<T> {
    fn mine(&self) -> &T {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static STRIPE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES;
        }
        // A thread that is ending has no stripe any more and uses the first.
        let stripe = STRIPE.try_with(|stripe| *stripe).unwrap_or(0);
        &self.0[stripe].0
    }

    fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|Stripe(part)| part)
    }
}

/// How many there have been. Cheap to clone, and then still the same number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<Stripes<AtomicU64>>);

impl Count {
    pub(crate) fn increase(&self) {
        self.0.mine().fetch_add(1, Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.all().map(|part| part.load(Ordering::Relaxed)).sum()
    }
}

impl TypedMetric for Count {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for Count {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_counter::<NoLabelSet, _, u64>(&self.value(), None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

/// How many there are. What begins on one thread may end on another: only the sum means something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level(Arc<Stripes<AtomicI64>>);

impl Level {
    pub(crate) fn change(&self, by: i64) {
        self.0.mine().fetch_add(by, Ordering::Relaxed);
    }

    fn value(&self) -> i64 {
        self.0.all().map(|part| part.load(Ordering::Relaxed)).sum()
    }
}

impl EncodeMetric for Level {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.value())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// Upper ends of the ranges that durations are counted in: from 100 µs to about 26 s, each four times the one before. What is
/// longer is counted behind them.
const BOUNDS: [Duration; 10] = {
    let mut bounds = [Duration::from_micros(100); 10];
    let mut range = 1;
    while range < bounds.len() {
        bounds[range] = bounds[range - 1].saturating_mul(4);
        range += 1;
    }
    bounds
};

#[derive(Debug, Default)]
struct Tally {
    ranges: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// How long things took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durations(Arc<Stripes<Tally>>);

impl Durations {
    pub(crate) fn record(&self, took: Duration) {
        let range = BOUNDS.iter().take_while(|bound| took > **bound).count();
        let tally = self.0.mine();
        tally.ranges[range].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        tally.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl TypedMetric for Durations {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let in_range = |range: usize| {
            let parts = self.0.all().map(|tally| &tally.ranges[range]);
            parts.map(|part| part.load(Ordering::Relaxed)).sum::<u64>()
        };
        // Divided once, so that they read as they are meant: 1.6384 and not 1.6383999999999999.
        let ends = BOUNDS.iter().map(|end| end.as_micros() as f64 / 1e6);
        let ends = ends.chain([f64::INFINITY]);
        let ranges: Vec<(f64, u64)> = ends.zip((0..).map(in_range)).collect();
        let count = ranges.iter().map(|(_, count)| count).sum();
        let parts = self.0.all().map(|tally| &tally.nanoseconds);
        let took = Duration::from_nanos(parts.map(|part| part.load(Ordering::Relaxed)).sum());
        encoder.encode_histogram::<NoLabelSet>(took.as_secs_f64(), count, &ranges, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use prometheus_client::{encoding::text, registry::Registry};

    use super::*;

    #[test]
    fn what_many_threads_counted_is_added_up() {
        let (count, level, durations) = (Count::default(), Level::default(), Durations::default());
        thread::scope(|scope| {
            for number in 0..2 * STRIPES as u64 {
                let (count, level, durations) = (count.clone(), level.clone(), durations.clone());
                scope.spawn(move || {
                    for _ in 0..1000 {
                        count.increase();
                        level.change(if number % 4 == 0 { -1 } else { 1 });
                        durations.record(Duration::from_micros(50 << (2 * number)));
                    }
                });
            }
        });
        assert_eq!((count.value(), level.value()), (16_000, 8_000));
        let mut registry = Registry::default();
        registry.register("took", "How long", durations);
        let mut shown = String::new();
        text::encode(&mut shown, &registry).unwrap();
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn the_end_of_a_range_belongs_to_it() {
        for (range, bound) in BOUNDS.iter().enumerate() {
            let durations = Durations::default();
            durations.record(*bound);
            assert_eq!(
                durations.0.mine().ranges[range].load(Ordering::Relaxed),
                1,
                "{bound:?}"
            );
        }
    }
}
