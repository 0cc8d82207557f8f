//! All operations of the contract, one after the other: each is there and answers what the contract says.

use reqwest::Method;
use serde_json::{Value, json};

use super::runs::Desk;

/// What an operation is asked about.
struct Things {
    scenario: String,
    benchmark: String,
    run: String,
    job: String,
}

impl Things {
    async fn new(desk: &Desk) -> Self {
        let scenario = desk.scenario("a", "true").await;
        let benchmark = desk.benchmark(&[&scenario]).await;
        let run = desk.start_benchmark(&benchmark).await;
        let job = desk.post("/v1/benchmark_jobs", job_of(&scenario)).await;
        Self {
            job: job.text("id"),
            scenario,
            benchmark,
            run,
        }
    }

    /// The path with ids of what it is about.
    fn path(&self, template: &str) -> String {
        let of_run = ["/v1/benchmark_runs/{id}", "/v1/benchmarks/runs/{id}"];
        let id = if template.starts_with("/v1/benchmark_jobs/{id}") {
            &self.job
        } else if of_run.iter().any(|prefix| template.starts_with(prefix)) {
            &self.run
        } else {
            &self.benchmark
        };
        template.replace("{id}", id).replace("{key}", "suite")
    }

    /// What a request to the path says.
    fn body(&self, method: &str, template: &str) -> Value {
        match (method, template) {
            ("POST", "/v1/benchmarks") => {
                json!({"name": "b", "scenario_ids": [self.scenario], "metadata": {"suite": "x"}})
            }
            ("POST", "/v1/benchmarks/start_run") => json!({"benchmark_id": self.benchmark}),
            ("POST", "/v1/benchmarks/{id}") => json!({"name": "c"}),
            ("POST", "/v1/benchmarks/{id}/scenarios") => {
                json!({"scenarios_to_add": [self.scenario]})
            }
            ("POST", "/v1/benchmark_jobs") => job_of(&self.scenario),
            _ => Value::Null,
        }
    }
}

fn job_of(scenario: &str) -> Value {
    json!({"spec": {"type": "scenarios", "scenario_ids": [scenario],
        "agent_configs": [{"type": "job_agent", "name": "nop"}]}})
}

#[tokio::test]
async fn every_operation_of_the_contract_answers_as_it_says() {
    let desk = Desk::new().await;
    let operations = desk.contract.operations();
    assert_eq!(operations.len(), 28);
    for (method, template) in operations {
        let things = Things::new(&desk).await;
        let (path, body) = (things.path(&template), things.body(&method, &template));
        let verb: Method = method.parse().unwrap();
        if desk.contract.answers_json(&method, &template) {
            let answer = desk.server.ask(verb, &path, body).await;
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
            desk.contract.check(&method, &template, &answer.body);
        } else {
            let answer = desk.server.own(verb, &path).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{method} {path}");
            assert_eq!(answer.headers()["content-type"], "application/zip");
        }
    }
}
