//! Attempts, so many at once: each task of each run is taken until it counts.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use proctor_benchmarks::Api;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    agent::Agent, attempt::Attempts, benchmark::Exam, budget::Budget, plan::HeldPlan,
    progress::Progress,
};
use crate::commands::compare::{read, refused};

/// A task of a run that is to be taken.
#[derive(Clone, Debug)]
pub(super) struct Todo {
    /// The run.
    pub(super) run: String,
    /// Which attempt it is.
    pub(super) attempt: u32,
    /// The task run to begin with.
    pub(super) task_run: String,
    /// What the task is called.
    pub(super) task: String,
    /// How far the task run is.
    pub(super) phase: Phase,
}

/// How far a task run is that is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nobody started it.
    Created,
    /// A command that was killed left it.
    Left,
    /// It is over, and void.
    Void,
}

/// The part of a run that says what is to be done.
#[derive(Deserialize)]
struct RunState {
    status: String,
    task_runs: Vec<TaskRunState>,
}

#[derive(Deserialize)]
struct TaskRunState {
    id: String,
    task_id: String,
    name: String,
    phase: String,
    cause: Option<String>,
}

/// Carries out a plan.
pub(super) struct Driver {
    pub(super) api: Api,
    pub(super) exam: Exam,
    pub(super) agent: Agent,
    /// Where the attempts of this machine leave what they left.
    pub(super) place: PathBuf,
    pub(super) cancel: CancellationToken,
    pub(super) progress: Arc<Progress>,
    pub(super) budget: Arc<Budget>,
}

impl Driver {
    /// Takes everything that is left of a plan; whether it came to its end.
    pub(super) async fn drive(self, held: &mut HeldPlan) -> anyhow::Result<bool> {
        let cancel = self.cancel.clone();
        let outcome = self.take_all(held).await;
        if cancel.is_cancelled() {
            return Ok(false);
        }
        outcome.map(|()| true)
    }

    async fn take_all(self, held: &mut HeldPlan) -> anyhow::Result<()> {
        let plan = held.plan.clone();
        let at_once = usize::try_from(plan.at_once).unwrap_or(usize::MAX);
        let (api, cancel, progress, budget) = (
            self.api.clone(),
            self.cancel.clone(),
            Arc::clone(&self.progress),
            Arc::clone(&self.budget),
        );
        let attempts = Arc::new(Attempts {
            api: self.api,
            exam: self.exam,
            agent: self.agent,
            place: self.place,
            cancel: self.cancel,
            progress: self.progress,
            budget: self.budget,
            plan: plan.clone(),
        });
        let mut todo: VecDeque<Todo> = VecDeque::new();
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        let mut next = 0;
        let mut working: JoinSet<anyhow::Result<String>> = JoinSet::new();
        loop {
            if budget.is_over() && (!todo.is_empty() || next < plan.attempts) {
                let left = todo.len();
                progress.warn(format!(
                    "{}; {left} tasks of the runs that were begun, and {} further runs, were not started",
                    budget.told(),
                    plan.attempts - next
                ));
                for one in todo.drain(..) {
                    note_done(&mut open, &one.run)?;
                }
                next = plan.attempts;
            }
            while todo.is_empty() && next < plan.attempts && working.len() < at_once {
                next += 1;
                let place = usize::try_from(next - 1).unwrap_or(usize::MAX);
                let found = match plan.runs.get(place) {
                    Some(run) => left_of(&api, run, next).await?,
                    None => {
                        let made = make_run(&api, &plan).await?;
                        let run = text(&made, "benchmark_run_id")?;
                        held.add_run(run.clone())?;
                        Some(fresh(&run, next, &made)?)
                    }
                };
                let Some(found) = found else { continue };
                let run = held.plan.runs[place].clone();
                progress.plan(found.len());
                match found.is_empty() {
                    true => complete_run(&api, &run).await?,
                    false => drop(open.insert(run, found.len())),
                }
                todo.extend(found);
            }
            while working.len() < at_once && !cancel.is_cancelled() {
                let Some(one) = todo.pop_front() else { break };
                let attempts = Arc::clone(&attempts);
                working.spawn(async move {
                    let run = one.run.clone();
                    attempts.take(one).await.map(|()| run)
                });
            }
            match working.join_next().await {
                None if cancel.is_cancelled() => return Ok(()),
                None if todo.is_empty() && next >= plan.attempts => {
                    // Whatever was not started because the money was spent counts as its run's end says.
                    for run in open.keys() {
                        complete_run(&api, run).await?;
                    }
                    return Ok(());
                }
                None => {}
                Some(done) => {
                    let run = done.context("an attempt broke off")??;
                    if cancel.is_cancelled() {
                        continue;
                    }
                    if note_done(&mut open, &run)? {
                        open.remove(&run);
                        complete_run(&api, &run).await?;
                    }
                }
            }
        }
    }
}

