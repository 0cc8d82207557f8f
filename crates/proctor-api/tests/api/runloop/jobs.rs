//! Benchmark jobs, in boxes that exist only in memory.

use std::time::Duration;

use proctor_core::{id::Dialect, mount::Mount};
use proctor_engine::{Engine, scenarios::BoxEnd};
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    runs::{Desk, files},
    scenarios::{create, parameters},
};
use crate::support::Answer;

const PATH: &str = "/v1/benchmark_jobs";

pub(super) fn agent(name: &str) -> Value {
    json!({"name": name, "type": "job_agent"})
}

/// An agent that runs a command.
pub(super) fn runs(command: &str) -> Value {
    json!({"name": "mine", "type": "job_agent", "kwargs": {"command": command}})
}

pub(super) fn of_scenarios(scenarios: &[&String], agents: Value, orchestrator: Value) -> Value {
    let mut wanted = json!({"type": "scenarios", "scenario_ids": scenarios});
    wanted["agent_configs"] = agents;
    wanted["orchestrator_config"] = orchestrator;
    spec(wanted)
}

impl Desk {
    pub(super) async fn job(&self, body: Value) -> String {
        let answer = self.post(PATH, body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.contract.check("POST", PATH, &answer.body);
        answer.text("id")
    }

    async fn seen(&self, job: &str) -> Value {
        let answer = self.server.read(&format!("{PATH}/{job}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.contract
            .check("GET", "/v1/benchmark_jobs/{id}", &answer.body);
        let runs = |list: &str, member: &str| -> Vec<Value> {
            let list = answer.body[list].as_array().unwrap().iter();
            list.map(|one| one[member].clone()).collect()
        };
        let finished = runs("benchmark_outcomes", "benchmark_run_id");
        for run in runs("in_progress_runs", "benchmark_run_id") {
            assert!(!finished.contains(&run), "never in both: {}", answer.body);
        }
        answer.body
    }

    /// The job as soon as `holds`.
    async fn when(&self, job: &str, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let seen = self.seen(job).await;
            if holds(&seen) {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The job as soon as it is over.
    pub(super) async fn over(&self, job: &str) -> Value {
        const LIVE: [&str; 3] = ["initializing", "queued", "running"];
        self.when(job, |seen| !LIVE.contains(&seen["state"].as_str().unwrap()))
            .await
    }

    /// What came of a job with one agent.
    pub(super) async fn outcome(&self, body: Value) -> (Value, Value) {
        let job = self.job(body).await;
        let seen = self.over(&job).await;
        assert_eq!(self.shop.live(), 0, "nothing is left behind");
        let outcome = seen["benchmark_outcomes"][0].clone();
        (seen, outcome)
    }
}

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
    while desk.shop.working() < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let seen = desk.seen(&job).await;
    assert_eq!(seen["state"], "running");
    let in_progress = seen["in_progress_runs"].as_array().unwrap();
    assert_eq!(in_progress.len(), 2);
    assert_eq!(in_progress[0]["agent_config"]["kwargs"]["command"], "go");
    assert_eq!(in_progress[0]["state"], "running");
    desk.shop.rest(false);
    let seen = desk.over(&job).await;
    assert_eq!(seen["state"], "completed");
    assert_eq!(desk.shop.works().len(), 10);
    assert_eq!(desk.shop.most_working(), 3);
    assert_eq!(desk.shop.live(), 0);
}

#[tokio::test]
async fn what_cannot_be_set_up_has_no_scenario_run() {
    let desk = Desk::new().await;
    let good = desk.scenario("good", "true").await;
    let mut body = parameters("boxless");
    body["environment_parameters"] = json!({"blueprint_id": "missing"});
    let boxless = create(&desk.server, body).await;
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
async fn a_box_that_is_lost_fails_its_scenario() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    desk.shop.rest(true);
    let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
    let job = desk.job(body).await;
    while desk.shop.working() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    desk.shop.end_newest(BoxEnd::Lost);
    let seen = desk.over(&job).await;
    let told = &seen["benchmark_outcomes"][0]["scenario_outcomes"][0];
    assert_eq!(
        (&told["state"], &told["failure_reason"]["exception_type"]),
        (&json!("FAILED"), &json!("InfrastructureError"))
    );
}

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
    while desk.shop.working() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
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
    while desk.shop.working() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
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
    while desk.shop.working() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    desk.server.engine.close().await;
    let before = desk.seen(&job).await;
    assert_eq!(before["state"], "running");
    let boxes = desk.shop.orders().len();

    let engine = Engine::new(
        desk.server.store.clone(),
        desk.server.clock.clone(),
        "http://x",
        Some(desk.shop.workshop()),
    );
    engine.run().await.unwrap();
    while desk.shop.working() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
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
    while desk.shop.working() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    desk.server.engine.close().await;
    desk.shop.end_newest(BoxEnd::Lost);
    desk.shop.rest(false);
    let engine = Engine::new(
        desk.server.store.clone(),
        desk.server.clock.clone(),
        "http://x",
        Some(desk.shop.workshop()),
    );
    engine.run().await.unwrap();
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
    while desk.shop.working() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
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

#[tokio::test]
async fn jobs_are_listed_found_and_belong_to_their_organization() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let mut jobs = Vec::new();
    for name in ["Nightly", "weekly"] {
        let mut body = of_scenarios(&[&scenario], json!([agent("nop")]), Value::Null);
        body["name"] = name.into();
        jobs.push(desk.job(body).await);
    }
    for (query, expected) in [
        ("", vec![&jobs[1], &jobs[0]]),
        ("?name=night", vec![&jobs[0]]),
        ("?search=WEEK", vec![&jobs[1]]),
        ("?limit=1", vec![&jobs[1]]),
    ] {
        let page = desk.server.read(&format!("{PATH}{query}")).await;
        desk.contract.check("GET", PATH, &page.body);
        let ids: Vec<&str> = page.body["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{query}");
    }
    let stranger = desk.server.foreign_key().await;
    let path = format!("{PATH}/{}", jobs[0]);
    for request in [
        desk.server.get(&path),
        desk.server.post(&format!("{path}/cancel")),
    ] {
        let answer = request.bearer_auth(&stranger).send().await.unwrap();
        assert_eq!(answer.status(), 404);
    }
    let request = desk.server.get(PATH).bearer_auth(&stranger);
    let page = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(page.body["jobs"], json!([]));
    let unknown = desk
        .server
        .read("/v1/benchmark_jobs/bmj_01J00000000000000000000000")
        .await;
    assert_eq!(unknown.status, 404);
    for job in &jobs {
        desk.over(job).await;
    }
}

const SCENARIO: &str = "scn_01J00000000000000000000000";

fn spec(spec: Value) -> Value {
    let mut body = json!({});
    body["spec"] = spec;
    body
}

#[rstest]
#[case("empty", json!({}))]
#[case("empty_spec", spec(json!({})))]
#[case("two_specs", spec(json!({"type": "benchmark", "benchmark_id": "bmd_01J00000000000000000000000", "scenario_ids": [SCENARIO],
    "agent_configs": [{"name": "nop", "type": "job_agent"}]})))]
