//! Our own numbers of jobs and benchmark runs, beside those that the contract prescribes.

use proctor_engine::scenarios::BoxEnd;
use proctor_statistics::{Alpha, Attempt, Attempts, Task, Tasks, summarize};
use proctor_testkit::eventually;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    jobs::{agent, of_scenarios, runs},
    runs::Desk,
};

impl Desk {
    async fn results(&self, path: &str) -> Value {
        let answer = self.server.read(&format!("{path}/results")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.body["warnings"], json!([]));
        answer.body
    }

    async fn results_of_job(&self, seen: &Value) -> Value {
        let id = seen["id"].as_str().unwrap();
        self.results(&format!("/v1/benchmark_jobs/{id}")).await
    }

    async fn results_of_run(&self, run: &str) -> Value {
        self.results(&format!("/v1/benchmark_runs/{run}")).await
    }
}

fn numbers(results: &Value) -> &Value {
    &results["agents"][0]["summary"]
}

/// The interval around the mean of tasks with these scores.
fn interval(scores: &[f64]) -> (f64, f64) {
    let tasks = scores.iter().enumerate().map(|(id, score)| Task {
        id: id.to_string(),
        cluster: None,
        data: Attempts::new([Attempt::Scored(*score)]).unwrap(),
    });
    let found = summarize(&Tasks::new(tasks).unwrap(), Alpha::FIVE_PERCENT).unwrap();
    (found.low, found.high)
}

/// A member of each attempt of the first agent.
fn each<'a>(results: &'a Value, member: &str) -> Vec<&'a Value> {
    let attempts = results["agents"][0]["attempts"].as_array().unwrap();
    attempts.iter().map(|attempt| &attempt[member]).collect()
}

