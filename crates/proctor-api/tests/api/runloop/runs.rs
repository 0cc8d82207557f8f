use std::time::Duration;

use proctor_engine::scenarios::BoxEnd;
use proctor_testkit::archive::unzipped;
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    contract::Contract,
    scenarios::{create, parameters},
    workshop::Shop,
};
use crate::support::{Answer, Setup, TestServer};

pub(super) struct Desk {
    pub(super) server: TestServer,
    pub(super) shop: Shop,
    pub(super) contract: Contract,
}

impl Desk {
    pub(super) async fn new() -> Self {
        let shop = Shop::default();
        let server = Setup::default().start_in(shop.workshop()).await;
        Self {
            server,
            shop,
            contract: Contract::read(),
        }
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Answer {
        self.server.ask(Method::POST, path, body).await
    }

    pub(super) async fn scenario(&self, name: &str, command: &str) -> String {
        let mut body = parameters(name);
        body["scoring_contract"]["scoring_function_parameters"][0]["scorer"]["command"] =
            command.into();
        create(&self.server, body).await
    }

    pub(super) async fn benchmark(&self, scenarios: &[&String]) -> String {
        let body = json!({"name": "bench", "scenario_ids": scenarios});
        self.post("/v1/benchmarks", body).await.text("id")
    }

    pub(super) async fn start_benchmark(&self, benchmark: &str) -> String {
        let answer = self
            .post(
                "/v1/benchmarks/start_run",
                json!({"benchmark_id": benchmark}),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.contract
            .check("POST", "/v1/benchmarks/start_run", &answer.body);
        answer.text("id")
    }

    pub(super) async fn start(&self, body: Value) -> String {
        let answer = self.post("/v1/scenarios/start_run", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.contract.check_schema("ScenarioRunView", &answer.body);
        assert_eq!(answer.body["state"], "running");
        answer.text("id")
    }

    pub(super) async fn in_run(&self, run: &str, scenario: &str) -> String {
        self.start(json!({"scenario_id": scenario, "benchmark_run_id": run}))
            .await
    }

    pub(super) async fn act(&self, run: &str, action: &str) -> Answer {
        let path = format!("/v1/scenarios/runs/{run}/{action}");
        let answer = self.post(&path, Value::Null).await;
        if answer.status == 200 {
            self.contract.check_schema("ScenarioRunView", &answer.body);
        }
        answer
    }

    pub(super) async fn run(&self, run: &str) -> Value {
        let answer = self.server.read(&format!("/v1/scenarios/runs/{run}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.contract.check_schema("ScenarioRunView", &answer.body);
        answer.body
    }

    pub(super) async fn benchmark_run(&self, run: &str) -> Value {
        let answer = self.server.read(&format!("/v1/benchmark_runs/{run}")).await;
        self.contract
            .check("GET", "/v1/benchmark_runs/{id}", &answer.body);
        answer.body
    }

    /// The scenario run as soon as it is no longer in `state`.
    pub(super) async fn leaves(&self, run: &str, state: &str) -> Value {
        loop {
            let seen = self.run(run).await;
            if seen["state"] != state {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Scores and waits for the score.
    pub(super) async fn scored(&self, run: &str) -> Value {
        let answer = self.act(run, "score").await;
        assert_eq!(
            (answer.status, &answer.body["state"]),
            (200, &json!("scoring")),
            "{}",
            answer.body
        );
        self.leaves(run, "scoring").await
    }
}

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
    while desk.shop.held() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
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
#[case(BoxEnd::NotSetUp, "scorer_error")]
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
    while desk.shop.held() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    desk.shop.slow_down(false);
    assert_eq!(desk.run(&run).await["state"], "canceled");
}

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

#[tokio::test]
async fn what_is_required_and_missing_is_named_all_at_once() {
    let desk = Desk::new().await;
    let mut body = parameters("needy");
    body["required_environment_variables"] = json!(["MODEL", "REGION"]);
    body["required_secret_names"] = json!(["TOKEN", "KEY"]);
    let scenario = create(&desk.server, body).await;
    let profile = json!({"envVars": {"REGION": "eu"}, "secrets": {"TOKEN": "NOT_THERE"}});
    let refused = desk
        .post(
            "/v1/scenarios/start_run",
            json!({"scenario_id": scenario, "runProfile": profile}),
        )
        .await;
    insta::assert_snapshot!("run_missing", refused.shape());
    assert!(desk.shop.orders().is_empty());

    let body = json!({"name": "bench", "scenario_ids": [scenario], "required_environment_variables": ["TEAM"]});
    let benchmark = desk.post("/v1/benchmarks", body).await.text("id");
    let refused = desk
        .post(
            "/v1/benchmarks/start_run",
            json!({"benchmark_id": benchmark}),
        )
        .await;
    assert_eq!(refused.status, 400);
    assert!(refused.text("message").contains("TEAM"));

    desk.post("/v1/secrets", json!({"name": "MINE", "value": "hush"}))
        .await;
    let profile = json!({"envVars": {"TEAM": "a", "MODEL": "general", "REGION": "eu"}, "secrets": {"TOKEN": "MINE"},
        "launchParameters": {"resource_size_request": "LARGE", "keep_alive_time_seconds": 60},
        "mounts": [{"type": "file_mount", "target": "/a", "content": "1"}]});
    let started = desk
        .post(
            "/v1/benchmarks/start_run",
            json!({"benchmark_id": benchmark, "runProfile": profile, "run_name": "r", "metadata": {"a": "b"}}),
        )
        .await;
    insta::assert_snapshot!("benchmark_run_started", started.shape());
    let run = started.text("id");
    let profile = json!({"envVars": {"MODEL": "special"}, "secrets": {"KEY": "MINE"},
        "launchParameters": {"resource_size_request": "SMALL"},
        "mounts": [{"type": "file_mount", "target": "/b", "content": "2"}]});
    let id = desk
        .start(json!({"scenario_id": scenario, "benchmark_run_id": run, "runProfile": profile}))
        .await;
    let order = desk.shop.orders().pop().unwrap();
    assert_eq!(
        json!(order.request.environment),
        json!({"TEAM": "a", "MODEL": "special", "REGION": "eu"})
    );
    assert_eq!(
        json!(order.request.launch),
        json!({"resource_size_request": "SMALL", "keep_alive_time_seconds": 60})
    );
    assert_eq!(order.request.mounts.len(), 2);
    let run = desk.run(&id).await;
    assert!(!run.to_string().contains("hush"), "no secret leaves");
}

#[rstest]
#[case("nothing", json!({}))]
#[case("unknown", json!({"scenario_id": "scn_01J00000000000000000000000"}))]
#[case("no_id", json!({"scenario_id": "x"}))]
#[case("mount", json!({"scenario_id": "scn_01J00000000000000000000000", "runProfile": {"mounts": [{}, {"type": "magic"}],
    "envVars": {"A=B": "c"}}}))]
#[tokio::test]
async fn a_wrong_start_is_refused(#[case] name: &str, #[case] body: Value) {
    let desk = Desk::new().await;
    let answer = desk.post("/v1/scenarios/start_run", body).await;
    insta::assert_snapshot!(format!("start_{name}"), answer.shape());
}

#[tokio::test]
async fn what_is_archived_or_cannot_be_boxed_is_not_started() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("fix", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    for path in [
        format!("/v1/scenarios/{scenario}/archive"),
        format!("/v1/benchmarks/{benchmark}/archive"),
    ] {
        desk.post(&path, Value::Null).await;
    }
    let body = json!({"scenario_id": scenario, "benchmark_id": benchmark});
    for path in ["/v1/scenarios/start_run", "/v1/benchmarks/start_run"] {
        let answer = desk.post(path, body.clone()).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.text("message").contains("archived"));
    }
    let mut body = parameters("boxless");
    body["environment_parameters"] = json!({"blueprint_id": "missing"});
    let boxless = create(&desk.server, body).await;
    let refused = desk
        .post("/v1/scenarios/start_run", json!({"scenario_id": boxless}))
        .await;
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .text("message")
            .contains("blueprint_id: not the id of a blueprint")
    );
    let unequipped = TestServer::start().await;
    let scenario = create(&unequipped, parameters("fix")).await;
    let refused = unequipped
        .ask(
            Method::POST,
            "/v1/scenarios/start_run",
            json!({"scenario_id": scenario}),
        )
        .await;
    insta::assert_snapshot!("run_without_boxes", refused.shape());
}