#[case("other_type", spec(json!({"type": "benchmark", "scenario_ids": [SCENARIO], "agent_configs": [{"name": "nop"}]})))]
#[case("harbor", spec(json!({"type": "harbor", "inline_yaml": "jobs_dir: x"})))]
#[case("no_agents", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO], "agent_configs": []})))]
#[case("no_scenarios", spec(json!({"type": "scenarios", "scenario_ids": [], "agent_configs": [{"name": "nop"}]})))]
#[case("unknown_benchmark", spec(json!({"type": "benchmark", "benchmark_id": "bmd_01J00000000000000000000000", "agent_configs": [{"name": "nop"}]})))]
#[case("no_benchmark_id", spec(json!({"type": "benchmark", "benchmark_id": "x", "agent_configs": [{"name": "nop"}]})))]
#[case("unknown_scenario", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO], "agent_configs": [{"name": "nop"}]})))]
#[case("numbers", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO],
    "agent_configs": [{"name": "nop", "timeout_seconds": -1}, {"name": "nop", "timeout_seconds": 0}, {"name": "nop", "timeout_seconds": 1e12}],
    "orchestrator_config": {"n_attempts": -1, "n_concurrent_trials": 0, "timeout_multiplier": 0}})))]
#[case("not_a_number", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO], "agent_configs": [{"name": "nop", "timeout_seconds": "NaN"}]})))]
#[case("agents", spec(json!({"type": "scenarios", "scenario_ids": [SCENARIO],
    "agent_configs": [{"type": "external_api"}, {"name": " ", "agent_id": "x", "kwargs": {"command": " "}},
        {"name": "a", "agent_environment": {"environment_variables": {"A=B": "c"}, "secrets": {"": "d"}}}]})))]
#[tokio::test]
async fn a_wrong_job_is_400(#[case] name: &str, #[case] body: Value) {
    let desk = Desk::new().await;
    let answer = desk.post(PATH, body).await;
    insta::assert_snapshot!(format!("job_wrong_{name}"), answer.shape());
}

#[rstest]
#[case("stranger", json!({"name": "claude-code", "type": "job_agent"}))]
#[case("unknown_id", json!({"name": "x", "agent_id": "agt_01J00000000000000000000000"}))]
#[case("without_command", json!({"name": "solver"}))]
#[case("missing", json!({"name": "nop", "agent_environment": {"secrets": {"KEY": "NOT_THERE"}}}))]
#[tokio::test]
async fn an_agent_that_cannot_be_run_is_400(#[case] name: &str, #[case] config: Value) {
    let desk = Desk::new().await;
    let source = json!({"type": "npm", "npm": {"package_name": "solver"}});
    desk.post(
        "/v1/agents",
        json!({"name": "solver", "source": source, "version": "1.0.0"}),
    )
    .await;
    let mut body = parameters("needy");
    body["required_environment_variables"] = json!(["REGION"]);
    let scenario = create(&desk.server, body).await;
    let body = of_scenarios(&[&scenario], json!([config]), Value::Null);
    let answer = desk.post(PATH, body).await;
    insta::assert_snapshot!(format!("job_agent_{name}"), answer.shape());
    let listed = desk.server.read(PATH).await;
    assert_eq!(listed.body["jobs"], json!([]));
}

#[tokio::test]
async fn what_is_archived_or_empty_is_not_run() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let empty = desk.benchmark(&[]).await;
    let of = |id: &String| {
        spec(json!({"type": "benchmark", "benchmark_id": id, "agent_configs": [agent("nop")]}))
    };
    for path in [
        format!("/v1/scenarios/{scenario}/archive"),
        format!("/v1/benchmarks/{benchmark}/archive"),
    ] {
        desk.post(&path, Value::Null).await;
    }
    for (body, word) in [
        (of(&benchmark), "archived"),
        (of(&empty), "no scenarios"),
        (
            of_scenarios(&[&scenario], json!([agent("nop")]), Value::Null),
            "no active scenario",
        ),
    ] {
        let answer = desk.post(PATH, body).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.text("message").contains(word), "{}", answer.body);
    }
    let listed = desk.server.ask(Method::GET, PATH, Value::Null).await;
    assert_eq!(listed.body["total_count"], 0);
}
