//! `kill -9` of the server while it scores: after the next start everything is scored, rightly, and nothing is left behind.

use std::time::Duration;

use futures::future::join_all;
use proctor_testkit::server::{Caller, Server};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

use super::{
    desk::{Taken, command, contract, modes, scenario, score_of, start},
    many::nothing_goes_on,
};
use crate::PROCTOR;
use crate::leftovers::entries;

/// How often the server is killed.
const KILLS: usize = 4;

/// Scorers that take their time, put files into the box, and change its disk.
fn scorers() -> [Value; 3] {
    let script = "sleep 0.6; test \"$(cat answer)\" = 42 && echo score=1 || echo score=0";
    [
        json!({"type": "bash_script_scorer", "bash_script": script}),
        json!({
            "type": "test_based_scorer",
            "test_files": [{"file_path": "hidden.txt", "file_contents": "hidden"}],
            "test_command": "grep -q hidden hidden.txt && sleep 0.6 && grep -q hidden hidden.txt",
        }),
        command("touch marker"),
    ]
}

async fn begin(caller: &Caller, scenario: &str) -> Taken {
    let taken = start(caller, scenario, json!({})).await;
    taken
        .does(
            caller,
            "echo 42 > answer; setsid sleep 4321 >/dev/null 2>&1 &",
        )
        .await;
    taken
}

/// What is in the devbox of scorers: their files, their scratch places, their processes.
async fn left_in(caller: &Caller, taken: &Taken) -> String {
    let look = "ls -A | grep -v -x -e answer -e marker -e '\\..*'; ls -A /tmp; pgrep -a sleep | grep -v 4321";
    taken.does(caller, look).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scoring_survives_kill_9_at_any_moment() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().canonicalize().unwrap();
    let mut server = Server::on(PROCTOR, &data);
    let mut scenarios = Vec::new();
    for mode in modes() {
        scenarios.push(scenario(server.caller(), mode, &scorers()).await);
    }
    let mut random = StdRng::seed_from_u64(20_261_116);
    let mut all = Vec::new();
    for _ in 0..KILLS {
        let mut taken = Vec::new();
        for scenario in &scenarios {
            taken.push(begin(server.caller(), scenario).await);
        }
        for one in &taken {
            one.score(server.caller()).await;
        }
        let pause = random.random_range(0..1500);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        server.kill();
        server = Server::on(PROCTOR, &data);
        let caller = server.caller();
        for (one, mode) in taken.iter().zip(modes()) {
            let seen = one.settled(caller).await;
            assert_eq!(seen["state"], "scored", "killed after {pause} ms: {seen}");
            assert_eq!(score_of(&seen), Some(1.0), "{seen}");
            let metadata = &seen["metadata"];
            assert_eq!(metadata["proctor.scoring"], *mode);
            assert_eq!(metadata["proctor.rescore"], "possible");
            assert_eq!(left_in(caller, one).await, "", "killed after {pause} ms");
            assert_eq!(one.complete(caller).await["state"], "completed");
        }
        all.extend(taken);
    }

    // What was kept is the disk before any scorer ran, also of a scoring that was interrupted.
    let caller = server.caller();
    let clean = [
        command("test \"$(cat answer)\" = 42"),
        command("! test -e marker"),
    ];
    for scenario in &scenarios {
        let body = json!({"scoring_contract": contract(&clean)});
        caller
            .post(&format!("/v1/scenarios/{scenario}"), body)
            .await;
    }
    let rescored = all.iter().map(async |one| {
        let again = one.rescored(caller, "own").await;
        assert_eq!(score_of(&again), Some(1.0), "{again}");
        let corrected = one.rescored(caller, "draft").await;
        assert_eq!(score_of(&corrected), Some(1.0), "{corrected}");
        let original = &corrected["original_scoring_contract_result"];
        let results = original["scoring_function_results"].as_array();
        assert_eq!(results.unwrap().len(), 3);
    });
    join_all(rescored).await;
    nothing_goes_on(&server, &data, &all).await;
    let boxes = data.join("devboxes/local");
    let is_kept = |name: &String| name.starts_with("frozen-");
    let layers = entries(&boxes.join("layers"));
    assert_eq!(
        layers.iter().filter(|name| is_kept(name)).count(),
        all.len()
    );
    assert_eq!(layers.len(), all.len(), "{layers:?}");
}
