//! Benchmark jobs, in boxes that exist only in memory.

mod bad_input;
mod endings;
mod failures;
mod listing;
mod registered;
mod rounds;
mod trials;

use proctor_testkit::eventually_seen;
use serde_json::{Value, json};

use super::{
    runs::Desk,
    scenarios::{create, parameters},
    workshop::boxless,
};

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
    /// A scenario whose box cannot be made.
    pub(super) async fn boxless(&self) -> String {
        let mut body = parameters("boxless");
        body["environment_parameters"] = boxless();
        create(&self.server, body).await
    }

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
        eventually_seen("the job changes", async || {
            let seen = self.seen(job).await;
            if holds(&seen) { Ok(seen) } else { Err(seen) }
        })
        .await
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

fn spec(spec: Value) -> Value {
    let mut body = json!({});
    body["spec"] = spec;
    body
}
