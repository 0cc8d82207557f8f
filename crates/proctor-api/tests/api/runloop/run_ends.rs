//! How runs end when nobody asks for it, or when whoever ended them did not get far.

use proctor_core::{
    id::{Dialect, kinds::TaskRunId},
    time::Clock as _,
};
use proctor_engine::scenarios::BoxEnd;
use proctor_store::progress::Progress;
use serde_json::json;

use super::runs::{Desk, files};

impl Desk {
    /// Ends a scenario run as versions did that ended its run in another transaction, right before they died.
    async fn end_and_die(&self, run: &str) {
        let id = TaskRunId::from_wire(run, Dialect::Runloop).unwrap();
        let before = self.server.store.task_run(id).await.unwrap().unwrap();
        let after = before.value.clone().cancel(self.server.clock.now());
        let progress = Progress {
            task_runs: vec![(before, after.into_inner())],
            ..Progress::default()
        };
        self.server.store.record(&progress).await.unwrap();
    }
}

#[tokio::test]
async fn a_score_outlives_its_box() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    assert_eq!(desk.scored(&run).await["state"], "scored");
    desk.shop.end_newest(BoxEnd::OutOfTime);
    let over = desk.leaves(&run, "scored").await;
    assert_eq!(over["state"], "completed", "{over:#}");
    assert_eq!(over["scoring_contract_result"]["score"], 1.0);
    assert!(over["metadata"].get("proctor.cause").is_none());
    let again = desk.act(&run, "complete").await;
    assert_eq!((again.status, &again.body), (200, &over));
}

#[tokio::test]
async fn a_box_that_ends_while_it_is_scored_says_why() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "lost").await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    desk.shop.slow_down(true);
    desk.act(&run, "score").await;
    desk.shop.end_newest(BoxEnd::Exhausted);
    desk.shop.slow_down(false);
    let over = desk.leaves(&run, "scoring").await;
    assert_eq!(over["state"], "failed");
    assert_eq!(over["metadata"]["proctor.cause"], "agent_crash");
}

#[tokio::test]
async fn scorers_that_take_too_long_leave_what_they_said_in_the_logs() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("slow", "sleep").await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    let over = desk.scored(&run).await;
    assert_eq!(over["state"], "timeout");
    assert!(over.get("scoring_contract_result").is_none(), "{over}");
    let logs = files(&desk, &format!("/v1/scenarios/runs/{run}/download_logs")).await;
    let (name, said) = &logs[3];
    assert_eq!(name, &format!("{run}_scoring.log"));
    assert!(said.contains("ran sleep"), "{said}");
}

#[tokio::test]
async fn a_benchmark_run_whose_last_scenario_was_ended_by_a_dying_server_completes() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let [asked, recovered] = [
        desk.start_benchmark(&benchmark).await,
        desk.start_benchmark(&benchmark).await,
    ];
    let inside = desk.in_run(&asked, &scenario).await;
    desk.end_and_die(&inside).await;
    let other = desk.in_run(&recovered, &scenario).await;
    desk.end_and_die(&other).await;
    assert_eq!(desk.benchmark_run(&asked).await["state"], "running");

    assert_eq!(desk.act(&inside, "complete").await.status, 200);
    assert_eq!(
        desk.benchmark_run(&asked).await["state"],
        "completed",
        "asking again is enough"
    );

    assert_eq!(desk.benchmark_run(&recovered).await["state"], "running");
    let engine = desk.shop.next_engine(&desk.server).await;
    assert_eq!(
        desk.benchmark_run(&recovered).await["state"],
        "completed",
        "the next server finishes it"
    );
    engine.close().await;
}

#[tokio::test]
async fn a_benchmark_with_an_archived_scenario_is_not_run() {
    let desk = Desk::new().await;
    let good = desk.scenario("good", "true").await;
    let old = desk.scenario("old", "true").await;
    let benchmark = desk.benchmark(&[&good, &old]).await;
    let begun = desk.start_benchmark(&benchmark).await;
    desk.post(&format!("/v1/scenarios/{old}/archive"), json!(null))
        .await;
    let start = json!({"benchmark_id": benchmark});
    let job = json!({"spec": {"type": "benchmark", "benchmark_id": benchmark,
        "agent_configs": [{"type": "job_agent", "name": "nop"}]}});
    for (path, body) in [
        ("/v1/benchmarks/start_run", &start),
        ("/v1/benchmark_jobs", &job),
    ] {
        let refused = desk.post(path, body.clone()).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let message = refused.text("message");
        assert!(
            message.contains(&old) && !message.contains(&good),
            "{message}"
        );
    }
    // What has begun goes by what it began with.
    desk.in_run(&begun, &old).await;
    desk.post(&format!("/v1/scenarios/{old}/unarchive"), json!(null))
        .await;
    desk.start_benchmark(&benchmark).await;
}
