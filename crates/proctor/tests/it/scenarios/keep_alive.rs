//! A devbox whose time is over while it is scored: the score is on record before anything ends.

use proctor_testkit::server::Server;
use serde_json::json;

use super::desk::{command, scenario, score_of, start_with};
use crate::PROCTOR;

#[tokio::test]
async fn a_keep_alive_that_is_over_while_it_is_scored_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::on(PROCTOR, directory.path());
    let caller = server.caller();
    let scenario = scenario(caller, "live", &[command("sleep 4")]).await;
    let brief = json!({"launchParameters": {"keep_alive_time_seconds": 2}});
    let taken = start_with(caller, &scenario, brief).await;
    taken.score(caller).await;
    let scored = taken.settled(caller).await;
    assert_eq!(scored["state"], "scored", "{scored}");
    assert_eq!(score_of(&scored), Some(1.0));
    // Whoever waited for the score can still look at the box.
    assert_eq!(taken.does(caller, "echo there").await, "there\n");
    let completed = taken.complete(caller).await;
    assert_eq!(completed["state"], "completed");
    assert_eq!(score_of(&completed), Some(1.0));
}
