//! Agents that prove a benchmark: the oracle replays its solutions, the careless agent does one harm beside each, the null
//! agent does nothing.
//!
//! All take it as any agent would: over the public API, with a Solver's key.

use std::{collections::BTreeMap, fmt};

use proctor_core::{
    environment::Entity,
    id::kinds::{EntityId, TaskRunId},
    time::Timestamp,
};
use proctor_engine::Extensions;
use proctor_verify::{Context, fill};
use reqwest::header::CONTENT_TYPE;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    admission::{Move, Program, careless_program},
    api::{Api, ApiError},
    file::{BenchmarkFile, TaskPart},
    solution::{Body, Call, NOW, Solution, TODAY},
};

/// An agent that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Replays the solution of every task.
    Oracle,
    /// Replays the solution of every task, and does one harm in each.
    Careless,
    /// Does nothing.
    Null,
}

impl Agent {
    /// What it is called.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Careless => "careless",
            Self::Null => "null",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an agent fared.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// The run's id.
    pub run_id: String,
    /// The run's score.
    pub score: f64,
    /// The run's verdict.
    pub verdict: String,
    /// The score by axis.
    pub axes: BTreeMap<String, f64>,
    /// The tasks, in order.
    pub tasks: Vec<TakenTask>,
}

/// How an agent fared in a task.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TakenTask {
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// The task run's id.
    pub task_run_id: String,
    /// Its score.
    pub score: f64,
    /// Its verdict.
    pub verdict: String,
    /// What was checked.
    pub checks: Vec<TakenCheck>,
    /// The critical criteria that were missed, which make the verdict `fail`.
    #[serde(default)]
    pub critical_misses: Vec<TakenMiss>,
}

/// A critical criterion that an agent missed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TakenMiss {
    /// Its short name inside the task.
    pub key: Option<String>,
    /// What people call it.
    pub label: String,
    /// What was found, in words.
    pub why: String,
}

impl TakenMiss {
    /// Its key, or else its label.
    pub fn name(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.label)
    }
}

/// How an agent fared in a criterion.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TakenCheck {
    /// What people call it.
    pub label: String,
    /// Its score.
    pub score: f64,
    /// The axis it counts on.
    #[serde(default)]
    pub axis: Option<String>,
    /// The finding in words.
    #[serde(default)]
    pub details: Option<String>,
}

/// Why a benchmark could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// The server said no.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A solution does not work.
    #[error("the solution of '{task}', call {number} ({call}): {problem}")]
    Solution {
        /// The task.
        task: String,
        /// Which call, counted from 1.
        number: usize,
        /// What is called.
        call: String,
        /// What went wrong.
        problem: String,
    },
    /// A scenario did not go as its file says.
    #[error("the scenario '{scenario}', {what}: {problem}")]
    Scenario {
        /// The scenario.
        scenario: String,
        /// Where it went wrong.
        what: &'static str,
        /// What went wrong.
        problem: String,
    },
    /// The run is of another benchmark than the file.
    #[error("the benchmark has a task '{0}' that the file has not")]
    UnknownTask(String),
}

#[derive(Deserialize)]
struct NewRun {
    benchmark_run_id: String,
    bearer_token: String,
    task_runs: Vec<NewTaskRun>,
}

#[derive(Deserialize)]
struct NewTaskRun {
    id: String,
    name: String,
    start_url: String,
    complete_url: String,
}

#[derive(Deserialize)]
struct Started {
    started_at: String,
}

#[derive(Deserialize)]
struct Ended {
    score: Option<f64>,
    verdict: Option<String>,
    #[serde(default)]
    axes: Option<BTreeMap<String, Axis>>,
}

#[derive(Deserialize)]
struct Axis {
    score: f64,
}

