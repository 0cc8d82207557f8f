//! The built-in agents, taking coding scenarios as any agent would: over the public API, in boxes.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    scoring::{Score, Verdict},
    shell::quoted,
};
use proctor_scenarios::{Reference, Scenario, ScenarioSet};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::json;

use crate::{
    api::Api,
    scenarios::PushedScenarios,
    take::{Agent, TakeError, Taken, TakenCheck, TakenTask},
};

/// How long the server is asked to wait for a box before it is asked again.
const PATIENCE: Duration = Duration::from_secs(25);
/// How often it is asked whether scoring is over.
const LOOK: Duration = Duration::from_millis(50);
/// Where a patch lies while it is applied.
const PATCH: &str = "/tmp/reference.patch";

#[derive(Deserialize)]
struct StartedRun {
    id: String,
}

#[derive(Deserialize)]
struct ScenarioRun {
    id: String,
    devbox_id: String,
    state: String,
    #[serde(default)]
    scoring_contract_result: Option<ContractResult>,
}

#[derive(Deserialize)]
struct ContractResult {
    score: f64,
    scoring_function_results: Vec<FunctionResult>,
}

#[derive(Deserialize)]
struct FunctionResult {
    scoring_function_name: String,
    score: f64,
    output: String,
}

#[derive(Deserialize)]
struct BenchmarkRun {
    #[serde(default)]
    score: Option<f64>,
}

#[derive(Deserialize)]
struct Devbox {
    status: String,
    #[serde(default)]
    failure_reason: Option<String>,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(default)]
    exit_status: Option<i32>,
    #[serde(default)]
    stdout: Option<String>,
    #[serde(default)]
    stderr: Option<String>,
}

/// Takes the benchmark that a set of scenarios makes up; `api` has an organization's key. `progress` is told of every
/// scenario that is done.
pub async fn take_scenarios(
    api: &Api,
    set: &ScenarioSet,
    pushed: &PushedScenarios,
    agent: Agent,
    mut progress: impl FnMut(&TakenTask),
) -> Result<Taken, TakeError> {
    let path = "/v1/benchmarks/start_run";
    let body = json!({"benchmark_id": pushed.benchmark_id, "run_name": agent.as_str()});
    let run: StartedRun = api.read(path, api.post(path, &body).await?)?;
    let mut tasks = Vec::with_capacity(set.scenarios.len());
    for (scenario, place) in set.scenarios.iter().zip(&pushed.scenarios) {
        let path = "/v1/scenarios/start_run";
        let body = json!({"scenario_id": place.id, "benchmark_run_id": run.id, "run_name": agent.as_str()});
        let started: ScenarioRun = api.read(path, api.post(path, &body).await?)?;
        let this_try = Try {
            api,
            scenario,
            run: &started,
        };
        let taken = this_try.make(agent).await?;
        progress(&taken);
        tasks.push(taken);
    }
    let path = format!("/v1/benchmarks/runs/{}/complete", run.id);
    let ended: BenchmarkRun = api.read(&path, api.post(&path, &json!({})).await?)?;
    let score = ended.score.unwrap_or_default();
    Ok(Taken {
        run_id: run.id,
        score,
        verdict: verdict(score),
        axes: BTreeMap::new(),
        tasks,
    })
}

/// A scenario being taken.
struct Try<'a> {
    api: &'a Api,
    scenario: &'a Scenario,
    run: &'a ScenarioRun,
}

impl Try<'_> {
    async fn make(&self, agent: Agent) -> Result<TakenTask, TakeError> {
        let devbox = &self.run.devbox_id;
        box_is_ready(self.api, devbox, &self.scenario.name).await?;
        if agent == Agent::Oracle {
            solve_scenario(self.api, self.scenario, devbox).await?;
        }
        let path = format!("/v1/scenarios/runs/{}", self.run.id);
        self.api.post(&format!("{path}/score"), &json!({})).await?;
        let scored = loop {
            let run: ScenarioRun = self.api.read(&path, self.api.get(&path).await?)?;
            match run.state.as_str() {
                "running" | "scoring" => tokio::time::sleep(LOOK).await,
                _ => break run,
            }
        };
        let Some(result) = scored.scoring_contract_result else {
            let problem = format!("it ended as {} without a score", scored.state);
            return Err(self.failed("score", problem));
        };
        self.api
            .post(&format!("{path}/complete"), &json!({}))
            .await?;
        let checks = result.scoring_function_results.into_iter();
        Ok(TakenTask {
            critical_misses: Vec::new(),
            name: self.scenario.name.clone(),
            task_run_id: self.run.id.clone(),
            score: result.score,
            verdict: verdict(result.score),
            checks: checks
                .map(|one| TakenCheck {
                    label: one.scoring_function_name,
                    score: one.score,
                    axis: None,
                    details: Some(one.output),
                })
                .collect(),
        })
    }

    fn failed(&self, what: &'static str, problem: String) -> TakeError {
        failed(&self.scenario.name, what, problem)
    }
}

/// Waits until the devbox of a scenario is there.
pub async fn box_is_ready(api: &Api, devbox: &str, scenario: &str) -> Result<(), TakeError> {
    let path = format!("/v1/devboxes/{devbox}/wait_for_status");
    let body = json!({
        "statuses": ["running", "failure", "shutdown"],
        "timeout_seconds": PATIENCE.as_secs(),
    });
    let devbox: Devbox = loop {
        match api.post(&path, &body).await {
            Ok(answer) => break api.read(&path, answer)?,
            Err(error) if error.status() == Some(StatusCode::REQUEST_TIMEOUT) => {}
            Err(error) => return Err(error.into()),
        }
    };
    match devbox.status.as_str() {
        "running" => Ok(()),
        status => {
            let reason = devbox.failure_reason.unwrap_or_default();
            Err(failed(scenario, "the box", format!("{status} {reason}")))
        }
    }
}

/// Does in a devbox what the scenario's reference says. `api` has a key or a token that opens the devbox.
pub async fn solve_scenario(api: &Api, scenario: &Scenario, devbox: &str) -> Result<(), TakeError> {
    let failed = |problem| failed(&scenario.name, "the reference", problem);
    let Some(reference) = &scenario.reference_output else {
        return Err(failed("there is none".to_owned()));
    };
    let command = match Reference::of(reference) {
        Reference::Commands(commands) => commands.to_owned(),
        Reference::Patch(patch) => {
            let path = format!("/v1/devboxes/{devbox}/write_file_contents");
            let body = json!({"file_path": PATCH, "contents": patch});
            api.post(&path, &body).await?;
            format!("patch -p1 < {PATCH} && rm {PATCH}")
        }
    };
    let command = match &scenario.working_directory {
        Some(directory) => format!("cd {} && {command}", quoted(directory)),
        None => command,
    };
    let path = format!("/v1/devboxes/{devbox}/execute_sync");
    let answer = api.post(&path, &json!({"command": command})).await?;
    let done: Execution = api.read(&path, answer)?;
    if done.exit_status == Some(0) {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].map(Option::unwrap_or_default);
    let problem = format!(
        "exit status {:?}: {}",
        done.exit_status,
        said.concat().trim()
    );
    Err(failed(problem))
}

fn failed(scenario: &str, what: &'static str, problem: String) -> TakeError {
    TakeError::Scenario {
        scenario: scenario.to_owned(),
        what,
        problem,
    }
}

/// The verdict that a score deserves: this dialect has scores only.
fn verdict(score: f64) -> String {
    let verdict = Score::new(score).map_or(Verdict::Fail, Verdict::of);
    verdict.to_string()
}
