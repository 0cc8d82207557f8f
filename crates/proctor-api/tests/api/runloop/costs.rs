//! How much is asked of the database for a scenario and for a trial of a job. What grows here makes every run slower: whoever changes a number knows why.

use std::fmt::Write as _;

use proctor_core::{
    id::{
        Dialect,
        kinds::{JobId, TaskRunId},
    },
    task_run::TaskRunStatus,
};
use proctor_store::DatabaseCounts;
use proctor_testkit::eventually;
use reqwest::Method;
use serde_json::{Value, json};

use super::runs::Desk;
use crate::support::{TestServer, costs};

/// A scenario run from its start to its completion, with what each step asks of the database.
pub(super) async fn of_a_scenario(server: &TestServer, scenario: &str) -> (String, DatabaseCounts) {
    let (onlooker, is_real) = (server.onlooker().await, server.has_devboxes().await);
    let post = async |path: String, body: Value| {
        let answer = server.ask(Method::POST, &path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    };
    let mut told = String::new();
    let began = server.store.counters();
    let mut tell = async |step: &str, before: DatabaseCounts| {
        writeln!(
            told,
            "{step:<10}{}",
            costs(server.asked_since(before).await)
        )
        .unwrap();
    };

    let start = json!({"scenario_id": scenario});
    let run = post("/v1/scenarios/start_run".to_owned(), start).await;
    let devbox = run["devbox_id"].as_str().unwrap();
    if is_real {
        let wait = json!({"statuses": ["running", "failure"]});
        let ready = post(format!("/v1/devboxes/{devbox}/wait_for_status"), wait).await;
        assert_eq!(ready["status"], "running", "{ready}");
    }
    tell("start", began).await;

    let before = server.store.counters();
    let path = format!("/v1/scenarios/runs/{}", run["id"].as_str().unwrap());
    post(format!("{path}/score"), Value::Null).await;
    let id = TaskRunId::from_wire(run["id"].as_str().unwrap(), Dialect::Runloop).unwrap();
    eventually("the run is scored", async || {
        let seen = onlooker.task_run(id).await.unwrap().unwrap();
        seen.value.status() == TaskRunStatus::Scored
    })
    .await;
    tell("score", before).await;

    let before = server.store.counters();
    let done = post(format!("{path}/complete"), Value::Null).await;
    assert_eq!(done["scoring_contract_result"]["score"], 1.0, "{done}");
    tell("complete", before).await;
    let all = server.asked_since(began).await;
    writeln!(told, "{:<10}{}", "all", costs(all)).unwrap();
    onlooker.close().await;
    (told, all)
}

/// What a job with an agent that does nothing asks of the database.
async fn of_a_job(desk: &Desk, scenarios: &[String]) -> DatabaseCounts {
    let onlooker = desk.server.onlooker().await;
    // Whose the key is, is believed for a while: asked for now, it is not asked for in between.
    desk.server.read("/v1/accounts/me").await;
    let before = desk.server.store.counters();
    let body = json!({"spec": {"type": "scenarios", "scenario_ids": scenarios,
        "agent_configs": [{"name": "nop", "type": "job_agent"}]}});
    let job = desk.post("/v1/benchmark_jobs", body).await.text("id");
    let id = JobId::from_wire(&job, Dialect::Runloop).unwrap();
    eventually("the job is over", async || {
        onlooker.job(id).await.unwrap().unwrap().value.is_over()
    })
    .await;
    onlooker.close().await;
    desk.server.asked_since(before).await
}

#[tokio::test]
async fn a_scenario_asks_so_much_of_the_database() {
    let desk = Desk::new().await;
    desk.server.trust_credentials();
    let scenario = desk.scenario("fix", "true").await;
    // What is asked for once in a while, such as whose the key is, is asked for now.
    of_a_scenario(&desk.server, &scenario).await;
    let (told, _) = of_a_scenario(&desk.server, &scenario).await;
    insta::assert_snapshot!("costs_of_a_scenario_in_memory", told);
}

#[tokio::test]
async fn a_trial_of_a_job_asks_so_much_of_the_database() {
    let desk = Desk::new().await;
    desk.server.trust_credentials();
    let mut scenarios = Vec::new();
    for number in 0..12 {
        scenarios.push(desk.scenario(&format!("scenario {number}"), "true").await);
    }
    of_a_job(&desk, &scenarios[..2]).await;
    let small = of_a_job(&desk, &scenarios[..2]).await;
    let large = of_a_job(&desk, &scenarios).await;
    let ten = large - small;
    let told = format!(
        "job of two    {}\nten more      {}\n",
        costs(small),
        costs(ten)
    );
    insta::assert_snapshot!("costs_of_trials_in_memory", told);
}

#[tokio::test]
async fn a_trial_asks_the_same_of_the_database_in_a_small_job_and_in_a_large_one() {
    let desk = Desk::new().await;
    desk.server.trust_credentials();
    let mut scenarios = Vec::new();
    for number in 0..80 {
        scenarios.push(desk.scenario(&format!("scenario {number}"), "true").await);
    }
    of_a_job(&desk, &scenarios[..2]).await;
    let mut asked = Vec::new();
    for trials in [10, 20, 70, 80] {
        asked.push(of_a_job(&desk, &scenarios[..trials]).await);
    }
    let (small, large) = (asked[1] - asked[0], asked[3] - asked[2]);
    assert_eq!(
        (small.statements, small.commits),
        (large.statements, large.commits),
        "ten trials"
    );
    // Many rows come in one statement, of which the number of trials decides how many there are.
    let few = small.rows_read + small.rows_read / 10;
    assert!(large.rows_read <= few, "{large:?} beside {small:?}");
}