#[tokio::test]
async fn failing_on_purpose_is_worth_no_more_than_an_honest_zero() {
    let desk = Desk::new().await;
    let mut scenarios = Vec::new();
    for (name, scorer) in [
        ("solved", "true"),
        ("missed", "is unchanged"),
        ("hangs the scorer", "sleep"),
        ("has no judge", "crash"),
    ] {
        scenarios.push(desk.scenario(name, scorer).await);
    }
    let all: Vec<&String> = scenarios.iter().collect();
    let body = of_scenarios(&all, json!([runs("go")]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(
        outcome["average_score"], 0.5,
        "over completed scenarios, as the contract says"
    );
    let run = &outcome["benchmark_run_id"];
    let attempt = |place: usize, score: Value, cause: Value, reason: Value, verdict: Value| {
        json!({"task": scenarios[place], "attempt": 1, "run_id": run, "tries": 1, "score": score, "cause": cause,
               "reason": reason, "verdict": verdict, "critical_misses": []})
    };
    let none = Value::Null;
    let (low, high) = interval(&[1.0, 0.0, 0.0]);
    let expected = json!({
        "agents": [{
            "name": "mine",
            "run_ids": [run],
            "summary": {"score": 1.0 / 3.0, "low": low, "high": high, "about": "tasks", "planned": 4, "scored": 3, "void": 1,
                        "agent_faults": 1, "worst": 0.25, "best": 0.5},
            "attempts": [
                attempt(0, json!(1.0), none.clone(), none.clone(), json!("pass")),
                attempt(1, json!(0.0), none.clone(), none.clone(), json!("fail")),
                attempt(2, json!(0.0), json!("agent_timeout"), json!("the scorers took longer than they may"), json!("fail")),
                attempt(3, none.clone(), json!("scorer_error"), json!("the devbox could not be scored: the disk is full"), none),
            ],
        }],
        "warnings": [],
    });
    assert_eq!(desk.results_of_job(&seen).await, expected);
    let run = run.as_str().unwrap();
    assert_eq!(desk.results_of_run(run).await, expected);
    let hung = &outcome["scenario_outcomes"][2];
    assert_eq!(
        (&hung["state"], &hung["failure_reason"]["exception_type"]),
        (&json!("TIMEOUT"), &json!("ScorerError")),
        "the wire says what it said before"
    );
    let view = desk.benchmark_run(run).await;
    assert_eq!(
        view["score"], 0.25,
        "over all scenario runs, as the contract says"
    );
    let metadata = view["metadata"].as_object().unwrap();
    let ours: Vec<(&str, &str)> = metadata
        .iter()
        .filter(|(name, _)| *name != "proctor.job")
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    assert_eq!(
        ours,
        [
            ("proctor.about", "tasks"),
            ("proctor.agent_faults", "1"),
            ("proctor.best", "0.5"),
            ("proctor.high", json!(high).to_string().as_str()),
            ("proctor.low", json!(low).to_string().as_str()),
            ("proctor.planned", "4"),
            ("proctor.score", "0.3333333333333333"),
            ("proctor.scored", "3"),
            ("proctor.void", "1"),
            ("proctor.worst", "0.25"),
        ]
    );
}

#[rstest]
#[case(
    "exit 1",
    "agent_crash",
    "the agent ended with status 1: something went wrong"
)]
#[case("sleep", "agent_timeout", "the agent took longer than 3600 seconds")]
#[tokio::test]
async fn an_agent_that_does_not_finish_counts_zero(
    #[case] command: &str,
    #[case] cause: &str,
    #[case] reason: &str,
) {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let body = of_scenarios(&[&scenario], json!([runs(command)]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert!(outcome.get("average_score").is_none());
    let results = desk.results_of_job(&seen).await;
    assert_eq!(
        (
            &numbers(&results)["score"],
            &numbers(&results)["agent_faults"]
        ),
        (&json!(0.0), &json!(1))
    );
    assert_eq!(each(&results, "cause"), [cause]);
    assert_eq!(each(&results, "reason"), [reason]);
    let taken = outcome["scenario_outcomes"][0]["scenario_run_id"].as_str();
    let metadata = &desk.run(taken.unwrap()).await["metadata"];
    for (name, text) in [
        ("cause", cause),
        ("reason", reason),
        ("attempt", "1"),
        ("try", "1"),
    ] {
        assert_eq!(metadata[format!("proctor.{name}")], text);
    }
}

#[tokio::test]
async fn trying_again_is_no_best_of_n() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "is changed").await;
    let orchestrator = json!({"n_attempts": 2});
    let body = of_scenarios(&[&scenario], json!([runs("flaky")]), orchestrator);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(outcome["average_score"], 1.0, "the last try is shown");
    let results = desk.results_of_job(&seen).await;
    assert_eq!(numbers(&results)["score"], 0.0, "the first counts");
    assert_eq!(each(&results, "tries"), [2]);
    assert_eq!(each(&results, "cause"), ["agent_crash"]);
    let run = outcome["benchmark_run_id"].as_str().unwrap();
    let path = format!("/v1/benchmark_runs/{run}/scenario_runs");
    let tries = desk.server.read(&path).await.body;
    assert_eq!(tries["runs"][0]["metadata"]["proctor.try"], "2");
    assert_eq!(tries["runs"][0]["metadata"]["proctor.attempt"], "1");
}

#[tokio::test]
async fn what_the_platform_broke_is_left_out_and_tried_again_if_that_was_asked_for() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "is changed").await;
    for (retries, tries, score) in [(0, 1, Value::Null), (1, 2, json!(1.0))] {
        desk.shop.rest(true);
        let orchestrator = json!({"n_attempts": retries});
        let job = desk
            .job(of_scenarios(
                &[&scenario],
                json!([runs("go")]),
                orchestrator,
            ))
            .await;
        eventually("an agent is at work", async || desk.shop.working() > 0).await;
        desk.shop.end_newest(BoxEnd::Lost);
        desk.shop.rest(false);
        let results = desk.results_of_job(&desk.over(&job).await).await;
        assert_eq!(numbers(&results)["score"], score);
        assert_eq!(each(&results, "tries"), [tries]);
    }
}

