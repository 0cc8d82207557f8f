//! Scenario runs and benchmark runs, in boxes that exist only in memory.

mod benchmark_runs;
mod both_dialects;
mod listing;
mod logs;
mod proving;
mod rescoring;
mod scoring;
mod starting;

use proctor_testkit::archive::unzipped;
use proctor_testkit::eventually_seen;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    contract::Contract,
    scenarios::{create, parameters},
    workshop::Shop,
};
use crate::support::{Answer, Setup, TestServer};

/// A server with such boxes, and what is asked of it.
pub(super) struct Desk {
    pub(super) server: TestServer,
    pub(super) shop: Shop,
    pub(super) contract: Contract,
}

impl Desk {
    pub(super) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub(super) async fn with(setup: Setup) -> Self {
        let shop = Shop::default();
        let server = setup.start_in(shop.workshop()).await;
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
        eventually_seen("the run leaves its state", async || {
            let seen = self.run(run).await;
            if seen["state"] == state {
                Err(seen)
            } else {
                Ok(seen)
            }
        })
        .await
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

/// The files of a downloaded archive.
pub(super) async fn files(desk: &Desk, path: &str) -> Vec<(String, String)> {
    let response = desk.server.own(Method::POST, path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/zip");
    unzipped(response.bytes().await.unwrap())
}
