//! What trials of Harbor tasks cost: `cargo bench -p proctor --bench harbor [trials] [start]`.
//!
//! - `trials`: jobs of 10, 100 and 1,000 trials of an agent that does nothing, each verified in a sealed box: processor time of the server itself, and of the
//!   whole machine (`/proc/stat`, so the machine must be idle otherwise), and both of a large job beside a small one.
//! - `start`: how long the second trial of a task whose layers are built takes from its beginning to its agent.
//!
//! Importing an image beside `tar x` is measured by `cargo bench -p proctor-images`. `PROCTOR_PROGRAM` names another program to measure than the one that was built
//! with the benchmark.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod start;
mod trials;

use std::path::Path;

use proctor_testkit::{
    figures::{Parts, Report},
    server::{BenchServer, Caller, authoring::job_is_over, program_to_measure},
};
use serde_json::{Value, json};

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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        if parts.include("trials") {
            trials::measure(&mut report, &program).await;
        }
        if parts.include("start") {
            start::measure(&mut report, &program).await;
        }
    });
    report.print();
}

/// A server whose job files name the tasks of a directory as `tasks:bench/…`.
fn server(program: &str, tasks: &Path) -> BenchServer {
    let tasks = format!("bench={}", tasks.display());
    BenchServer::start_with(program, &["--image", "base=host", "--harbor-tasks", &tasks])
}

/// Writes a task that any agent solves.
fn write_task(place: &Path) {
    let config = "[agent]\ntimeout_sec = 60.0\n[environment]\nnetwork_mode = \"no-network\"\n";
    for (path, content) in [
        ("task.toml", config),
        ("instruction.md", "Do nothing.\n"),
        ("environment/Dockerfile", "FROM base\nWORKDIR /app\n"),
        (
            "tests/test.sh",
            "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
        ),
    ] {
        let path = place.join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }
}

/// Runs a job file to its end.
async fn run(caller: &Caller, job: &Value, pause: std::time::Duration) -> Value {
    let body = json!({"spec": {"type": "harbor", "inline_yaml": job.to_string()}});
    let made = caller.post("/v1/benchmark_jobs", body).await;
    let path = format!("/v1/benchmark_jobs/{}", made["id"].as_str().unwrap());
    let ended = loop {
        tokio::time::sleep(pause).await;
        let job = caller.get(&path).await;
        if job_is_over(&job) {
            break job;
        }
    };
    let score = &ended["benchmark_outcomes"][0]["average_score"];
    assert_eq!(*score, json!(1.0), "{ended:#}");
    ended
}