#[tokio::test]
async fn scorers_that_are_known_to_hang_on_the_reference_are_not_the_agents_fault() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "sleep").await;
    let path = format!("/v1/scenarios/{scenario}");
    desk.post(&path, json!({"reference_output": "touch done"}))
        .await;
    let cause = async || {
        let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
        let (seen, _) = desk.outcome(body).await;
        let results = desk.results_of_job(&seen).await;
        each(&results, "cause")[0].as_str().unwrap().to_owned()
    };
    assert_eq!(cause().await, "agent_timeout", "nobody knows better");
    let validated = desk.post(&format!("{path}/validate"), json!({})).await;
    assert_eq!(validated.status, 200, "{}", validated.body);
    assert_eq!(cause().await, "scorer_error");
    desk.post(
        &path,
        json!({"input_context": {"problem_statement": "another"}}),
    )
    .await;
    assert_eq!(cause().await, "agent_timeout", "it is another scenario now");
    let body = of_scenarios(
        &[&scenario],
        json!([agent("oracle"), runs("go")]),
        Value::Null,
    );
    let (seen, _) = desk.outcome(body).await;
    let results = desk.results_of_job(&seen).await;
    for agent in results["agents"].as_array().unwrap() {
        assert_eq!(agent["attempts"][0]["cause"], "scorer_error", "{results:#}");
        assert_eq!(agent["summary"]["score"], Value::Null);
    }
}

#[tokio::test]
async fn scorers_that_cannot_be_started_are_the_agents_unless_they_cannot_on_the_reference_either()
{
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "unprepared").await;
    let path = format!("/v1/scenarios/{scenario}");
    desk.post(&path, json!({"reference_output": "touch done"}))
        .await;
    let taken = async || {
        let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
        let (seen, outcome) = desk.outcome(body).await;
        let outcome = &outcome["scenario_outcomes"][0];
        assert_eq!(
            (&outcome["state"], &outcome["score"]),
            (&json!("COMPLETED"), &json!(0.0)),
            "the contract's number stays: {outcome:#}"
        );
        let run = desk.run(outcome["scenario_run_id"].as_str().unwrap()).await;
        let results = desk.results_of_job(&seen).await;
        let attempt = &results["agents"][0]["attempts"][0];
        assert_eq!(
            run["metadata"].get("proctor.cause").unwrap_or(&Value::Null),
            &attempt["cause"],
            "{run:#}"
        );
        (attempt["cause"].clone(), attempt["score"].clone(), results)
    };
    let (cause, score, _) = taken().await;
    assert_eq!(
        (cause, score),
        (Value::Null, json!(0.0)),
        "an agent may have taken away what the scorer needs"
    );
    let validate = format!("{path}/validate");
    let validated = desk.post(&validate, json!({})).await;
    assert_eq!(validated.status, 200, "{}", validated.body);
    let (cause, score, results) = taken().await;
    assert_eq!((cause, score), (json!("scorer_error"), Value::Null));
    assert_eq!(
        each(&results, "reason"),
        ["these scorers cannot be run, not even on the reference: 'cmd-zero'"]
    );
    assert_eq!(
        (&numbers(&results)["void"], &numbers(&results)["scored"]),
        (&json!(1), &json!(0))
    );
    desk.shop.mend();
    desk.post(&validate, json!({})).await;
    let (cause, score, _) = taken().await;
    assert_eq!(
        (cause, score),
        (Value::Null, json!(0.0)),
        "the newest reference shows that they can be started"
    );
}

#[tokio::test]
async fn the_oracle_shows_which_scorers_cannot_be_started() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "unprepared").await;
    let path = format!("/v1/scenarios/{scenario}");
    desk.post(&path, json!({"reference_output": "touch done"}))
        .await;
    let agents = json!([agent("oracle"), runs("go")]);
    let (seen, outcome) = desk
        .outcome(of_scenarios(&[&scenario], agents, Value::Null))
        .await;
    let results = desk.results_of_job(&seen).await;
    for agent in results["agents"].as_array().unwrap() {
        assert_eq!(agent["attempts"][0]["cause"], "scorer_error", "{results:#}");
        assert_eq!(agent["summary"]["void"], 1);
    }
    let run = outcome["benchmark_run_id"].as_str().unwrap();
    let metadata = &desk.benchmark_run(run).await["metadata"];
    assert_eq!(metadata["proctor.void"], "1", "{metadata}");
}

