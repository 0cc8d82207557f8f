//! Jobs that are cancelled or interrupted.

use proctor_engine::scenarios::BoxEnd;
use proctor_testkit::eventually;
use serde_json::{Value, json};

use super::{Desk, PATH, agent, of_scenarios, runs};

#[tokio::test]
async fn canceling_stops_boxes_and_keeps_results() {
    let desk = Desk::new().await;
    let first = desk.scenario("first", "true").await;
    let second = desk.scenario("second", "true").await;
    let third = desk.scenario("third", "true").await;
    let all = [&first, &second, &third];
    let body = of_scenarios(&all, json!([agent("nop"), runs("go")]), Value::Null);
    desk.shop.rest(true);
    let job = desk.job(body).await;
    let seen = desk
        .when(&job, |seen| !seen["benchmark_outcomes"][0].is_null())
        .await;
    assert_eq!(seen["benchmark_outcomes"][0]["n_completed"], 3);
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    let path = format!("{PATH}/{job}/cancel");
    let cancelled = desk.post(&path, Value::Null).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    desk.contract
        .check_schema("BenchmarkJobView", &cancelled.body);
    assert_eq!(cancelled.body["state"], "cancelled");
    assert_eq!(desk.shop.live(), 0);
    let outcomes = &cancelled.body["benchmark_outcomes"];
    assert_eq!(outcomes[0]["n_completed"], 3, "results are kept");
    let states: Vec<&Value> = outcomes[1]["scenario_outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|outcome| &outcome["state"])
        .collect();
    assert_eq!(states, ["CANCELED"; 3]);
    let run = outcomes[1]["benchmark_run_id"].as_str().unwrap();
    assert_eq!(desk.benchmark_run(run).await["state"], "canceled");
    let again = desk.post(&path, Value::Null).await;
    assert_eq!(again.body["state"], "cancelled");
    eventually("no agent is at work", async || desk.shop.working() == 0).await;
    desk.shop.rest(false);
    assert_eq!(desk.shop.works().len(), 1, "nothing more was begun");

    let body = of_scenarios(&[&first], json!([agent("nop")]), Value::Null);
    let (done, _) = desk.outcome(body).await;
    let path = format!("{PATH}/{}/cancel", done["id"].as_str().unwrap());
    let late = desk.post(&path, Value::Null).await;
    insta::assert_snapshot!("job_cancelled_late", late.shape());
}

#[tokio::test]
async fn a_job_goes_on_when_the_server_comes_back() {
    let desk = Desk::new().await;
    let mut scenarios = Vec::new();
    for name in ["first", "second"] {
        scenarios.push(desk.scenario(name, "is changed").await);
    }
    let all: Vec<&String> = scenarios.iter().collect();
    let body = of_scenarios(&all, json!([agent("nop"), runs("go")]), Value::Null);
    desk.shop.rest(true);
    let job = desk.job(body).await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    desk.server.engine.close().await;
    let before = desk.seen(&job).await;
    assert_eq!(before["state"], "running");
    let boxes = desk.shop.orders().len();

    let engine = desk.shop.next_engine(&desk.server).await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    assert_eq!(
        desk.shop.orders().len(),
        boxes,
        "it goes on in the same box"
    );
    desk.shop.rest(false);
    let seen = desk.over(&job).await;
    assert_eq!(seen["state"], "completed");
    assert_eq!(seen["benchmark_outcomes"][1]["average_score"], 1.0);
    assert_eq!(
        desk.shop.works().len(),
        2,
        "each scenario was worked on once"
    );
    assert_eq!(desk.shop.orders().len(), 4, "nothing was begun twice");
    assert_eq!(
        seen["benchmark_outcomes"][0], before["benchmark_outcomes"][0],
        "what was finished stays as it was"
    );
    engine.close().await;
}

#[tokio::test]
async fn a_box_that_was_lost_with_the_server_is_nobodys_failure() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "is changed").await;
    let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
    desk.shop.rest(true);
    let job = desk.job(body).await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    desk.server.engine.close().await;
    desk.shop.end_newest(BoxEnd::Lost);
    desk.shop.rest(false);
    let engine = desk.shop.next_engine(&desk.server).await;
    let seen = desk.over(&job).await;
    let outcome = &seen["benchmark_outcomes"][0];
    assert_eq!(
        (&outcome["n_completed"], &outcome["average_score"]),
        (&json!(1), &json!(1.0)),
        "it was tried again although no retries were asked for"
    );
    assert_eq!(desk.shop.orders().len(), 2);
    engine.close().await;
}

#[tokio::test]
async fn ending_a_run_of_a_job_ends_its_part_of_the_job() {
    let desk = Desk::new().await;
    let first = desk.scenario("first", "true").await;
    let second = desk.scenario("second", "true").await;
    let body = of_scenarios(&[&first, &second], json!([runs("go")]), Value::Null);
    desk.shop.rest(true);
    let job = desk.job(body).await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    let seen = desk.seen(&job).await;
    let run = seen["in_progress_runs"][0]["benchmark_run_id"]
        .as_str()
        .unwrap();
    desk.post(&format!("/v1/benchmark_runs/{run}/cancel"), Value::Null)
        .await;
    let seen = desk.over(&job).await;
    let states: Vec<&Value> = seen["benchmark_outcomes"][0]["scenario_outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|outcome| &outcome["state"])
        .collect();
    assert_eq!(states, ["CANCELED", "CANCELED"]);
    assert_eq!(desk.shop.live(), 0);
}