/// Notes that a task of a run is done with; whether all of them are.
fn note_done(open: &mut BTreeMap<String, usize>, run: &str) -> anyhow::Result<bool> {
    let left = open
        .get_mut(run)
        .context("an attempt of a run that is not open")?;
    *left = left.saturating_sub(1);
    Ok(*left == 0)
}

/// Makes a run for one attempt at each task.
pub(super) async fn make_run(api: &Api, plan: &super::plan::Plan) -> anyhow::Result<Value> {
    let mut body = plan.request.clone();
    body["scored"] = json!(plan.scored);
    body["agent"] = json!(plan.name);
    body["labels"] = json!(plan.labels);
    body["held"] = json!(true);
    body["concurrency"] = json!(plan.at_once);
    if !plan.tasks.is_empty() {
        body["tasks"] = json!(plan.tasks);
    }
    api.post("/benchmark-runs", &body).await.map_err(refused)
}

/// The tasks of a run that was just made.
fn fresh(run: &str, attempt: u32, made: &Value) -> anyhow::Result<Vec<Todo>> {
    let task_runs = made["task_runs"]
        .as_array()
        .context("the server's answer has no task runs")?;
    let todo = task_runs.iter().map(|task_run| {
        Ok(Todo {
            run: run.to_owned(),
            attempt,
            task_run: text(task_run, "id")?,
            task: text(task_run, "name")?,
            phase: Phase::Created,
        })
    });
    todo.collect()
}

/// What is left of a run that a command left; none if it is over.
async fn left_of(api: &Api, run: &str, attempt: u32) -> anyhow::Result<Option<Vec<Todo>>> {
    let answer = api
        .get(&format!("/benchmark-runs/{run}"))
        .await
        .map_err(refused)?;
    let found: RunState = read(answer)?;
    if found.status != "active" {
        return Ok(None);
    }
    // The newest try of each task: ids sort by age.
    let mut newest: BTreeMap<String, TaskRunState> = BTreeMap::new();
    for task_run in found.task_runs {
        let is_older = |known: &TaskRunState| known.id > task_run.id;
        if !newest.get(&task_run.task_id).is_some_and(is_older) {
            newest.insert(task_run.task_id.clone(), task_run);
        }
    }
    let mut todo = Vec::new();
    for task_run in newest.into_values() {
        let is_void = matches!(
            task_run.cause.as_deref(),
            Some("infrastructure" | "scorer_error")
        );
        let phase = match task_run.phase.as_str() {
            "created" => Phase::Created,
            "started" => Phase::Left,
            _ if is_void => Phase::Void,
            _ => continue,
        };
        todo.push(Todo {
            run: run.to_owned(),
            attempt,
            task_run: task_run.id,
            task: task_run.name,
            phase,
        });
    }
    todo.sort_by(|one, other| one.task_run.cmp(&other.task_run));
    Ok(Some(todo))
}

async fn complete_run(api: &Api, run: &str) -> anyhow::Result<()> {
    let path = format!("/benchmark-runs/{run}/complete");
    for _ in 0..3 {
        match api.post(&path, &json!({})).await {
            // Something is still being scored.
            Err(error) if error.status().is_some_and(|status| status.as_u16() == 409) => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            other => return other.map(drop).map_err(refused),
        }
    }
    api.post(&path, &json!({})).await.map(drop).map_err(refused)
}

/// Stops runs that nobody wants any more.
pub(super) async fn cancel_runs(api: &Api, runs: &[String]) {
    for run in runs {
        // What is over cannot be stopped.
        let _ = api
            .post(&format!("/benchmark-runs/{run}/cancel"), &json!({}))
            .await;
    }
}

/// The text of a member that an answer always has.
pub(super) fn text(answer: &Value, member: &str) -> anyhow::Result<String> {
    let text = answer[member].as_str().map(str::to_owned);
    text.with_context(|| format!("the server's answer has no '{member}'"))
}