#[tokio::test]
async fn a_scorer_that_can_be_run_nowhere_is_nobodys_fault() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "unreadable").await;
    let body = of_scenarios(&[&scenario], json!([runs("go")]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    assert_eq!(outcome["average_score"], 0.0);
    let results = desk.results_of_job(&seen).await;
    assert_eq!(each(&results, "cause"), ["scorer_error"]);
    assert_eq!(numbers(&results)["score"], Value::Null);
}

#[tokio::test]
async fn what_is_known_of_the_reference_is_known_however_many_agents_came_after_it() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "sleep").await;
    let path = format!("/v1/scenarios/{scenario}");
    desk.post(&path, json!({"reference_output": "touch done"}))
        .await;
    desk.post(&format!("{path}/validate"), json!({})).await;
    for _ in 0..2 {
        let agents = Value::Array(vec![runs("go"); 60]);
        let orchestrator = json!({"n_concurrent_trials": 8});
        let (seen, _) = desk
            .outcome(of_scenarios(&[&scenario], agents, orchestrator))
            .await;
        let results = desk.results_of_job(&seen).await;
        assert_eq!(numbers(&results)["void"], 60, "{}", numbers(&results));
    }
}

#[tokio::test]
async fn what_was_never_started_in_a_run_that_was_completed_on_request_counts_zero() {
    let desk = Desk::new().await;
    let first = desk.scenario("first", "true").await;
    let second = desk.scenario("second", "true").await;
    let third = desk.scenario("third", "true").await;
    desk.shop.rest(true);
    let all = [&first, &second, &third];
    let job = desk
        .job(of_scenarios(&all, json!([runs("go")]), Value::Null))
        .await;
    eventually("an agent is at work", async || desk.shop.working() > 0).await;
    let seen = desk.server.read(&format!("/v1/benchmark_jobs/{job}")).await;
    let run = &seen.body["in_progress_runs"][0]["benchmark_run_id"];
    let run = run.as_str().unwrap();
    let path = format!("/v1/benchmark_runs/{run}/complete");
    let completed = desk.post(&path, Value::Null).await;
    assert_eq!(completed.status, 200, "{}", completed.body);
    let of_job = desk.results_of_job(&desk.over(&job).await).await;
    let of_run = desk.results_of_run(run).await;
    let metadata = &desk.benchmark_run(run).await["metadata"];
    for results in [&of_job, &of_run] {
        assert_eq!(each(results, "cause"), ["agent_timeout"; 3]);
        assert_eq!(each(results, "reason")[2], "it was never started");
        assert_eq!(each(results, "tries"), [1, 0, 0]);
        for (name, number) in [("agent_faults", 3), ("void", 0), ("scored", 3)] {
            assert_eq!(numbers(results)[name], number);
            assert_eq!(metadata[format!("proctor.{name}")], number.to_string());
        }
    }
}

#[tokio::test]
async fn a_run_of_which_nothing_could_be_set_up_has_its_numbers() {
    let desk = Desk::new().await;
    let boxless = desk.boxless().await;
    let body = of_scenarios(&[&boxless], json!([agent("nop")]), Value::Null);
    let (_, outcome) = desk.outcome(body).await;
    let run = outcome["benchmark_run_id"].as_str().unwrap();
    let view = desk.benchmark_run(run).await;
    let metadata = &view["metadata"];
    for (name, number) in [("planned", "1"), ("scored", "0"), ("void", "1")] {
        assert_eq!(metadata[format!("proctor.{name}")], number, "{metadata}");
    }
    assert!(metadata.get("proctor.score").is_none(), "nothing counts");
    let results = desk.results_of_run(run).await;
    assert_eq!(each(&results, "cause"), ["scorer_error"]);
}

#[tokio::test]
async fn what_cannot_be_set_up_is_void() {
    let desk = Desk::new().await;
    let good = desk.scenario("good", "true").await;
    let boxless = desk.boxless().await;
    let body = of_scenarios(&[&boxless, &good], json!([agent("nop")]), Value::Null);
    let (seen, outcome) = desk.outcome(body).await;
    let results = desk.results_of_job(&seen).await;
    assert_eq!(
        each(&results, "cause"),
        [&json!("scorer_error"), &Value::Null]
    );
    assert_eq!(each(&results, "reason"), [&json!("setup"), &Value::Null]);
    let summary = json!({"score": 1.0, "low": 0.0, "high": 1.0, "about": "tasks", "planned": 2, "scored": 1, "void": 1,
        "agent_faults": 0, "worst": 0.5, "best": 1.0});
    assert_eq!(numbers(&results), &summary);
    let run = outcome["benchmark_run_id"].as_str().unwrap();
    assert_eq!(numbers(&desk.results_of_run(run).await), &summary);
    let metadata = &desk.benchmark_run(run).await["metadata"];
    assert_eq!(metadata["proctor.void"], "1", "{metadata}");
}

