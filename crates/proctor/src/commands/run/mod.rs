//! `proctor run`: an agent takes a benchmark.

mod agent;
mod attempt;
mod benchmark;
mod drive;
mod plan;
mod progress;
mod registered;
mod results;

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::plan::forget_run;
use self::{
    agent::Agent,
    benchmark::Exam,
    drive::{Driver, cancel_runs, make_run, text},
    plan::{HeldPlan, Plan},
    progress::Progress,
    results::Pooled,
};
use super::{
    access::{Access, Connection},
    signals,
};
use crate::{
    exit::{Exit, WrongUse},
    terminal,
};

/// How often a void attempt is tried again if nobody says so.
const RETRIES: u32 = 3;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The benchmark: a shipped name, a file, a directory of scenarios, or slug@version
    #[arg(required_unless_present = "resume")]
    pub(crate) benchmark: Option<String>,
    /// The agent: a command for a shell, oracle (replays the solutions), null (does nothing), or agent:NAME (registered at the server)
    #[arg(long, value_name = "AGENT", required_unless_present = "resume")]
    pub(crate) agent: Option<String>,
    /// What the agent is called; runs are found again by it [default: the command]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_name: Option<String>,
    /// Which version of the agent it is: a label of the runs, agent-version
    #[arg(long, value_name = "VERSION")]
    pub(crate) agent_version: Option<String>,
    /// The model that the agent is to use: PROCTOR_MODEL_NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What else the agent is told: a JSON object for PROCTOR_AGENT_KWARGS
    #[arg(long, value_name = "JSON")]
    pub(crate) kwargs: Option<String>,
    /// How often every task is taken: a run each
    #[arg(short = 'k', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) attempts: u32,
    /// How many attempts are made at once
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) at_once: u32,
    /// Only tasks whose name matches, such as 'Register*'; may be given several times
    #[arg(long = "task", value_name = "PATTERN")]
    pub(crate) tasks: Vec<String>,
    /// Show the agent its scores, and not what explains them
    #[arg(long)]
    pub(crate) scored: bool,
    /// A label of the runs; may be given several times
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    /// How many seconds an attempt may take, unless its task allows less
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// How often an attempt is tried again that says nothing about the agent [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) retry_void: Option<u32>,
    /// Exit with 1 if the score is lower
    #[arg(long, value_name = "SCORE", value_parser = score)]
    pub(crate) min_score: Option<f64>,
    /// Finish a run that a command left: the one of this id, or the newest
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["benchmark", "agent"])]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) access: Access,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected name=value, such as branch=main".to_owned()),
    }
}

fn score(text: &str) -> Result<f64, String> {
    let score = text
        .parse()
        .ok()
        .filter(|score| (0.0..=1.0).contains(score));
    score.ok_or_else(|| "expected a score from 0 to 1".to_owned())
}

pub(crate) async fn run(arguments: Run) -> anyhow::Result<Exit> {
    let prepared = match arguments.resume {
        None => Some(prepare(&arguments)?),
        Some(_) => None,
    };
    let connection = arguments.access.open().await?;
    let outcome = Box::pin(carry_out(&arguments, prepared, &connection)).await;
    let closed = connection.close().await;
    let exit = outcome?;
    closed?;
    Ok(exit)
}

/// What can be known to be wrong without a server.
fn prepare(arguments: &Run) -> anyhow::Result<(Exam, Agent)> {
    let named = arguments.benchmark.as_deref().unwrap_or_default();
    let exam = Exam::find(named)?;
    let agent = Agent::read(arguments.agent.as_deref().unwrap_or_default())?;
    agent.check(&std::env::current_dir()?)?;
    check_fit(&exam, &agent)?;
    if let Agent::Registered(_) = agent {
        registered::check(arguments)?;
    }
    if let Some(kwargs) = &arguments.kwargs {
        let read: Result<serde_json::Map<String, serde_json::Value>, _> =
            serde_json::from_str(kwargs);
        read.map_err(|error| WrongUse(format!("--kwargs is not a JSON object: {error}")))?;
    }
    Ok((exam, agent))
}

fn check_fit(exam: &Exam, agent: &Agent) -> anyhow::Result<()> {
    match (exam, agent) {
        (Exam::Published(named), Agent::Oracle) => Err(WrongUse(format!(
            "the oracle replays solutions, which only the file of {named} has: give the file"
        ))
        .into()),
        (Exam::Clinical(_) | Exam::Published(_), Agent::Registered(_)) => Err(WrongUse(
            "registered agents work in devboxes, so they take files of scenarios: give one, or a command".to_owned(),
        )
        .into()),
        _ => Ok(()),
    }
}

