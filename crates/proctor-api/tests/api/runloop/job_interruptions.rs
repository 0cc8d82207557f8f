//! Jobs whose server ends in the middle of a try, in boxes that exist only in memory.

use proctor_core::{
    id::{Dialect, kinds::JobId},
    job::TryOutcome,
    time::Clock as _,
};
use proctor_store::progress::Progress;
use proctor_testkit::eventually;
use serde_json::{Value, json};

use super::{
    jobs::{agent, of_scenarios},
    runs::Desk,
};

impl Desk {
    /// A job in which an oracle is at work when the server ends.
    async fn interrupted_oracle(&self) -> String {
        let scenario = self.scenario("fix", "is changed").await;
        let reference = json!({"reference_output": "touch done"});
        self.post(&format!("/v1/scenarios/{scenario}"), reference)
            .await;
        let body = of_scenarios(&[&scenario], json!([agent("oracle")]), Value::Null);
        self.shop.rest(true);
        let job = self.job(body).await;
        eventually("an agent is at work", async || self.shop.working() > 0).await;
        self.server.engine.close().await;
        self.shop.rest(false);
        job
    }

    /// What the next server makes of a job.
    async fn taken_up_again(&self, job: &str) -> Value {
        let engine = self.shop.next_engine(&self.server).await;
        let seen = self.over(job).await;
        engine.close().await;
        seen
    }
}

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