#[tokio::test]
async fn lists_of_runs_are_filtered_and_belong_to_their_organization() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let other = desk.scenario("b", "true").await;
    let benchmark = desk.benchmark(&[&scenario, &other]).await;
    let run = desk.start_benchmark(&benchmark).await;
    let alone = desk
        .start(json!({"scenario_id": other, "run_name": "By Itself"}))
        .await;
    let inside = desk.in_run(&run, &scenario).await;
    desk.act(&inside, "cancel").await;
    let ids = |page: &Value| -> Vec<String> {
        let runs = page["runs"].as_array().unwrap();
        runs.iter()
            .map(|run| run["id"].as_str().unwrap().to_owned())
            .collect()
    };
    for (query, expected) in [
        (String::new(), vec![&inside, &alone]),
        (format!("scenario_id={other}"), vec![&alone]),
        (format!("benchmark_run_id={run}"), vec![&inside]),
        ("state=canceled".to_owned(), vec![&inside]),
        ("state=running,canceled".to_owned(), vec![&inside, &alone]),
        ("name=itself".to_owned(), vec![&alone]),
        (format!("search={inside}"), vec![&inside]),
    ] {
        let page = desk
            .server
            .read(&format!("/v1/scenarios/runs?{query}"))
            .await;
        desk.contract
            .check_schema("ScenarioRunListView", &page.body);
        assert_eq!(
            ids(&page.body),
            expected.into_iter().cloned().collect::<Vec<_>>(),
            "{query}"
        );
    }
    let bad = desk.server.read("/v1/scenarios/runs?state=asleep").await;
    assert_eq!(bad.status, 400);
    let of = desk
        .server
        .read(&format!("/v1/scenarios/{other}/runs"))
        .await;
    assert_eq!(ids(&of.body), std::slice::from_ref(&alone));
    for path in ["/v1/benchmark_runs", "/v1/benchmarks/runs"] {
        let page = desk
            .server
            .read(&format!("{path}?benchmark_id={benchmark}&state=running"))
            .await;
        desk.contract.check("GET", path, &page.body);
        assert_eq!(ids(&page.body), std::slice::from_ref(&run));
        let inner = desk
            .server
            .read(&format!("{path}/{run}/scenario_runs"))
            .await;
        desk.contract
            .check("GET", &format!("{path}/{{id}}/scenario_runs"), &inner.body);
        assert_eq!(ids(&inner.body), std::slice::from_ref(&inside));
        let none = desk
            .server
            .read(&format!("{path}/{run}/scenario_runs?state=running"))
            .await;
        assert!(ids(&none.body).is_empty());
    }
    let of = desk
        .server
        .read(&format!("/v1/benchmarks/{benchmark}/runs"))
        .await;
    desk.contract
        .check("GET", "/v1/benchmarks/{id}/runs", &of.body);
    assert_eq!(ids(&of.body), std::slice::from_ref(&run));

    let stranger = desk.server.foreign_key().await;
    for path in [
        format!("/v1/scenarios/runs/{inside}"),
        format!("/v1/benchmark_runs/{run}"),
        format!("/v1/benchmark_runs/{run}/scenario_runs"),
    ] {
        let request = desk.server.get(&path).bearer_auth(&stranger);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
    for action in ["score", "complete", "cancel", "download_logs"] {
        let path = format!("/v1/scenarios/runs/{inside}/{action}");
        let request = desk.server.post(&path).bearer_auth(&stranger);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
}

#[tokio::test]
async fn older_clients_find_benchmark_runs_below_benchmarks() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    for action in ["complete", "cancel"] {
        let run = desk.start_benchmark(&benchmark).await;
        let base = format!("/v1/benchmarks/runs/{run}");
        let read = desk.server.read(&base).await;
        desk.contract
            .check("GET", "/v1/benchmarks/runs/{id}", &read.body);
        let ended = desk.post(&format!("{base}/{action}"), Value::Null).await;
        desk.contract.check(
            "POST",
            &format!("/v1/benchmarks/runs/{{id}}/{action}"),
            &ended.body,
        );
        assert_eq!(ended.body, desk.benchmark_run(&run).await);
        let zip = files(&desk, &format!("{base}/download_logs")).await;
        assert!(zip.is_empty());
    }
}

