//! What an attempt of `proctor run` costs beyond its agent: `cargo bench -p proctor --bench attempts`.
//!
//! An agent that does nothing takes a clinical benchmark 200 and 1,000 times, 16 attempts at once, each in a world of its own. Processor time is that of the command
//! with its own server and everything that it started and waited for: supervisors, shells, agents. What starting costs is in both runs, so the cost of an
//! attempt is their difference. The shell and the agent alone are measured beside it and taken off.
//!
//! `PROCTOR_PROGRAM` names another program to measure than the one that was built with the benchmark.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use proctor_testkit::{
    cpu::CpuTime,
    figures::{Report, median},
    server::{proctor, program_to_measure},
};
use serde_json::Value;

/// The agent.
const AGENT: &str = "true";
/// How many tasks the benchmark has.
const TASKS: u32 = 4;
/// How often the benchmark is taken in the small and in the large run.
const SMALL: u32 = 50;
const LARGE: u32 = 250;
/// How many attempts go on at once.
const AT_ONCE: &str = "16";
/// How often everything is measured; the median counts.
const ROUNDS: usize = 3;

/// What a process used, and how long it took.
struct Used {
    cpu: Duration,
    wall: Duration,
}

/// Waits for the end of a process and says what it used, with everything that it waited for.
fn used(mut child: Child, began: Instant) -> Used {
    let stat = format!("/proc/{}/stat", child.id());
    loop {
        let text = fs_err::read_to_string(&stat).unwrap();
        // A process that has ended shows what it used until somebody waits for it.
        if text.rsplit(") ").next().unwrap().starts_with('Z') {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let wall = began.elapsed();
    let time = CpuTime::of(child.id());
    assert!(child.wait().unwrap().success(), "the run did not end well");
    Used {
        cpu: time.own + time.ended_children,
        wall,
    }
}

fn take(program: &str, data: &Path, times: u32) -> Used {
    let out = data.join("results.json");
    let mut command = proctor(program);
    command
        .args(["run", "fax-referral", "--agent", AGENT, "-n", AT_ONCE, "-k"])
        .args([&times.to_string(), "--json", "--data"])
        .arg(data.join("data"))
        .stdout(fs_err::File::create(&out).unwrap().into_parts().0)
        .stderr(Stdio::null());
    let began = Instant::now();
    let used = used(command.spawn().unwrap(), began);
    let results: Value = serde_json::from_slice(&fs_err::read(&out).unwrap()).unwrap();
    let summary = &results["agents"][0]["summary"];
    assert_eq!(summary["scored"], times * TASKS, "{results}");
    used
}

/// What the agent's command costs by itself: a shell that is started, and runs it.
fn bare(attempts: u32) -> Duration {
    let mut command = Command::new("sh");
    let script = format!("i=0; while [ $i -lt {attempts} ]; do sh -c {AGENT}; i=$((i+1)); done");
    command.args(["-c", &script]);
    let began = Instant::now();
    used(command.spawn().unwrap(), began).cpu
}

fn main() {
    let program = program_to_measure(env!("CARGO_BIN_EXE_proctor"));
    let mut report = Report::default();
    report.note("the program", program.clone());
    let (few, many) = (f64::from(SMALL * TASKS), f64::from(LARGE * TASKS));
    let (mut costs, mut ratios, mut walls) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let data = tempfile::tempdir().unwrap();
        // What comes once, for every run: the benchmark is published.
        take(&program, data.path(), 1);
        let small = take(&program, data.path(), SMALL);
        let large = take(&program, data.path(), LARGE);
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let alone = millis(bare(1000)) / 1000.0;
        let each = (millis(large.cpu) - millis(small.cpu)) / (many - few);
        costs.push(each - alone);
        ratios.push((millis(large.cpu) / many) / (millis(small.cpu) / few));
        walls.push(millis(large.wall) / many);
    }
    report.at_most(
        "processor time of an attempt beyond its command",
        median(costs),
        5.0,
        "ms",
    );
    report.at_most(
        "the same in 1,000 attempts, 16 at once, beside 200 attempts",
        median(ratios),
        1.2,
        "×",
    );
    report.note(
        "wall time of an attempt, of 1,000 with 16 at once",
        format!("{:.1} ms", median(walls)),
    );
    report.print();
}