#[tokio::test]
async fn an_agent_that_is_asked_for_twice_has_two_attempts() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let agents = json!([runs("go"), runs("exit 1"), runs("go")]);
    let (seen, _) = desk
        .outcome(of_scenarios(&[&scenario], agents, Value::Null))
        .await;
    let answer = desk.results_of_job(&seen).await;
    let agents = answer["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 2, "agents that differ stay apart");
    assert_eq!(agents[0]["run_ids"].as_array().unwrap().len(), 2);
    assert_eq!(each(&answer, "attempt"), [1, 2]);
    assert_eq!(agents[0]["summary"]["planned"], 2);
    assert_eq!(agents[1]["summary"]["score"], 0.0);
    for (place, number) in [(0, "1"), (1, "2")] {
        let run = agents[0]["run_ids"][place].as_str().unwrap();
        let of_run = desk.results_of_run(run).await;
        assert_eq!(each(&of_run, "attempt"), [place + 1]);
        let path = format!("/v1/benchmark_runs/{run}/scenario_runs");
        let tries = desk.server.read(&path).await.body;
        assert_eq!(tries["runs"][0]["metadata"]["proctor.attempt"], number);
    }
}

#[tokio::test]
async fn a_run_without_a_job_counts_what_was_never_started() {
    let desk = Desk::new().await;
    let first = desk.scenario("first", "true").await;
    let second = desk.scenario("second", "true").await;
    let benchmark = desk.benchmark(&[&first, &second]).await;
    let run = desk.start_benchmark(&benchmark).await;
    let taken = desk.in_run(&run, &first).await;
    desk.act(&taken, "cancel").await;
    let taken = desk.in_run(&run, &first).await;
    desk.scored(&taken).await;
    desk.act(&taken, "complete").await;
    let live = desk.results_of_run(&run).await;
    assert_eq!(each(&live, "tries"), [2, 0]);
    assert_eq!(each(&live, "score"), [&json!(1.0), &Value::Null]);
    assert_eq!(
        (&numbers(&live)["worst"], &numbers(&live)["best"]),
        (&json!(0.5), &json!(1.0)),
        "the second is not over"
    );
    assert_eq!(live["agents"][0]["name"], Value::Null);
    desk.post(&format!("/v1/benchmark_runs/{run}/complete"), json!({}))
        .await;
    let over = desk.results_of_run(&run).await;
    assert_eq!(
        each(&over, "cause"),
        [&Value::Null, &json!("agent_timeout")]
    );
    assert_eq!(each(&over, "reason")[1], "it was never started");
    assert_eq!(numbers(&over)["score"], 0.5);
    let view = desk.benchmark_run(&run).await;
    assert_eq!(view["metadata"]["proctor.score"], "0.5");
    assert_eq!(
        view["score"], 1.0,
        "the canceled one does not count on the wire"
    );
}

#[tokio::test]
async fn nobody_else_says_what_came_of_a_run() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let metadata = json!({"proctor.score": "1", "mine": "2"});
    for (path, mut body) in [
        ("/v1/scenarios/start_run", json!({"scenario_id": scenario})),
        (
            "/v1/benchmarks/start_run",
            json!({"benchmark_id": benchmark}),
        ),
    ] {
        body["metadata"] = metadata.clone();
        let refused = desk.post(path, body.clone()).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let message = refused.text("message");
        assert!(message.contains("proctor.score"), "{message}");
        body["metadata"] = json!({"mine": "2", "proctored": "yes"});
        let started = desk.post(path, body).await;
        assert_eq!(started.status, 200, "{}", started.body);
        assert_eq!(started.body["metadata"]["mine"], "2");
    }
    let foreign = desk.server.foreign_key().await;
    let run = desk.start_benchmark(&benchmark).await;
    for path in [format!("/v1/benchmark_runs/{run}/results")] {
        let request = desk.server.get(&path).bearer_auth(&foreign);
        assert_eq!(request.send().await.unwrap().status(), 404);
    }
}