/// The files of a downloaded archive.
pub(super) async fn files(desk: &Desk, path: &str) -> Vec<(String, String)> {
    let response = desk.server.own(Method::POST, path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/zip");
    unzipped(response.bytes().await.unwrap())
}

#[tokio::test]
async fn logs_are_an_archive_of_flat_files() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let benchmark = desk.benchmark(&[&scenario]).await;
    let run = desk.start_benchmark(&benchmark).await;
    let first = desk.in_run(&run, &scenario).await;
    let second = desk.in_run(&run, &scenario).await;
    desk.scored(&first).await;
    let path = format!("/v1/scenarios/runs/{first}/download_logs");
    let zip = files(&desk, &path).await;
    let names: Vec<&str> = zip.iter().map(|(name, _)| name.as_str()).collect();
    let endings = [
        "setup.log",
        "exec.log",
        "agent.log",
        "scoring.log",
        "results.json",
    ];
    let of = |run: &str| -> Vec<String> {
        endings
            .iter()
            .map(|ending| format!("{run}_{ending}"))
            .collect()
    };
    assert_eq!(names, of(&first));
    assert!(zip[1].1.ends_with("Executions 999\n"));
    assert_eq!(zip[3].1, "=== cmd-zero: complete, score 1\nran true\n");
    let results: Value = serde_json::from_str(&zip[4].1).unwrap();
    assert_eq!(
        (&results["score"], &results["scoring_mode"]),
        (&json!(1.0), &json!("live"))
    );

    let all = files(&desk, &format!("/v1/benchmark_runs/{run}/download_logs")).await;
    let mut names: Vec<String> = all.into_iter().map(|(name, _)| name).collect();
    names.sort();
    let mut expected = [of(&first), of(&second)].concat();
    expected.sort();
    assert_eq!(names, expected);

    let many = (0..50).map(|_| files(&desk, &path));
    for zip in futures::future::join_all(many).await {
        assert_eq!(zip.len(), 5);
    }
}

