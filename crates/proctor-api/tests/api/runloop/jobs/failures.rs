//! What does not end well, and what is tried again.

use proctor_engine::scenarios::BoxEnd;
use proctor_testkit::eventually;
use rstest::rstest;
use serde_json::{Value, json};

use super::{Desk, agent, of_scenarios, runs};

#[rstest]
#[case("exit 3", "FAILED", "AgentCrashError", "failed", "agent_crash")]
#[case("sleep", "TIMEOUT", "AgentTimeoutError", "timeout", "agent_timeout")]
#[tokio::test]
async fn an_agent_that_does_not_finish_is_not_judged(
    #[case] command: &str,
    #[case] state: &str,
    #[case] kind: &str,
    #[case] run_state: &str,
    #[case] cause: &str,
) {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let body = of_scenarios(&[&scenario], json!([runs(command)]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(seen["state"], "completed", "the job itself went well");
    assert!(outcome.get("average_score").is_none());
    let told = &outcome["scenario_outcomes"][0];
    assert_eq!(
        (&told["state"], &told["failure_reason"]["exception_type"]),
        (&json!(state), &json!(kind))
    );
    assert!(told.get("score").is_none());
    let run = desk.run(told["scenario_run_id"].as_str().unwrap()).await;
    assert_eq!(
        (&run["state"], &run["metadata"]["proctor.cause"]),
        (&json!(run_state), &json!(cause))
    );
}

#[tokio::test]
async fn what_failed_is_tried_again_with_more_time_and_every_try_is_kept() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "is changed").await;
    let mut config = runs("flaky");
    config["timeout_seconds"] = json!(10);
    let orchestrator = json!({"n_attempts": 2, "timeout_multiplier": 1.5});
    let body = of_scenarios(&[&scenario], json!([config]), orchestrator);
    let (_, outcome) = desk.outcome(body).await;
    assert_eq!(
        (&outcome["n_completed"], &outcome["average_score"]),
        (&json!(1), &json!(1.0))
    );
    let limits: Vec<u64> = desk
        .shop
        .works()
        .iter()
        .map(|work| work.time_limit.as_secs())
        .collect();
    assert_eq!(limits, [10, 15]);
    let run = outcome["benchmark_run_id"].as_str().unwrap();
    let path = format!("/v1/benchmark_runs/{run}/scenario_runs");
    let tries = desk.server.read(&path).await.body;
    let states: Vec<&str> = tries["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["completed", "failed"]);
}

#[tokio::test]
async fn what_is_tried_often_enough_is_given_up() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let orchestrator = json!({"n_attempts": 2});
    let body = of_scenarios(&[&scenario], json!([runs("exit 1")]), orchestrator);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(
        (&seen["state"], &outcome["n_failed"]),
        (&json!("completed"), &json!(1))
    );
    assert_eq!(desk.shop.works().len(), 3);
}

#[tokio::test]
async fn what_cannot_be_set_up_has_no_scenario_run() {
    let desk = Desk::new().await;
    let good = desk.scenario("good", "true").await;
    let boxless = desk.boxless().await;
    let body = of_scenarios(&[&boxless, &good], json!([agent("nop")]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(seen["state"], "completed", "the other scenario was run");
    assert_eq!(
        (&outcome["n_completed"], &outcome["n_failed"]),
        (&json!(1), &json!(1))
    );
    let told = &outcome["scenario_outcomes"][0];
    assert!(told.get("scenario_run_id").is_none(), "{told}");
    insta::assert_json_snapshot!("job_not_set_up", told["failure_reason"]);

    // Alone, it is a job that could run nothing.
    let body = of_scenarios(&[&boxless], json!([agent("nop")]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(seen["state"], "failed");
    insta::assert_json_snapshot!("job_failed", seen["failure_reason"]);
    let run = outcome["benchmark_run_id"].as_str().unwrap();
    assert_eq!(desk.benchmark_run(run).await["state"], "failed");

    let body = of_scenarios(&[&good], json!([agent("oracle")]), Value::Null);
    let (seen, _) = desk.outcome(body).await;
    assert_eq!(seen["state"], "failed", "there is no reference to apply");
}

#[tokio::test]
async fn a_set_up_that_fails_by_its_authors_fault_is_a_set_up_error() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let other = desk.scenario("other", "true").await;
    desk.shop.rest(true);
    let job = |scenarios: &[&String]| of_scenarios(scenarios, json!([runs("go")]), Value::Null);
    let fail_set_up = || {
        let why = "the launch command 'false' ended with status 1".to_owned();
        desk.shop.end_newest(BoxEnd::NotSetUp(why));
    };
    let alone = desk.job(job(&[&scenario])).await;
    eventually("a box is there", async || desk.shop.live() > 0).await;
    fail_set_up();
    let seen = desk.over(&alone).await;
    assert_eq!(seen["state"], "failed", "nothing could be set up: {seen:#}");
    assert_eq!(
        seen["failure_reason"],
        "no scenario could be set up; fix: the launch command 'false' ended with status 1"
    );
    let outcome = &seen["benchmark_outcomes"][0];
    let told = &outcome["scenario_outcomes"][0];
    assert_eq!(
        told["failure_reason"],
        json!({"exception_type": "SetupError", "exception_message": "the launch command 'false' ended with status 1"})
    );
    assert!(told.get("scenario_run_id").is_none(), "{told}");
    let run = outcome["benchmark_run_id"].as_str().unwrap();
    assert_eq!(desk.benchmark_run(run).await["state"], "failed");
    // What happened can still be looked at.
    let tries = desk
        .server
        .read(&format!("/v1/benchmark_runs/{run}/scenario_runs"))
        .await;
    assert_eq!(tries.body["runs"][0]["metadata"]["proctor.reason"], "setup");

    let both = desk.job(job(&[&scenario, &other])).await;
    eventually("a box is there", async || desk.shop.live() > 0).await;
    fail_set_up();
    desk.shop.rest(false);
    let seen = desk.over(&both).await;
    assert_eq!(seen["state"], "completed", "the other was run: {seen:#}");
}

#[tokio::test]
async fn a_job_whose_boxes_never_came_to_be_failed_and_says_why() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    desk.shop.rest(true);
    let job = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
    let job = desk.job(job).await;
    eventually("a box is there", async || desk.shop.live() > 0).await;
    desk.shop
        .end_newest(BoxEnd::NeverReady("the disk is full".to_owned()));
    let seen = desk.over(&job).await;
    assert_eq!(seen["state"], "failed", "{seen:#}");
    assert_eq!(
        seen["failure_reason"],
        "no scenario could be set up; fix: the disk is full"
    );
    let run = seen["benchmark_outcomes"][0]["benchmark_run_id"]
        .as_str()
        .unwrap();
    let path = format!("/v1/benchmark_runs/{run}/scenario_runs");
    let tries = desk.server.read(&path).await;
    let labels = &tries.body["runs"][0]["metadata"];
    assert_eq!(
        labels["proctor.reason"],
        "the devbox never came to be: the disk is full"
    );
}

#[tokio::test]
async fn a_box_that_is_lost_fails_its_scenario() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    desk.shop.rest(true);
    let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
    let job = desk.job(body).await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    desk.shop.end_newest(BoxEnd::Lost);
    let seen = desk.over(&job).await;
    let told = &seen["benchmark_outcomes"][0]["scenario_outcomes"][0];
    assert_eq!(
        (&told["state"], &told["failure_reason"]["exception_type"]),
        (&json!("FAILED"), &json!("InfrastructureError"))
    );
}
