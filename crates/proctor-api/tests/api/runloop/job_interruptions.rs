//! Jobs whose server ends in the middle of a try, in boxes that exist only in memory.

use std::time::Duration;

use proctor_core::{
    id::{Dialect, kinds::JobId},
    job::TryOutcome,
    time::Clock as _,
};
use proctor_store::progress::Progress;
use proctor_testkit::{eventually, eventually_seen};
use serde_json::{Value, json};

use super::{
    jobs::{agent, of_scenarios, runs},
    runs::Desk,
};

impl Desk {
    /// A job in which an oracle is at work when the server ends.
    async fn interrupted_oracle(&self) -> String {
        let scenario = self.with_reference("is changed").await;
        let body = of_scenarios(&[&scenario], json!([agent("oracle")]), Value::Null);
        self.shop.rest(true);
        let job = self.job(body).await;
        eventually("an agent is at work", async || self.shop.working() > 0).await;
        self.server.engine.close().await;
        self.shop.rest(false);
        job
    }

    /// A job of `agents` whose scenario is being scored, and its scenario run.
    async fn in_scoring(&self, scenario: &String, agents: Value) -> (String, String) {
        self.shop.slow_down(true);
        let job = self
            .job(of_scenarios(&[scenario], agents, Value::Null))
            .await;
        let run = eventually_seen("a scenario run is scored", async || {
            let path = "/v1/scenarios/runs?state=scoring";
            let seen = self.server.read(path).await.body;
            let id = seen["runs"][0]["id"].as_str().map(str::to_owned);
            id.ok_or(seen)
        })
        .await;
        (job, run)
    }

    /// A scenario with a reference.
    async fn with_reference(&self, scorer: &str) -> String {
        let scenario = self.scenario("fix", scorer).await;
        let reference = json!({"reference_output": "touch done"});
        self.post(&format!("/v1/scenarios/{scenario}"), reference)
            .await;
        scenario
    }

    /// What the next server makes of a job.
    async fn taken_up_again(&self, job: &str) -> Value {
        let engine = self.shop.next_engine(&self.server).await;
        let seen = self.over(job).await;
        engine.close().await;
        seen
    }
}

/// Longer than any scoring may take.
const OUTAGE: Duration = Duration::from_secs(24 * 60 * 60);

fn id(job: &str) -> JobId {
    JobId::from_wire(job, Dialect::Runloop).unwrap()
}

#[tokio::test]
async fn an_oracle_that_went_down_with_the_server_begins_anew() {
    let desk = Desk::new().await;
    let job = desk.interrupted_oracle().await;
    let seen = desk.taken_up_again(&job).await;
    assert_eq!(seen["state"], "completed");
    let outcome = &seen["benchmark_outcomes"][0];
    assert_eq!(outcome["n_completed"], 1, "{seen:#}");
    assert_eq!(outcome["average_score"], 1.0);
    let tries = desk.server.store.tries(id(&job)).await.unwrap();
    assert!(matches!(
        tries[0].outcome(),
        Some(TryOutcome::Interrupted(_))
    ));
    assert_eq!(tries.len(), 2);
}

#[tokio::test]
async fn a_task_run_that_nobody_asked_to_stop_drops_no_scenario() {
    let desk = Desk::new().await;
    let job = desk.interrupted_oracle().await;
    // As versions left it that ended the task run and the try in two commits, and died between them.
    let store = &desk.server.store;
    let tries = store.tries(id(&job)).await.unwrap();
    let before = store.task_run(tries[0].task_run.unwrap()).await.unwrap();
    let before = before.unwrap();
    let after = before.value.clone().cancel(desk.server.clock.now());
    let progress = Progress {
        task_runs: vec![(before, after.into_inner())],
        ..Progress::default()
    };
    store.record(&progress).await.unwrap();

    let seen = desk.taken_up_again(&job).await;
    let outcome = &seen["benchmark_outcomes"][0];
    assert_eq!(
        (&outcome["n_completed"], &outcome["average_score"]),
        (&json!(1), &json!(1.0)),
        "{seen:#}"
    );
}

#[tokio::test]
async fn an_outage_that_is_longer_than_scoring_may_take_costs_no_score() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "is changed").await;
    let (job, in_job) = desk.in_scoring(&scenario, json!([runs("go")])).await;
    let alone = desk.start(json!({"scenario_id": scenario})).await;
    desk.act(&alone, "score").await;
    desk.server.engine.close().await;
    desk.server.clock.advance(OUTAGE);
    desk.shop.slow_down(false);
    let seen = desk.taken_up_again(&job).await;
    let outcome = &seen["benchmark_outcomes"][0];
    assert_eq!(outcome["average_score"], 1.0, "{seen:#}");
    let run = desk.run(&in_job).await;
    assert_eq!(run["state"], "completed", "{run:#}");
    let run = desk.run(&alone).await;
    assert_eq!(run["state"], "scored", "{run:#}");
}

#[tokio::test]
async fn a_clock_that_ran_out_says_nothing_about_the_scorers_of_the_reference() {
    let desk = Desk::new().await;
    let scenario = desk.with_reference("is changed").await;
    for agents in [json!([agent("oracle")]), json!([runs("go")])] {
        let (job, run) = desk.in_scoring(&scenario, agents).await;
        desk.server.clock.advance(OUTAGE);
        desk.server.engine.sweep().await.unwrap();
        desk.over(&job).await;
        let metadata = &desk.run(&run).await["metadata"];
        assert_eq!(metadata["proctor.cause"], "agent_timeout", "{metadata:#}");
    }
}

#[tokio::test]
async fn what_somebody_stops_after_a_restart_stays_stopped() {
    let desk = Desk::new().await;
    let scenario = desk.with_reference("is changed").await;
    let (job, run) = desk.in_scoring(&scenario, json!([agent("oracle")])).await;
    desk.server.engine.close().await;
    let engine = desk.shop.next_engine(&desk.server).await;
    let cancelled = desk.act(&run, "cancel").await;
    assert_eq!(cancelled.body["state"], "canceled");
    desk.shop.slow_down(false);
    let seen = desk.over(&job).await;
    engine.close().await;
    let outcome = &seen["benchmark_outcomes"][0]["scenario_outcomes"][0];
    assert_eq!(outcome["state"], "CANCELED", "{seen:#}");
    let tries = desk.server.store.tries(id(&job)).await.unwrap();
    assert_eq!(tries.len(), 1, "{tries:#?}");
}