#[tokio::test]
async fn a_scenario_run_is_scored_again_and_its_record_stays_as_it_was() {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "false").await;
    let run = desk.start(json!({"scenario_id": scenario})).await;
    let path = format!("/v1/scenarios/runs/{run}/rescore");
    let early = desk.post(&path, Value::Null).await;
    insta::assert_snapshot!("rescore_early", early.shape());
    desk.shop.slow_down(true);
    desk.act(&run, "score").await;
    let meanwhile = desk.post(&path, Value::Null).await;
    insta::assert_snapshot!("rescore_meanwhile", meanwhile.shape());
    desk.shop.slow_down(false);
    desk.leaves(&run, "scoring").await;
    let completed = desk.act(&run, "complete").await;

    let again = desk.post(&path, json!({"criteria": "own"})).await;
    insta::assert_snapshot!("rescored", again.shape());
    let result = &again.body["scoring_contract_result"];
    assert_eq!(*result, again.body["original_scoring_contract_result"]);
    assert_eq!(*result, completed.body["scoring_contract_result"]);

    // A corrected scorer: the draft's, which is not that of the run.
    let mut corrected = parameters("a");
    corrected["scoring_contract"]["scoring_function_parameters"][0]["scorer"]["command"] =
        "true".into();
    desk.post(&format!("/v1/scenarios/{scenario}"), corrected)
        .await;
    let draft = desk.post(&path, json!({"criteria": "draft"})).await;
    assert_eq!(draft.status, 200, "{}", draft.body);
    assert_eq!(
        (
            &draft.body["scoring_contract_result"]["score"],
            &draft.body["original_scoring_contract_result"]["score"]
        ),
        (&json!(1.0), &json!(0.0))
    );
    assert_eq!(desk.run(&run).await, completed.body, "nothing is written");

    let wrong = desk.post(&path, json!({"criteria": "mine"})).await;
    assert_eq!(wrong.status, 400, "{}", wrong.body);
    let unknown = run
        .replace("scr_", "scr_0")
        .chars()
        .take(30)
        .collect::<String>();
    let unknown = format!("/v1/scenarios/runs/{unknown}/rescore");
    assert_eq!(desk.post(&unknown, Value::Null).await.status, 404);
}

