//! What a step costs in a large run beside a small one: `cargo bench -p proctor --bench scale [jobs] [tasks] [whole] [exec] [restart] [compare]`.
//!
//! - `jobs`: trials of jobs of 50, 300 and 1,000 scenarios, with an agent that does nothing and a scorer that says yes.
//! - `tasks`: start and complete of Verial tasks in runs of 10, 100, 1,000 and 10,000 tasks.
//! - `whole`: a run of 10,000 tasks from its making to its score.
//! - `exec`: a command in a running devbox while 1 and while 200 devboxes are alive.
//! - `restart`: a server that starts beside a finished job of 1,000 trials.
//! - `compare`: a comparison and a gate of two stored runs of 10,000 tasks.
//!
//! Processor time is that of the server's process itself, user and system, as the kernel counts it (`/proc/<pid>/stat`). What belongs to boxes (their
//! supervisors and what runs in them) is not in it; processes that the server starts and waits for are shown apart. `PROCTOR_PROGRAM` names another
//! program to measure than the one that was built with the benchmark.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod comparisons;
mod exec;
mod jobs;
mod restart;
mod tasks;

use proctor_testkit::{
    figures::{Parts, Report},
    server::program_to_measure,
};

/// How often each figure is measured; the median is what is shown. `PROCTOR_BENCH_ROUNDS` says it where a slow program is measured.
fn rounds() -> usize {
    let asked = std::env::var("PROCTOR_BENCH_ROUNDS").ok();
    asked.map_or(5, |rounds| rounds.parse().unwrap())
}

fn main() {
    let parts = Parts::wanted();
    let program = program_to_measure(env!("CARGO_BIN_EXE_proctor"));
    let mut report = Report::default();
    report.note("the program", program.clone());
    // One thread asks: what it takes of the machine is taken from the server as little as can be.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        if parts.include("jobs") {
            jobs::measure(&mut report, &program).await;
        }
        if parts.include("tasks") {
            tasks::measure(&mut report, &program).await;
        }
        if parts.include("whole") {
            tasks::measure_a_whole_run(&mut report, &program).await;
        }
        if parts.include("exec") {
            exec::measure(&mut report, &program).await;
        }
        if parts.include("compare") {
            comparisons::measure(&mut report, &program).await;
        }
        if parts.include("restart") {
            restart::measure(&mut report, &program).await;
        }
    });
    report.print();
}

/// A quantity in milliseconds.
fn millis(span: std::time::Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}
