//! Trials of an agent that does nothing: what each costs the server and the machine, however many there are.

use std::time::{Duration, Instant};

use proctor_testkit::{
    cpu::{self, CpuTime},
    figures::{Report, median},
    server::BenchServer,
};
use serde_json::json;

use crate::{rounds, run, server, write_task};

/// How many trials a job has.
const SIZES: [usize; 3] = [10, 100, 1000];
/// How many trials are under way at once.
const AT_ONCE: usize = 8;
/// What a measurement uses of the processors at least: small jobs are repeated.
const LEAST_CPU: Duration = Duration::from_secs(2);
/// How long to wait between two looks at a job, for each of its trials: an answer lists all of them.
const PAUSE_PER_TRIAL: Duration = Duration::from_millis(4);

/// What a trial costs, in milliseconds.
struct Cost {
    server: f64,
    machine: f64,
    wall: f64,
}

pub(crate) async fn measure(report: &mut Report, program: &str) {
    let tasks = tempfile::tempdir().unwrap();
    for number in 0..SIZES[SIZES.len() - 1] {
        write_task(&tasks.path().join(format!("task-{number:04}")));
    }
    let server = server(program, tasks.path());
    // What is prepared once is nobody's: the layers, and the tasks as they are kept.
    for size in [SIZES[0], SIZES[SIZES.len() - 1]] {
        job(&server, size).await;
    }
    let idle = idle_machine().await;
    let mut costs: [Vec<Cost>; 3] = Default::default();
    // In turns, so that a machine that is busy for a while is busy for all.
    for _ in 0..rounds() {
        for (size, costs) in SIZES.iter().zip(&mut costs) {
            costs.push(measure_once(&server, *size).await);
        }
    }
    let _ = server.end();
    let medians = costs.map(|costs| {
        let of = |part: fn(&Cost) -> f64| median(costs.iter().map(part).collect());
        Cost {
            server: of(|cost| cost.server),
            machine: of(|cost| cost.machine),
            wall: of(|cost| cost.wall),
        }
    });
    for (size, cost) in SIZES.iter().zip(&medians) {
        let what = format!("server CPU per no-op trial in a sealed box, job of {size}");
        report.at_most(&what, cost.server, 4.0, "ms");
        let what = format!("the whole machine's CPU per such trial, job of {size}");
        report.at_most(&what, cost.machine, 25.0, "ms");
        report.note("the same: rate", format!("{:.0}/s", 1000.0 / cost.wall));
    }
    let (small, large) = (&medians[0], &medians[SIZES.len() - 1]);
    let ratio = large.server / small.server;
    report.at_most("server CPU per trial, 1,000 : 10", ratio, 1.25, "×");
    let ratio = large.machine / small.machine;
    report.at_most("the machine's CPU per trial, 1,000 : 10", ratio, 1.25, "×");
    report.note("the machine without any of it", format!("{idle:.1} % busy"));
}

/// Jobs of this size until enough of the processors was used.
async fn measure_once(server: &BenchServer, size: usize) -> Cost {
    let (began, before, machine) = (Instant::now(), server.cpu(), cpu::of_machine());
    let (mut trials, mut used) = (0, CpuTime::default());
    while used.own < LEAST_CPU {
        job(server, size).await;
        trials += size;
        used = server.cpu() - before;
    }
    let per_trial = |span: Duration| span.as_secs_f64() * 1000.0 / trials as f64;
    Cost {
        server: per_trial(used.own),
        machine: per_trial(cpu::of_machine().saturating_sub(machine)),
        wall: per_trial(began.elapsed()),
    }
}

async fn job(server: &BenchServer, size: usize) {
    let job = json!({
        "n_concurrent_trials": AT_ONCE,
        "agents": [{"name": "nop"}],
        "datasets": [{"path": "tasks:bench", "n_tasks": size}],
    });
    let pause = PAUSE_PER_TRIAL * u32::try_from(size).unwrap();
    run(server.caller(), &job, pause).await;
}

/// How busy the machine is with others, in percent of one processor.
async fn idle_machine() -> f64 {
    let (began, before) = (Instant::now(), cpu::of_machine());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let used = cpu::of_machine().saturating_sub(before);
    100.0 * used.as_secs_f64() / began.elapsed().as_secs_f64()
}
