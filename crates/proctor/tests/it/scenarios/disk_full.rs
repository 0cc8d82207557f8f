//! A disk that is full when a box is to be frozen: the score is as good as any, and says that nothing was kept.

use std::path::Path;

use proctor_testkit::server::{Caller, KEY, Server, serve};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    desk::{Taken, command, scenario, score_of, start},
    many::nothing_goes_on,
};
use crate::{PROCTOR, small_disk::As};

/// A server whose boxes have a small file system of their own, which goes with the last process that sees it.
fn with_small_disk(data: &Path) -> Server {
    let boxes = data.join("devboxes");
    fs_err::create_dir_all(&boxes).unwrap();
    let mut plain = serve(PROCTOR, data);
    plain
        .args(["--log", "error"])
        .env("PROCTOR_BOOTSTRAP_KEY", KEY);
    Server::start(&mut As::Root.with_disk(&boxes, "64m", &plain))
}

/// `results.json` of the logs of a scenario run.
async fn results(caller: &Caller, taken: &Taken) -> Value {
    let files = taken.logs(caller).await;
    let results = format!("{}_results.json", taken.run);
    let (_, text) = files.iter().find(|(name, _)| *name == results).unwrap();
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn a_full_disk_costs_the_frozen_disk_and_not_the_score() {
    if !As::Root.can_mount() {
        eprintln!("skipped: a small file system can only be mounted by root");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().canonicalize().unwrap();
    let server = with_small_disk(&data);
    let caller = server.caller();
    let scorers = [command("test \"$(cat answer)\" = 42 && pgrep sleep")];
    let scenario = scenario(caller, "live", &scorers).await;
    let taken = start(caller, &scenario, json!({})).await;
    // Something runs, so what the box has written must be copied; and that is more than there is room for.
    let work = "echo 42 > answer; head -c 40M /dev/urandom > large; setsid sleep 6543 >/dev/null 2>&1 & \
                until pgrep -x sleep >/dev/null; do :; done";
    taken.does(caller, work).await;
    taken.score(caller).await;
    let scored = taken.settled(caller).await;
    assert_eq!(scored["state"], "scored", "{scored}");
    assert_eq!(score_of(&scored), Some(1.0), "{scored}");
    assert_eq!(scored["metadata"]["proctor.rescore"], "impossible");
    let results = results(caller, &taken).await;
    assert_eq!(results["can_be_rescored"], false);
    let why = results["disk_not_kept"].as_str().unwrap();
    assert!(why.contains("No space left on device"), "{why}");
    let (status, refused) = caller
        .ask(Method::POST, &taken.path("/rescore"), json!({}))
        .await;
    assert_eq!(status, 400, "{refused}");

    // The half of a copy is gone, and the box goes on.
    let goes_on = "head -c 15M /dev/zero > more && cat answer && pgrep -c sleep";
    assert_eq!(taken.does(caller, goes_on).await, "42\n1\n");
    taken.does(caller, "pkill sleep; rm large more").await;
    taken.score(caller).await;
    let again = taken.settled(caller).await;
    assert_eq!(again["metadata"]["proctor.rescore"], "possible", "{again}");
    taken.complete(caller).await;
    nothing_goes_on(&server, &data, &[taken]).await;
}
