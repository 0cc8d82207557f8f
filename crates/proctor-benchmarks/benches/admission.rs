//! How long the admission of each shipped benchmark takes, beside its goal.
//!
//! `cargo bench -p proctor-benchmarks --bench admission` admits each of them once, on one core, and says how many right solutions of its tasks could have
//! been carried out and judged in the same time.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use proctor_benchmarks::SHIPPED;
use proctor_core::time::Timestamp;

/// What the admission of one benchmark may take.
const GOAL: Duration = Duration::from_secs(60);
/// How often the solutions are carried out that it is compared with.
const ROUNDS: u32 = 20;
/// 2030-03-04 08:00 UTC.
const NOW: Timestamp = Timestamp::from_millis(1_898_841_600_000);

fn main() {
    for shipped in SHIPPED {
        let file = shipped.read().expect("what is shipped is right");
        let start = Instant::now();
        let certificate = file.admit(NOW).expect("what is shipped can be tried");
        let took = start.elapsed();
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for task in &file.content.tasks {
                let done = file.rehearse(&task.name, &task.solution, NOW);
                assert!(done.expect("it can be tried").failure.is_none());
            }
        }
        let solutions = f64::from(ROUNDS) * file.content.tasks.len() as f64;
        let solution = start.elapsed().as_secs_f64() / solutions;
        let line = format!(
            "{}: {} harms, {} mutants and {} tasks in {took:.1?}, goal {GOAL:?}: as long as {:.0} right solutions\n",
            certificate.slug,
            certificate.harms_tried,
            certificate
                .tasks
                .iter()
                .map(|task| task.mutants)
                .sum::<usize>(),
            certificate.tasks.len(),
            took.as_secs_f64() / solution,
        );
        let written = std::io::stdout().write_all(line.as_bytes());
        written.expect("standard output is open");
    }
}