const PATCH: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

#[rstest]
#[case("forward", "is changed", "FORWARD", PATCH, true)]
#[case("unsolved", "false", "FORWARD", PATCH, false)]
#[case("conflict", "is changed", "FORWARD", "conflict", false)]
#[case("commands", "is changed", "UNSPECIFIED", "touch x", true)]
#[case("reverse", "is unchanged", "REVERSE", PATCH, true)]
#[case("unbroken", "true", "REVERSE", PATCH, false)]
#[case("not_solved", "is changed", "REVERSE", PATCH, false)]
#[tokio::test]
async fn a_scenario_is_proved_by_its_reference(
    #[case] name: &str,
    #[case] command: &str,
    #[case] kind: &str,
    #[case] reference: &str,
    #[case] holds: bool,
) {
    let desk = Desk::new().await;
    let scenario = desk.scenario(name, command).await;
    let path = format!("/v1/scenarios/{scenario}");
    let body = json!({"reference_output": reference, "validation_type": kind});
    desk.post(&path, body).await;
    let answer = desk.post(&format!("{path}/validate"), Value::Null).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["valid"], holds, "{}", answer.body);
    insta::assert_snapshot!(format!("validate_{name}"), answer.text("verdict"));
    let trials = [&answer.body["untouched"], &answer.body["reference"]];
    for trial in trials {
        desk.contract.check_schema("ScenarioRunView", &trial["run"]);
        assert_eq!(trial["run"]["state"], "completed");
    }
    assert_eq!(desk.shop.live(), 0, "nothing is left behind");
}

#[rstest]
#[case(json!({}))]
#[case(json!({"reference_output": "touch x", "validation_type": "REVERSE"}))]
#[tokio::test]
async fn what_cannot_be_proved_is_400(#[case] body: Value) {
    let desk = Desk::new().await;
    let scenario = desk.scenario("a", "true").await;
    let path = format!("/v1/scenarios/{scenario}");
    desk.post(&path, body).await;
    let answer = desk.post(&format!("{path}/validate"), Value::Null).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(desk.shop.orders().is_empty());
}