/// Takes version `version` of a file's benchmark; `solver` has a Solver's key. `extensions` are what
/// the server knows; `progress` is told of every task that is done.
pub async fn take(
    solver: &Api,
    file: &BenchmarkFile,
    version: u32,
    agent: Agent,
    extensions: &Extensions,
    mut progress: impl FnMut(&TakenTask),
) -> Result<Taken, TakeError> {
    let benchmark = format!("{}@{version}", file.slug.as_str());
    let path = "/v1/benchmark-runs";
    let body = json!({"benchmark": benchmark, "agent": agent.as_str()});
    let run: NewRun = solver.read(path, solver.post(path, &body).await?)?;
    let taker = solver.with_key(SecretString::from(run.bearer_token));
    let prefix = format!("{path}/{}", run.benchmark_run_id);
    let mut tasks = Vec::new();
    for task_run in &run.task_runs {
        let answer = taker.post(&task_run.start_url, &json!({})).await?;
        let started: Started = taker.read(&task_run.start_url, answer)?;
        if agent != Agent::Null {
            let task = StartedTask {
                name: &task_run.name,
                task_run_id: &task_run.id,
                started_at: &started.started_at,
                prefix: &prefix,
            };
            replay(&taker, file, agent, extensions, task).await?;
        }
        let answer = taker.post(&task_run.complete_url, &json!({})).await?;
        let mut taken: TakenTask = taker.read(&task_run.complete_url, answer)?;
        taken.name = task_run.name.clone();
        progress(&taken);
        tasks.push(taken);
    }
    let ended: Ended = solver.read(&prefix, solver.get(&prefix).await?)?;
    let axes = ended.axes.unwrap_or_default().into_iter();
    Ok(Taken {
        run_id: run.benchmark_run_id,
        score: ended.score.unwrap_or_default(),
        verdict: ended.verdict.unwrap_or_default(),
        axes: axes.map(|(name, axis)| (name, axis.score)).collect(),
        tasks,
    })
}

/// A task in a playground that was started.
#[derive(Clone, Copy)]
pub struct StartedTask<'a> {
    /// What people call it.
    pub name: &'a str,
    /// The task run's id.
    pub task_run_id: &'a str,
    /// When it was started.
    pub started_at: &'a str,
    /// The path below which its world answers.
    pub prefix: &'a str,
}

/// Does in a started task what a built-in agent does: the oracle's solution, or the careless agent's harm too. `taker` has a token
/// that opens the world of the task; `extensions` are what the server knows.
pub async fn replay(
    taker: &Api,
    file: &BenchmarkFile,
    agent: Agent,
    extensions: &Extensions,
    task: StartedTask<'_>,
) -> Result<(), TakeError> {
    let replay = Replay {
        taker,
        file,
        extensions,
        agent,
        task,
    };
    replay.run().await
}

/// A solution that is carried out.
struct Replay<'a> {
    taker: &'a Api,
    file: &'a BenchmarkFile,
    extensions: &'a Extensions,
    agent: Agent,
    task: StartedTask<'a>,
}

