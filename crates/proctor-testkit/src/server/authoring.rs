//! What tests author through the API again and again: a scenario that is solved by one file, and a ward whose patients are to be registered.

use serde_json::{Value, json};

use super::Caller;
use crate::eventually_seen;

/// The body of a scenario that is solved by `42` in `answer.txt`.
#[must_use]
pub fn forty_two(name: &str) -> Value {
    let scorer = json!({"type": "command_scorer", "command": "test \"$(cat answer.txt)\" = 42"});
    json!({
        "name": name,
        "input_context": {"problem_statement": "Write 42 into answer.txt."},
        "scoring_contract": {"scoring_function_parameters": [{"name": "answer", "weight": 1, "scorer": scorer}]},
        "reference_output": "echo 42 > answer.txt",
    })
}

/// The assertion that there is a patient with this id.
#[must_use]
pub fn is_registered(patient: &str) -> Value {
    json!({"assert": "fhir-resource-state", "resource_type": "Patient", "search": {"_id": patient}})
}

impl Caller {
    /// Makes something, and returns its id.
    ///
    /// # Panics
    /// When the server refuses, or names none.
    pub async fn make(&self, path: &str, body: Value) -> String {
        let made = self.post(path, body).await;
        let id = made["id"].as_str();
        id.unwrap_or_else(|| panic!("{path}: no id in {made}"))
            .to_owned()
    }

    /// Makes an environment with simulators of these types.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn make_environment(&self, simulators: &[&str]) -> String {
        let environment = self.make("/environments", json!({"name": "Ward"})).await;
        for kind in simulators {
            let body = json!({"type": kind, "name": kind});
            let simulator = self.make("/simulators", body).await;
            let path = format!("/environments/{environment}/simulators/{simulator}");
            self.post(&path, json!({})).await;
        }
        environment
    }

    /// Publishes `ward@1`: in each of its tasks the patients `p0`, `p1`, … are to be registered. Returns a Solver's key.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn publish_ward(&self, tasks: &[&str], patients: usize) -> String {
        let environment = self.make_environment(&["Fhir", "Files"]).await;
        let body = json!({"name": "Ward", "environment_id": environment, "timeout": 600});
        let benchmark = self.make("/benchmarks", body).await;
        for name in tasks {
            let scenario = json!([{"type": "drop_file_inbox", "path": "note.txt", "content": "Register them."}]);
            let body = json!({"benchmark_id": benchmark, "name": name, "scenario": scenario});
            let task = self.make("/tasks", body).await;
            for number in 0..patients {
                let assertion = is_registered(&format!("p{number}"));
                let body = json!({"task_id": task, "label": format!("Patient {number}"), "assertion": assertion});
                self.make("/criteria", body).await;
            }
        }
        let path = format!("/benchmarks/{benchmark}/publish");
        self.post(&path, json!({"slug": "ward"})).await;
        let body = json!({"alias": "ada", "real_name": "Ada", "agent_description": "Registers.",
            "contact_email": "ada@example.org"});
        let solver = self.make("/solvers", body).await;
        let key = self
            .post(&format!("/solvers/{solver}/api-keys"), json!({}))
            .await;
        key["key"].as_str().expect("a key is shown once").to_owned()
    }

    /// What is at a path as soon as `is_there` holds.
    ///
    /// # Panics
    /// When it does not come to hold.
    pub async fn poll(&self, path: &str, is_there: impl Fn(&Value) -> bool) -> Value {
        eventually_seen(path, async || {
            let seen = self.get(path).await;
            if is_there(&seen) { Ok(seen) } else { Err(seen) }
        })
        .await
    }

    /// A benchmark job as soon as it is over.
    ///
    /// # Panics
    /// When it goes on for ever.
    pub async fn finished_job(&self, job: &str) -> Value {
        self.poll(&format!("/v1/benchmark_jobs/{job}"), job_is_over)
            .await
    }
}

/// Whether a benchmark job will not change any more.
#[must_use]
pub fn job_is_over(job: &Value) -> bool {
    !matches!(
        job["state"].as_str(),
        Some("initializing" | "queued" | "running")
    )
}
