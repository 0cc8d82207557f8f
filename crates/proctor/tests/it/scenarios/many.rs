//! Many scenario runs at once on one server.
//!
//! `PROCTOR_SCENARIO_RUNS` says how many, where that should not be two hundred.

use std::{collections::HashSet, path::Path, time::Instant};

use futures::future::join_all;
use proctor_testkit::{
    server::{Caller, KEY, Server, serve},
    traces::traces_of,
};
use serde_json::json;

use super::desk::{Taken, command, modes, scenario, score_of, start};
use crate::PROCTOR;
use crate::leftovers::{becomes_empty, entries};

/// Ends the server as an administrator would; no box, process, mount or control group is there afterwards.
pub(crate) async fn nothing_goes_on(server: &Server, data: &Path, taken: &[Taken]) {
    let boxes = data.join("devboxes/local");
    becomes_empty(|| entries(&boxes.join("boxes"))).await;
    server.signal("TERM");
    let ours: HashSet<&str> = taken.iter().map(|one| one.devbox.as_str()).collect();
    becomes_empty(|| traces_of(data, |name| ours.contains(name))).await;
    assert_eq!(entries(&boxes.join("boxes")), [""; 0]);
    assert_eq!(entries(&boxes.join("trash")), [""; 0]);
    assert_eq!(entries(&data.join("devboxes/shown")), [""; 0]);
}

/// The whole life of a scenario run: whether the agent solved it, and what it was worth.
async fn life(caller: &Caller, scenario: &str, number: usize) -> (Taken, bool, Option<f64>) {
    let variables = json!({"WANTED": number.to_string()});
    let taken = start(caller, scenario, variables).await;
    let solves = !number.is_multiple_of(3);
    let answer = if solves { number } else { number + 1 };
    let mut work = format!("echo {answer} > answer");
    if number.is_multiple_of(5) {
        work.push_str("; setsid sleep 5432 >/dev/null 2>&1 &");
    }
    taken.does(caller, &work).await;
    taken.score(caller).await;
    let scored = taken.settled(caller).await;
    assert_eq!(scored["state"], "scored", "{scored}");
    let completed = taken.complete(caller).await;
    assert_eq!(completed["state"], "completed", "{completed}");
    (taken, solves, score_of(&completed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_scenario_runs_at_once_are_all_scored_right_and_leave_nothing_behind() {
    let wanted = std::env::var("PROCTOR_SCENARIO_RUNS");
    let wanted = wanted.map_or(200, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().canonicalize().unwrap();
    let server = Server::on(PROCTOR, &data);
    let caller = server.caller();
    let scorer = [command("test \"$(cat answer)\" = \"$WANTED\"")];
    let mut scenarios = Vec::new();
    for mode in modes() {
        scenarios.push(scenario(caller, mode, &scorer).await);
    }
    let began = Instant::now();
    // Most are scored as scenarios are unless they say otherwise.
    let chosen = |number: usize| {
        &scenarios[if number % 8 < scenarios.len() {
            number % 8
        } else {
            0
        }]
    };
    let lives = (0..wanted).map(|number| life(caller, chosen(number), number));
    let lives = join_all(lives).await;
    eprintln!(
        "{wanted} scenario runs at once: {:.1} s",
        began.elapsed().as_secs_f64()
    );
    let mut all = Vec::new();
    for (number, (taken, solves, score)) in lives.into_iter().enumerate() {
        assert_eq!(score, Some(if solves { 1.0 } else { 0.0 }), "run {number}");
        all.push(taken);
    }
    // The newest are kept in any case.
    let again = all[all.len() - 1].rescored(caller, "own").await;
    assert_eq!(
        again["scoring_contract_result"],
        again["original_scoring_contract_result"]
    );
    nothing_goes_on(&server, &data, &all).await;
    let boxes = data.join("devboxes/local");
    assert_eq!(entries(&boxes.join("layers")).len(), all.len().min(256));
    drop(server);

    // A server that is told to keep nothing removes what was kept.
    let mut frugal = serve(PROCTOR, &data);
    frugal
        .args(["--log", "warn", "--keep-frozen", "0"])
        .env("PROCTOR_BOOTSTRAP_KEY", KEY);
    let server = Server::start(&mut frugal);
    let (status, refused) = server
        .caller()
        .ask(reqwest::Method::POST, &all[0].path("/rescore"), json!({}))
        .await;
    assert_eq!(status, 400, "{refused}");
    becomes_empty(|| entries(&boxes.join("layers"))).await;
    nothing_goes_on(&server, &data, &all).await;
}