#[tokio::test]
async fn one_benchmark_has_tasks_in_playgrounds_and_in_boxes() {
    let desk = Desk::new().await;
    let make = async |path: &str, body: Value| {
        let answer = desk.post(path, body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.text("id")
    };
    let environment = make("/environments", json!({"name": "Ward"})).await;
    let fhir = make("/simulators", json!({"type": "Fhir", "name": "EHR"})).await;
    let link = format!("/environments/{environment}/simulators/{fhir}");
    desk.post(&link, json!({})).await;
    let body =
        json!({"name": "Mixed", "environment_id": environment, "timeout": 600, "concurrency": 2});
    let benchmark = make("/benchmarks", body).await;
    let task = make(
        "/tasks",
        json!({"benchmark_id": benchmark, "name": "clinical"}),
    )
    .await;
    let assertion = json!({"assert": "fhir-resource-state", "resource_type": "Patient"});
    let criterion = |task: &str, assertion: &Value| json!({"task_id": task, "label": "a patient is there", "assertion": assertion});
    make("/criteria", criterion(&task, &assertion)).await;
    let scenario = desk.scenario("coding", "true").await;
    // The same things, by their names in the other dialect.
    let as_task = scenario.replace("scn_", "task_");
    make("/criteria", criterion(&as_task, &assertion)).await;
    let as_suite = benchmark.replace("bench_", "bmd_");
    let path = format!("/v1/benchmarks/{as_suite}/scenarios");
    let joined = desk
        .post(&path, json!({"scenarios_to_add": [scenario]}))
        .await;
    assert_eq!(joined.body["scenarioIds"], json!([scenario]));

    let begun = desk
        .post(
            "/benchmark-runs",
            json!({"benchmark_id": benchmark, "draft": true}),
        )
        .await;
    assert_eq!(begun.status, 201, "{}", begun.body);
    let token = begun.text("bearer_token");
    let act = async |task_run: &Value, action: &str| {
        let path = format!(
            "/v1/task-runs/{}/{action}",
            task_run["id"].as_str().unwrap()
        );
        let request = desk.server.post(&path).bearer_auth(&token);
        let answer = Answer::of(request.send().await.unwrap()).await;
        assert!(answer.status < 300, "{}", answer.body);
        answer
    };
    let task_runs = begun.body["task_runs"].as_array().unwrap();
    assert_eq!(task_runs.len(), 2);
    for task_run in task_runs {
        act(task_run, "start").await;
    }
    assert_eq!(desk.shop.live(), 1, "one of the two has a box");
    let run = begun.text("benchmark_run_id").replace("br_", "bmr_");
    let seen = desk
        .server
        .read(&format!("/v1/benchmark_runs/{run}/scenario_runs"))
        .await
        .body;
    assert_eq!(seen["runs"][0]["scenario_id"], json!(scenario));
    assert_eq!(seen["runs"].as_array().unwrap().len(), 1);
    let scores: Vec<Value> =
        futures::future::join_all(task_runs.iter().map(|one| act(one, "complete")))
            .await
            .into_iter()
            .map(|answer| answer.body["score"].clone())
            .collect();
    assert_eq!(
        scores,
        [json!(0.0), json!(0.5)],
        "no patient was made, and in a box there is none to be found"
    );
    let over = desk.benchmark_run(&run).await;
    assert_eq!(
        (&over["state"], &over["score"]),
        (&json!("completed"), &json!(0.25))
    );
    assert_eq!(desk.shop.live(), 0);
    for (task_run, mode) in task_runs.iter().zip([Value::Null, json!("clone")]) {
        let path = format!("/task-runs/{}/rescore", task_run["id"].as_str().unwrap());
        let again = desk.post(&path, json!({})).await;
        assert_eq!(again.status, 200, "{}", again.body);
        assert_eq!(again.body["score"], again.body["original_score"]);
        assert_eq!(again.body["scoring_mode"], mode);
    }
}

#[tokio::test]
async fn what_a_task_in_a_box_requires_is_required_in_both_dialects() {
    let desk = Desk::new().await;
    let mut body = parameters("needy");
    body["required_environment_variables"] = json!(["MODEL"]);
    let scenario = create(&desk.server, body).await;
    let benchmark = desk.benchmark(&[&scenario]).await.replace("bmd_", "bench_");
    let begin = json!({"benchmark_id": benchmark, "draft": true});
    let begun = desk.post("/benchmark-runs", begin).await;
    assert_eq!(begun.status, 201, "{}", begun.body);
    let task_run = begun.body["task_runs"][0]["id"].as_str().unwrap();
    let request = desk
        .server
        .post(&format!("/v1/task-runs/{task_run}/start"))
        .bearer_auth(begun.text("bearer_token"));
    let refused = Answer::of(request.send().await.unwrap()).await;
    insta::assert_snapshot!("start_missing_verial", refused.shape());
    assert!(desk.shop.orders().is_empty());
}
