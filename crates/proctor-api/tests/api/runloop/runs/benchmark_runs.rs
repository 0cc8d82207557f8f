//! Runs of whole benchmarks.

use serde_json::{Value, json};

use super::Desk;

#[tokio::test]
async fn a_benchmark_run_completes_with_its_last_scenario() {
    let desk = Desk::new().await;
    let good = desk.scenario("good", "true").await;
    let bad = desk.scenario("bad", "false").await;
    let outside = desk.scenario("outside", "true").await;
    let benchmark = desk.benchmark(&[&good, &bad]).await;
    let run = desk.start_benchmark(&benchmark).await;
    assert_eq!(desk.benchmark_run(&run).await["state"], "running");
    let stranger = desk
        .post(
            "/v1/scenarios/start_run",
            json!({"scenario_id": outside, "benchmark_run_id": run}),
        )
        .await;
    insta::assert_snapshot!("run_outside", stranger.shape());
    assert_eq!(desk.shop.live(), 0);

    let first = desk.in_run(&run, &good).await;
    desk.scored(&first).await;
    desk.act(&first, "complete").await;
    assert_eq!(
        desk.benchmark_run(&run).await["state"],
        "running",
        "the other scenario was not taken"
    );
    let second = desk.in_run(&run, &bad).await;
    desk.scored(&second).await;
    desk.act(&second, "complete").await;
    let done = desk.benchmark_run(&run).await;
    assert_eq!(
        (&done["state"], &done["score"]),
        (&json!("completed"), &json!(0.5))
    );
    assert!(done["duration_ms"].is_number());
    let late = desk
        .post(
            "/v1/scenarios/start_run",
            json!({"scenario_id": good, "benchmark_run_id": run}),
        )
        .await;
    insta::assert_snapshot!("run_after_the_end", late.shape());
    assert_eq!(desk.shop.live(), 0);
}

#[tokio::test]
async fn an_edited_benchmark_never_changes_a_run_under_way() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let run = desk.start_benchmark(&benchmark).await;
    let harder = json!({"scoring_contract": {"scoring_function_parameters": [
        {"name": "x", "weight": 1, "scorer": {"type": "command_scorer", "command": "false"}}]}});
    desk.post(&format!("/v1/scenarios/{scenario}"), harder)
        .await;
    desk.post(
        &format!("/v1/benchmarks/{benchmark}"),
        json!({"scenario_ids": []}),
    )
    .await;
    let taken = desk.in_run(&run, &scenario).await;
    let scored = desk.scored(&taken).await;
    assert_eq!(scored["scoring_contract_result"]["score"], 1.0);
    let alone = desk.start(json!({"scenario_id": scenario})).await;
    let scored = desk.scored(&alone).await;
    assert_eq!(scored["scoring_contract_result"]["score"], 0.0);
}

#[tokio::test]
async fn completing_a_benchmark_run_counts_what_is_missing_as_zero() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("good", "true").await;
    let other = desk.scenario("other", "true").await;
    let benchmark = desk.benchmark(&[&scenario, &other]).await;
    let run = desk.start_benchmark(&benchmark).await;
    let scored = desk.in_run(&run, &scenario).await;
    desk.scored(&scored).await;
    desk.in_run(&run, &scenario).await;
    let canceled = desk.in_run(&run, &scenario).await;
    desk.act(&canceled, "cancel").await;
    assert_eq!(desk.shop.live(), 2);
    let path = format!("/v1/benchmark_runs/{run}/complete");
    let done = desk.post(&path, Value::Null).await;
    desk.contract
        .check("POST", "/v1/benchmark_runs/{id}/complete", &done.body);
    assert_eq!(
        (&done.body["state"], &done.body["score"]),
        (&json!("completed"), &json!(0.5)),
        "one of two counts, the canceled one does not"
    );
    assert_eq!(desk.shop.live(), 0);
    let again = desk.post(&path, Value::Null).await;
    assert_eq!(again.body, done.body);
    let canceled = desk
        .post(&format!("/v1/benchmark_runs/{run}/cancel"), Value::Null)
        .await;
    assert_eq!(canceled.body, done.body, "what is over stays as it is");
}

#[tokio::test]
async fn canceling_a_benchmark_run_keeps_results_and_stops_boxes() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("good", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let empty = desk.start_benchmark(&benchmark).await;
    let canceled = desk
        .post(&format!("/v1/benchmark_runs/{empty}/cancel"), Value::Null)
        .await;
    assert_eq!(canceled.body["state"], "canceled");
    assert!(canceled.body.get("score").is_none(), "nothing has a result");

    let run = desk.start_benchmark(&benchmark).await;
    let scored = desk.in_run(&run, &scenario).await;
    desk.scored(&scored).await;
    let at_work = desk.in_run(&run, &scenario).await;
    let canceled = desk
        .post(&format!("/v1/benchmark_runs/{run}/cancel"), Value::Null)
        .await;
    desk.contract
        .check("POST", "/v1/benchmark_runs/{id}/cancel", &canceled.body);
    assert_eq!(
        (&canceled.body["state"], &canceled.body["score"]),
        (&json!("canceled"), &json!(1.0))
    );
    assert_eq!(desk.shop.live(), 0);
    assert_eq!(desk.run(&at_work).await["state"], "canceled");
    let kept = desk.run(&scored).await;
    assert_eq!(kept["scoring_contract_result"]["score"], 1.0);
}
