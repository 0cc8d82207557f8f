//! How long the admission of each shipped benchmark takes, beside its goal.
//!
//! `cargo bench -p proctor-benchmarks` admits each of them once, on one core.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use proctor_benchmarks::SHIPPED;
use proctor_core::time::Timestamp;

/// What the admission of one benchmark may take.
const GOAL: Duration = Duration::from_secs(60);
/// 2030-03-04 08:00 UTC.
const NOW: Timestamp = Timestamp::from_millis(1_898_841_600_000);

fn main() {
    for shipped in SHIPPED {
        let file = shipped.read().expect("what is shipped is right");
        let start = Instant::now();
        let certificate = file.admit(NOW).expect("what is shipped can be tried");
        let took = start.elapsed();
        let line = format!(
            "{}: {} harms and {} tasks in {took:.1?}, goal {GOAL:?}\n",
            certificate.slug,
            certificate.harms_tried,
            certificate.tasks.len(),
        );
        let written = std::io::stdout().write_all(line.as_bytes());
        written.expect("standard output is open");
    }
}
