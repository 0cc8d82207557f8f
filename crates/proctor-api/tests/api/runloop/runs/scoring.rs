//! A scenario run from its start to its score, and what can come in between.

use std::time::Duration;

use proctor_engine::scenarios::BoxEnd;
use proctor_testkit::eventually;
use rstest::rstest;
use serde_json::{Value, json};

use super::Desk;
use crate::runloop::scenarios::{create, parameters};

#[tokio::test]
async fn a_scenario_is_started_scored_and_completed() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let body = json!({"scenario_id": scenario, "run_name": "first try", "metadata": {"seed": "1"},
        "benchmark_run_id": null, "runProfile": {"purpose": "trial", "envVars": {"MODEL": "m"}, "secrets": null}});
    let started = desk.post("/v1/scenarios/start_run", body).await;
    insta::assert_snapshot!("run_started", started.shape());
    let run = started.text("id");
    let order = desk.shop.orders().remove(0);
    assert_eq!(order.name, "first try");
    assert_eq!(order.request.environment["MODEL"], "m");

    desk.shop.slow_down(true);
    let scoring = desk.act(&run, "score").await;
    assert_eq!(scoring.body["state"], "scoring");
    assert_eq!(
        desk.act(&run, "score").await.body["state"],
        "scoring",
        "asking again changes nothing"
    );
    let early = desk.act(&run, "complete").await;
    insta::assert_snapshot!("run_in_scoring", early.shape());
    eventually("a box is held", async || desk.shop.held() > 0).await;
    desk.shop.slow_down(false);
    let scored = desk.leaves(&run, "scoring").await;
    assert_eq!(scored["state"], "scored");
    assert_eq!(scored["scoring_contract_result"]["score"], 1.0);
    assert_eq!(
        (desk.shop.live(), desk.shop.held()),
        (1, 0),
        "the box stays"
    );
    let again = desk.scored(&run).await;
    assert_eq!(
        again["scoring_contract_result"],
        scored["scoring_contract_result"]
    );

    let completed = desk.act(&run, "complete").await;
    insta::assert_snapshot!("run_completed", completed.shape());
    assert_eq!(desk.shop.live(), 0);
    for action in ["complete", "cancel"] {
        let unchanged = desk.act(&run, action).await;
        assert_eq!(unchanged.body, completed.body, "{action}");
    }
    let late = desk.act(&run, "score").await;
    insta::assert_snapshot!("run_over", late.shape());
}

#[rstest]
#[case("true", json!({"state": "complete", "score": 1.0}))]
#[case("false", json!({"state": "complete", "score": 0.0}))]
#[case("broken", json!({"state": "error", "score": 0.0}))]
#[tokio::test]
async fn a_scorer_without_a_result_scores_zero_and_the_run_is_scored(
    #[case] command: &str,
    #[case] expected: Value,
) {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", command).await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    let scored = desk.scored(&run).await;
    assert_eq!(scored["state"], "scored");
    let result = &scored["scoring_contract_result"]["scoring_function_results"][0];
    assert_eq!(
        json!({"state": result["state"], "score": result["score"]}),
        expected
    );
}

#[rstest]
#[case("sleep", "timeout", "agent_timeout")]
#[case("crash", "failed", "scorer_error")]
#[tokio::test]
async fn what_cannot_be_scored_has_a_cause(
    #[case] command: &str,
    #[case] state: &str,
    #[case] cause: &str,
) {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", command).await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    let over = desk.scored(&run).await;
    assert_eq!(over["state"], state);
    assert_eq!(over["metadata"]["proctor.cause"], cause);
    assert_eq!(desk.shop.live(), 0, "the box is shut down");
}

#[tokio::test]
async fn scoring_has_a_clock_of_its_own() {
    let desk = Desk::new().await;
    let mut body = parameters("slow");
    body["scorer_timeout_sec"] = 60.into();
    let scenario = create(&desk.server, body).await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    desk.shop.slow_down(true);
    desk.act(&run, "score").await;
    desk.server.clock.advance(Duration::from_secs(61));
    assert_eq!(desk.run(&run).await["state"], "timeout");
    assert_eq!(desk.shop.live(), 0);
    desk.shop.slow_down(false);
}

#[rstest]
#[case(BoxEnd::Lost, "infrastructure")]
#[case(BoxEnd::OutOfTime, "agent_timeout")]
#[case(BoxEnd::Exhausted, "agent_crash")]
#[case(BoxEnd::ShutDown, "agent_crash")]
#[case(BoxEnd::NotSetUp("a command failed".to_owned()), "scorer_error")]
#[tokio::test]
async fn a_lost_box_fails_its_run(#[case] end: BoxEnd, #[case] cause: &str) {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    desk.shop.end_newest(end);
    let over = desk.leaves(&run, "running").await;
    assert_eq!(over["state"], "failed");
    assert_eq!(over["metadata"]["proctor.cause"], cause);
    assert_eq!(desk.act(&run, "score").await.status, 400);
}

#[tokio::test]
async fn canceling_stops_the_box_and_the_scorers() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    desk.shop.slow_down(true);
    desk.act(&run, "score").await;
    let canceled = desk.act(&run, "cancel").await;
    assert_eq!(canceled.body["state"], "canceled");
    assert_eq!(desk.shop.live(), 0);
    eventually("no box is held", async || desk.shop.held() == 0).await;
    desk.shop.slow_down(false);
    assert_eq!(desk.run(&run).await["state"], "canceled");
}