impl Replay<'_> {
    async fn run(&self) -> Result<(), TakeError> {
        let name = self.task.name;
        let part = self.file.tasks.iter().find(|task| task.name == name);
        let part = part.ok_or_else(|| TakeError::UnknownTask(name.to_owned()))?;
        let program = self.program(part)?;
        let mut values = self.file.entities_of(part);
        let day: String = self.task.started_at.chars().take(10).collect();
        values.push(value(NOW, json!(self.task.started_at)));
        values.push(value(TODAY, json!(day)));
        for (place, Move { call, is_harm }) in program.iter().enumerate() {
            let said = format!("{} {}", call.method, call.path);
            let failed = |problem| self.failed(place + 1, &said, problem);
            let answer = match self.call(call, &values, &failed).await {
                // Harm that is refused is none; it is not what the agent came for.
                Err(TakeError::Solution { .. }) if *is_harm => continue,
                answer => answer?,
            };
            for (name, pick) in &call.pick {
                let picked = pick.from(&answer).map_err(&failed)?;
                values.retain(|one| one.key != *name);
                values.push(value(name, picked));
            }
        }
        Ok(())
    }

    /// What the agent does in a task.
    fn program(&self, part: &TaskPart) -> Result<Program, TakeError> {
        let failed = |problem| self.failed(0, "", problem);
        if self.agent == Agent::Careless {
            let started = self.task.started_at;
            let now = started.parse().unwrap_or(Timestamp::from_millis(0));
            let program = careless_program(self.file, part, self.extensions, now);
            return program.map_err(|error| failed(error.to_string()));
        }
        let solution = Solution::read(&part.solution, &self.extensions.simulators);
        let solution = solution.map_err(|problems| {
            let said: Vec<String> = problems.into_iter().map(|one| one.message).collect();
            failed(said.join("; "))
        })?;
        Ok(solution.calls.iter().map(Move::of_solution).collect())
    }

    /// Makes one call, and gives the text of its answer.
    async fn call(
        &self,
        call: &Call,
        values: &[Entity],
        failed: &impl Fn(String) -> TakeError,
    ) -> Result<String, TakeError> {
        let text = |text: &str| filled_text(text, values).map_err(failed);
        let path = format!("{}/{}", self.task.prefix, text(&call.path)?);
        let mut request = self.taker.request(call.method.clone(), &path);
        request = request.header("x-task-run", self.task.task_run_id);
        let has_type = call
            .headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("content-type"));
        for (name, header) in &call.headers {
            request = request.header(name, text(header)?);
        }
        request = match &call.body {
            Body::Nothing => request,
            Body::Json(body) => {
                let body = filled(body, values).map_err(failed)?.to_string();
                let request = request.body(body);
                match has_type {
                    true => request,
                    false => request.header(CONTENT_TYPE, "application/json"),
                }
            }
            Body::Text(body) => {
                let request = request.body(text(body)?);
                match has_type {
                    true => request,
                    false => request.header(CONTENT_TYPE, "text/plain"),
                }
            }
        };
        let answer = self.taker.send(request).await?;
        let status = answer.status.as_u16();
        let is_expected = match call.expect.as_slice() {
            [] => answer.status.is_success(),
            expected => expected.contains(&status),
        };
        if !is_expected {
            let said: String = answer.text.chars().take(600).collect();
            return Err(failed(format!("answered {status}: {said}")));
        }
        Ok(answer.text)
    }

    fn failed(&self, number: usize, call: &str, problem: String) -> TakeError {
        TakeError::Solution {
            task: self.task.name.to_owned(),
            number,
            call: call.to_owned(),
            problem,
        }
    }
}

/// Something that templates know by name.
pub(crate) fn value(name: &str, data: Value) -> Entity {
    Entity {
        id: EntityId::from_uuid(Uuid::nil()),
        kind: String::new(),
        key: name.to_owned(),
        data,
    }
}

/// Templates in solutions know nothing of the task run but what is among the values.
const NO_CONTEXT: Context = Context {
    task_run: TaskRunId::from_uuid(Uuid::nil()),
    started_at: Timestamp::from_millis(0),
    now: Timestamp::from_millis(0),
};

pub(crate) fn filled_text(text: &str, values: &[Entity]) -> Result<String, String> {
    Ok(match fill(text, values, &NO_CONTEXT)? {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// A value with every text in it filled.
pub(crate) fn filled(value: &Value, values: &[Entity]) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => fill(text, values, &NO_CONTEXT)?,
        Value::Array(items) => {
            let items = items.iter().map(|item| filled(item, values));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, member)| Ok((name.clone(), filled(member, values)?)));
            Value::Object(members.collect::<Result<_, String>>()?)
        }
        scalar => scalar.clone(),
    })
}

/// Gives an agent a key of its own, as a Solver that is made where it is missing.
pub async fn enroll(organization: &Api, agent: Agent) -> Result<Api, ApiError> {
    let solvers = organization.all("/solvers").await?;
    let known = solvers.iter().find(|one| one["alias"] == agent.as_str());
    let id = match known {
        Some(known) => organization.text("/solvers", known, "id")?,
        None => {
            let made = organization.post("/solvers", &solver(agent)).await?;
            organization.text("/solvers", &made, "id")?
        }
    };
    let path = format!("/solvers/{id}/api-keys");
    let key = organization.post(&path, &json!({})).await?;
    let key = organization.text(&path, &key, "key")?;
    Ok(organization.with_key(SecretString::from(key)))
}

fn solver(agent: Agent) -> Value {
    let description = match agent {
        Agent::Oracle => {
            "Replays the solution of every task; it shows that the criteria can be met."
        }
        Agent::Careless => {
            "Does the work of every task and one harm beside it; it shows that harm is seen."
        }
        Agent::Null => "Does nothing; it shows that no criterion is met by itself.",
    };
    json!({
        "alias": agent.as_str(),
        "real_name": format!("The built-in {agent} agent"),
        "agent_description": description,
        "contact_email": "agents@proctor.invalid",
    })
}
