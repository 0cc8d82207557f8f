//! Agents take scenarios.

use std::time::Duration;

use proctor_core::{id::Dialect, mount::Mount};
use proctor_testkit::eventually;
use serde_json::{Value, json};

use super::{Desk, PATH, agent, of_scenarios, runs};
use crate::{
    runloop::runs::files,
    runloop::scenarios::{create, parameters},
};

#[tokio::test]
async fn each_agent_takes_every_scenario_in_a_run_of_its_own() {
    let desk = Desk::new().await;
    let first = desk.scenario("first", "is changed").await;
    let second = desk.scenario("second", "is changed").await;
    for scenario in [&first, &second] {
        let body = json!({"reference_output": "touch done"});
        desk.post(&format!("/v1/scenarios/{scenario}"), body).await;
    }
    let benchmark = desk.benchmark(&[&first, &second]).await;
    let body = json!({"name": "nightly", "spec": {"type": "benchmark", "benchmark_id": benchmark,
        "agent_configs": [agent("oracle"), agent("nop")], "orchestrator_config": null}});
    let made = desk.post(PATH, body).await;
    assert_eq!(
        (&made.body["state"], &made.body["name"]),
        (&json!("initializing"), &json!("nightly"))
    );
    let job = made.text("id");
    assert!(job.starts_with("bmj_"));
    let seen = desk.over(&job).await;
    assert_eq!(seen["state"], "completed");
    assert_eq!(
        seen["job_source"],
        json!({"type": "benchmark", "benchmark_id": benchmark, "benchmark_name": "bench"})
    );
    assert_eq!(seen["job_spec"]["scenario_ids"], json!([first, second]));
    assert_eq!(seen["in_progress_runs"], json!([]));
    let outcomes = seen["benchmark_outcomes"].as_array().unwrap();
    for (outcome, (name, score)) in outcomes.iter().zip([("oracle", 1.0), ("nop", 0.0)]) {
        assert_eq!(
            (&outcome["agent_name"], &outcome["average_score"]),
            (&json!(name), &json!(score))
        );
        assert_eq!(
            (&outcome["n_completed"], &outcome["n_failed"]),
            (&json!(2), &json!(0)),
            "a low score is no failure"
        );
        let run = outcome["benchmark_run_id"].as_str().unwrap();
        let run = desk.benchmark_run(run).await;
        assert_eq!(
            (&run["state"], &run["score"], &run["benchmark_id"]),
            (&json!("completed"), &json!(score), &json!(benchmark))
        );
        assert_eq!(run["metadata"]["proctor.job"], job);
        for scenario in outcome["scenario_outcomes"].as_array().unwrap() {
            assert_eq!(
                (&scenario["state"], &scenario["score"]),
                (&json!("COMPLETED"), &json!(score))
            );
            let taken = scenario["scenario_run_id"].as_str().unwrap();
            let taken = desk.run(taken).await;
            assert_eq!(taken["state"], "completed");
            assert_eq!(taken["scenario_id"], scenario["scenario_definition_id"]);
        }
    }
    assert_eq!(desk.shop.works().len(), 2, "doing nothing runs nothing");
    assert_eq!(desk.shop.live(), 0);
}

#[tokio::test]
async fn scenarios_can_be_named_one_by_one() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("alone", "is changed").await;
    let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(seen["name"], "alone");
    assert_eq!(
        seen["job_source"],
        json!({"type": "scenarios", "scenario_ids": [scenario]})
    );
    assert_eq!(outcome["average_score"], 1.0);
    let listed = desk.server.read("/v1/benchmarks").await;
    assert_eq!(
        listed.body["benchmarks"],
        json!([]),
        "the benchmark behind it is in no list"
    );
}

