//! Worlds: how fast they come and go, and how much memory the living take.

use std::time::Instant;

use futures::future::join_all;
use proctor_testkit::figures::Report;

use crate::clinic::Clinic;

const ROUND_TRIPS: usize = 400;
const AT_ONCE: usize = 16;
const LIVE: usize = 5_000;

#[tokio::main]
pub(crate) async fn measure(report: &mut Report, commits: f64) {
    let directory = tempfile::tempdir().unwrap();
    let clinic = Clinic::open(directory.path()).await;
    for (agents, name) in [(1, "one after another"), (AT_ONCE, "16 at once")] {
        let began = Instant::now();
        let one = async || {
            for _ in 0..ROUND_TRIPS / agents {
                let created = clinic.begin().await;
                let task_run = created.task_runs[0].id;
                let run = created.run.id;
                clinic.engine.start_task(run, task_run).await.unwrap();
                clinic.engine.cancel_run(run).await.unwrap();
            }
        };
        join_all((0..agents).map(|_| one())).await;
        let rate = ROUND_TRIPS as f64 / began.elapsed().as_secs_f64();
        // A run, its start, its opening, its seal and its end are each a durable commit.
        report.note(
            &format!("run, world, scenario, teardown, {name}"),
            format!(
                "{rate:.0}/s ({:.2} × of five bare commits)",
                rate * 5.0 / commits
            ),
        );
    }
    let before = resident_megabytes();
    let began = Instant::now();
    let begin = async || {
        for _ in 0..LIVE / AT_ONCE {
            let created = clinic.begin().await;
            let task_run = created.task_runs[0].id;
            clinic
                .engine
                .start_task(created.run.id, task_run)
                .await
                .unwrap();
        }
    };
    join_all((0..AT_ONCE).map(|_| begin())).await;
    let live = clinic.engine.live_worlds();
    let took = began.elapsed().as_secs_f64();
    report.at_most(
        &format!("memory of {live} live playgrounds"),
        resident_megabytes() - before,
        2048.0,
        "MB",
    );
    report.note("beginning them", format!("{:.0}/s", live as f64 / took));
    clinic.close().await;
}

fn resident_megabytes() -> f64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kilobytes = line.split_whitespace().nth(1).unwrap();
    kilobytes.parse::<f64>().unwrap() / 1024.0
}