async fn carry_out(
    arguments: &Run,
    prepared: Option<(Exam, Agent)>,
    connection: &Connection,
) -> anyhow::Result<Exit> {
    let (api, directory) = (&connection.api, &connection.directory);
    let server = connection.server.as_deref();
    let (exam, agent, mut held) = match prepared {
        Some((exam, agent)) => {
            mention_unfinished(connection);
            if exam.needs_boxes()
                && let Some(missing) = connection.missing_for_boxes().await
            {
                return Err(
                    WrongUse(format!("this benchmark is taken in devboxes: {missing}")).into(),
                );
            }
            if let Agent::Registered(named) = &agent {
                return registered::take(arguments, &exam, named, connection).await;
            }
            let plan = plan_of(arguments, &exam, &agent, connection).await?;
            let held = HeldPlan::keep(directory, plan)?;
            (exam, agent, held)
        }
        None => {
            let run = arguments.resume.as_deref().filter(|run| !run.is_empty());
            let held = HeldPlan::take_up(directory, server, run)?;
            let agent = Agent::read(&held.plan.agent)?;
            agent.check(&held.plan.directory)?;
            let exam = Exam::find(&held.plan.benchmark)?;
            (exam, agent, held)
        }
    };
    let progress = Arc::new(Progress::new(held.plan.attempts, arguments.json));
    let cancel = CancellationToken::new();
    let listening = TaskTracker::new();
    let listener = listening.spawn(signals::stop(cancel.clone()));
    let driver = Driver {
        api: api.clone(),
        exam,
        agent,
        place: directory.join("attempts"),
        cancel: cancel.clone(),
        progress: Arc::clone(&progress),
    };
    let driven = driver.drive(&mut held).await;
    progress.finish();
    let runs = held.plan.runs.clone();
    let is_done = match driven {
        Ok(is_done) => is_done,
        Err(error) => {
            listener.abort();
            let first = runs.first().map(String::as_str).unwrap_or_default();
            return Err(error.context(format!(
                "the run did not come to its end; `proctor run --resume {first}` finishes it"
            )));
        }
    };
    if !is_done {
        eprintln!("cancelling");
        cancel_runs(api, &runs).await;
    }
    let name = held.plan.name.clone();
    held.forget()?;
    let pooled = Pooled::read(api, &name, &runs).await?;
    listener.abort();
    match arguments.json {
        true => terminal::print(format_args!("{}\n", pooled.to_json())),
        false => {
            terminal::print(pooled.to_table()?);
            where_to_look(connection, &runs);
        }
    }
    Ok(exit_of(&pooled, arguments.min_score))
}

/// How the command ends: what is void goes before a score that is too low, because the score is not the whole story.
fn exit_of(pooled: &Pooled, min_score: Option<f64>) -> Exit {
    if pooled.is_incomplete() {
        return Exit::PlatformFailed;
    }
    match (min_score, pooled.summary.score) {
        (Some(least), Some(score)) if score < least => Exit::No,
        (Some(_), None) => Exit::No,
        _ => Exit::Fine,
    }
}

async fn plan_of(
    arguments: &Run,
    exam: &Exam,
    agent: &Agent,
    connection: &Connection,
) -> anyhow::Result<Plan> {
    let on_server = exam.place(&connection.api).await?;
    let mut labels: BTreeMap<String, String> = arguments.labels.iter().cloned().collect();
    if let Some(version) = &arguments.agent_version {
        labels.insert("agent-version".to_owned(), version.clone());
    }
    let mut plan = Plan {
        benchmark: arguments.benchmark.clone().unwrap_or_default(),
        request: on_server.request,
        agent: arguments.agent.clone().unwrap_or_default(),
        name: arguments.agent_name.clone().unwrap_or_else(|| agent.name()),
        server: connection.server.clone(),
        directory: std::env::current_dir()?,
        attempts: arguments.attempts,
        at_once: arguments.at_once,
        tasks: arguments.tasks.clone(),
        scored: arguments.scored,
        labels,
        timeout: arguments.timeout,
        retry_void: arguments.retry_void.unwrap_or(RETRIES),
        model: arguments.model.clone(),
        kwargs: arguments.kwargs.clone(),
        runs: Vec::new(),
    };
    let made = make_run(&connection.api, &plan).await?;
    let run = text(&made, "benchmark_run_id").context("the run has no id")?;
    if !arguments.json {
        eprintln!("{} takes {}: {run}", plan.name, on_server.name);
    }
    plan.runs.push(run);
    Ok(plan)
}

/// Says which runs were left by commands that were killed.
fn mention_unfinished(connection: &Connection) {
    for held in plan::left(&connection.directory, connection.server.as_deref()) {
        let plan = &held.plan;
        let run = plan.runs.first().map(String::as_str).unwrap_or_default();
        eprintln!(
            "note: a run of {} by {} did not come to its end; `proctor run --resume {run}` finishes it, `proctor runs delete {run}` removes it",
            plan.benchmark, plan.name
        );
    }
}

fn where_to_look(connection: &Connection, runs: &[String]) {
    let Some(run) = runs.last() else {
        return;
    };
    let access = match &connection.server {
        Some(_) => String::new(),
        None => format!(" --data {}", connection.directory.display()),
    };
    eprintln!("evidence: proctor show {run}{access}");
}
