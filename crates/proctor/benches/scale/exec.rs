//! A command in a running devbox while others are alive.

use futures::{StreamExt as _, stream};
use proctor_testkit::{
    figures::{Report, Times, median},
    server::{BenchServer, Caller},
};
use serde_json::json;

use crate::rounds;

/// How many devboxes are alive.
const MANY: usize = 200;
/// How many commands a measurement has.
const COMMANDS: usize = 200;
/// How many devboxes are made at once.
const AT_ONCE: usize = 4;

pub(crate) async fn measure(report: &mut Report, program: &str) {
    let server = BenchServer::start(program);
    let caller = server.caller();
    let first = devbox(caller).await;
    let alone = executions(caller, &[&first]).await;
    let others = stream::iter(1..MANY).map(|_| devbox(caller));
    let others: Vec<String> = others.buffer_unordered(AT_ONCE).collect().await;
    let beside = executions(caller, &[&first]).await;
    let all: Vec<&String> = others.iter().chain([&first]).collect();
    let spread = executions(caller, &all).await;
    let _ = server.end();
    report.note("exec in a running devbox, 1 alive", alone.1);
    let what = format!("exec in a running devbox, {MANY} alive");
    report.note(&what, beside.1);
    report.at_most(&format!("{what}, p50"), beside.0, 3.0, "ms");
    report.at_most(&format!("{what}, in each once, p50"), spread.0, 3.0, "ms");
    report.note(
        &format!("exec in a running devbox, {MANY} alive : 1 alive"),
        format!("{:.2} ×", beside.0 / alone.0),
    );
}

/// The path of a devbox that runs.
async fn devbox(caller: &Caller) -> String {
    let made = caller.post("/v1/devboxes", json!({})).await;
    let path = format!("/v1/devboxes/{}", made["id"].as_str().unwrap());
    let wait = format!("{path}/wait_for_status");
    let view = caller.wait(&wait, &["running", "failure"]).await;
    assert_eq!(view["status"], "running", "{view}");
    path
}

/// Commands in these devboxes in turn, one after the other: the median of medians, and all of them.
async fn executions(caller: &Caller, devboxes: &[&String]) -> (f64, String) {
    let (mut medians, mut all) = (Vec::new(), Times::default());
    for _ in 0..rounds() {
        let mut times = Times::default();
        for devbox in devboxes.iter().cycle().take(COMMANDS) {
            let path = format!("{devbox}/execute_sync");
            let command = async || {
                let ended = caller.post(&path, json!({"command": "true"})).await;
                assert_eq!(ended["exit_status"], 0, "{ended}");
            };
            times.measure(command).await;
        }
        medians.push(times.median());
        all.append(times);
    }
    (median(medians), all.to_string())
}