#[tokio::test]
async fn a_command_finds_its_task_its_model_and_its_environment() {
    let desk = Desk::new().await;
    desk.post("/v1/secrets", json!({"name": "MINE", "value": "hush"}))
        .await;
    let secrets = desk.server.read("/v1/secrets").await;
    let by_id = &secrets.body["secrets"][0]["id"];
    let mut body = parameters("needy");
    body["required_environment_variables"] = json!(["REGION"]);
    body["required_secret_names"] = json!(["KEY"]);
    let scenario = create(&desk.server, body).await;
    let source = json!({"type": "npm", "npm": {"package_name": "solver"}});
    let registered = desk
        .post(
            "/v1/agents",
            json!({"name": "solver", "source": source, "version": "1.0.0"}),
        )
        .await;
    assert_eq!(registered.status, 200, "{}", registered.body);
    let config = json!({"name": "solver", "type": "job_agent", "model_name": "m-1", "timeout_seconds": 12.5,
        "kwargs": {"command": "solve --all", "effort": "high"},
        "agent_environment": {"environment_variables": {"REGION": "eu"}, "secrets": {"KEY": "MINE", "OTHER": by_id}}});
    let body = of_scenarios(&[&scenario], json!([config]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(outcome["model_name"], "m-1");
    let echoed = &seen["job_spec"]["agent_configs"][0];
    assert_eq!(echoed["kwargs"], config["kwargs"]);
    assert_eq!(
        echoed["agent_environment"]["secrets"],
        json!({"KEY": "MINE", "OTHER": "MINE"}),
        "a secret is known by its name"
    );
    let work = desk.shop.works().remove(0);
    assert_eq!(work.script, "solve --all");
    assert_eq!(work.time_limit, Duration::from_millis(12_500));
    assert_eq!(work.variables["PROCTOR_MODEL_NAME"], "m-1");
    assert_eq!(
        work.variables["PROCTOR_AGENT_KWARGS"],
        r#"{"effort":"high"}"#
    );
    let order = desk.shop.orders().remove(0);
    assert_eq!(order.request.environment["REGION"], "eu");
    assert_eq!(order.request.secrets["KEY"], "MINE");
    let [agent, problem, ..] = &order.request.mounts[..] else {
        panic!("{:?}", order.request.mounts);
    };
    let registered = registered.text("id");
    let agent_path = &work.variables["PROCTOR_AGENT_PATH"];
    assert!(
        matches!(agent, Mount::Agent { agent: Some(id), target: Some(target), .. }
            if id.wire(Dialect::Runloop) == registered && target == agent_path),
        "{agent:?}"
    );
    let statement = &parameters("needy")["input_context"]["problem_statement"];
    let problem_file = &work.variables["PROCTOR_PROBLEM_FILE"];
    assert!(
        matches!(problem, Mount::File { target, content } if target == problem_file && statement == content),
        "{problem:?}"
    );
}

#[tokio::test]
async fn no_more_trials_are_under_way_than_were_allowed() {
    let desk = Desk::new().await;
    let mut scenarios = Vec::new();
    for number in 0..5 {
        scenarios.push(desk.scenario(&format!("s{number}"), "true").await);
    }
    let all: Vec<&String> = scenarios.iter().collect();
    desk.shop.rest(true);
    let orchestrator = json!({"n_concurrent_trials": 3});
    let body = of_scenarios(&all, json!([runs("go"), runs("go on")]), orchestrator);
    let job = desk.job(body).await;
    eventually("three agents are at work", async || {
        desk.shop.working() >= 3
    })
    .await;
    desk.server.clock.advance(Duration::from_millis(1500));
    let seen = desk.seen(&job).await;
    assert_eq!(seen["state"], "running");
    let in_progress = seen["in_progress_runs"].as_array().unwrap();
    assert_eq!(in_progress.len(), 2);
    assert_eq!(in_progress[0]["agent_config"]["kwargs"]["command"], "go");
    assert_eq!(in_progress[0]["state"], "running");
    assert!(
        in_progress[0]["duration_ms"].as_u64().unwrap() >= 1500,
        "{seen:#}"
    );
    desk.shop.rest(false);
    let seen = desk.over(&job).await;
    assert_eq!(seen["state"], "completed");
    assert_eq!(desk.shop.works().len(), 10);
    assert_eq!(desk.shop.most_working(), 3);
    assert_eq!(desk.shop.live(), 0);
}

#[tokio::test]
async fn the_logs_of_a_job_have_what_its_agents_printed() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
    let (_, outcome) = desk.outcome(body).await;
    let run = outcome["scenario_outcomes"][0]["scenario_run_id"]
        .as_str()
        .unwrap();
    let zip = files(&desk, &format!("/v1/scenarios/runs/{run}/download_logs")).await;
    let (name, text) = &zip[2];
    assert_eq!(name, &format!("{run}_agent.log"));
    assert!(text.starts_with("Agent("), "{text}");
}
