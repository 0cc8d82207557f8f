//! `proctor run`: an agent takes a benchmark.

mod agent;
mod attempt;
mod benchmark;
mod budget;
mod drive;
mod harbor_tasks;
mod in_box;
mod jobs;
mod plan;
mod progress;
mod registered;
mod reports;
mod results;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use proctor_core::usage::PriceTable;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::plan::forget_run;
use self::{
    agent::Agent,
    benchmark::Exam,
    budget::Budget,
    drive::{Driver, cancel_runs, make_run, text},
    harbor_tasks::HarborTasks,
    in_box::{BoxOptions, BoxPlan},
    plan::{HeldPlan, Plan},
    progress::Progress,
    results::Pooled,
};
use super::{
    access::{Access, Connection, OwnServerOptions},
    signals,
};
use crate::{
    exit::{Exit, WrongUse},
    prices,
    settings::NamedImage,
    terminal,
};

/// How often a void attempt is tried again if nobody says so.
const RETRIES: u32 = 3;
/// How many seconds an attempt may take if nobody says so.
const TIMEOUT: u64 = 3600;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The benchmark: a shipped name, a file, a directory of scenarios or of Harbor tasks, a Harbor job file, or slug@version
    #[arg(required_unless_present = "resume")]
    pub(crate) benchmark: Option<String>,
    /// The agent: a command for a shell, oracle (replays the solutions), null or nop (does nothing), model:PROVIDER/NAME, or agent:NAME (registered at the server); Harbor tasks take
    /// several
    #[arg(long = "agent", value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
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
    /// How many seconds an attempt may take, unless its task allows less [default: 3600]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// How many US dollars all attempts may cost together: when they are spent, attempts at work end with agent_timeout and no further one begins
    #[arg(long, value_name = "USD", value_parser = money)]
    pub(crate) max_cost: Option<f64>,
    /// What models cost, for usage that is reported without a cost: a TOML file with a table for each model (docs/run.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Run the agent's command in a devbox that reaches its world, the hosts of --allow-host and nothing else; on this image, or on the server's own system
    #[arg(long, value_name = "IMAGE", num_args = 0..=1, default_missing_value = "")]
    pub(crate) in_box: Option<String>,
    /// A host that the agent in its box must reach, such as api.example.com; may be given several times
    #[arg(long = "allow-host", value_name = "HOST", requires = "in_box")]
    pub(crate) allow_hosts: Vec<String>,
    /// The directory with the agent's files, which is brought into its box; '' for none [default: the current one]
    #[arg(long, value_name = "DIR", requires = "in_box")]
    pub(crate) box_files: Option<PathBuf>,
    /// What FROM and --in-box mean by an image, for a server of this command's own: NAME=host, or NAME=DIR with a root file system; may be repeated
    #[arg(long = "image", value_name = "NAME=BASE")]
    pub(crate) images: Vec<NamedImage>,
    /// Harbor tasks: verify on a clean image, with only the working directory and the artifacts taken over
    #[arg(long)]
    pub(crate) strict: bool,
    /// How often an attempt is tried again that says nothing about the agent [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) retry_void: Option<u32>,
    /// Exit with 1 if the score is lower
    #[arg(long, value_name = "SCORE", value_parser = score)]
    pub(crate) min_score: Option<f64>,
    /// Finish a run that a command left: the one of this id, or the newest
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["benchmark", "agents"])]
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

fn money(text: &str) -> Result<f64, String> {
    let money = text
        .parse()
        .ok()
        .filter(|usd: &f64| usd.is_finite() && *usd >= 0.0);
    money.ok_or_else(|| "expected a number of US dollars from 0".to_owned())
}

impl Run {
    /// How many seconds an attempt may take.
    fn timeout(&self) -> u64 {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// The agent, where there can be but one.
    fn agent(&self) -> Result<&str, WrongUse> {
        match self.agents.as_slice() {
            [one] => Ok(one),
            [] => Err(WrongUse(
                "--agent is needed: a command, oracle, null, model:PROVIDER/NAME or agent:NAME".to_owned(),
            )),
            _ => Err(WrongUse(
                "several agents can be given for Harbor tasks only; otherwise run the command once for each".to_owned(),
            )),
        }
    }
}

pub(crate) async fn run(arguments: Run) -> anyhow::Result<Exit> {
    let prices = prices::read(arguments.prices.as_deref())?;
    let own = OwnServerOptions {
        prices: prices.clone(),
        images: arguments.images.clone(),
    };
    let named = arguments
        .benchmark
        .as_deref()
        .filter(|_| arguments.resume.is_none());
    if let Some(tasks) = named.map(HarborTasks::find).transpose()?.flatten() {
        let job = tasks.job(&arguments)?;
        let connection = arguments.access.open_with(own).await?;
        let outcome = Box::pin(harbor_tasks::take(&arguments, job, &connection)).await;
        connection.close().await?;
        return outcome;
    }
    let prepared = match arguments.resume {
        None => Some(prepare(&arguments)?),
        Some(_) => None,
    };
    let connection = arguments.access.open_with(own).await?;
    let outcome = Box::pin(carry_out(&arguments, prepared, &connection, prices)).await;
    let closed = connection.close().await;
    let exit = outcome?;
    closed?;
    Ok(exit)
}

/// What can be known to be wrong without a server.
fn prepare(arguments: &Run) -> anyhow::Result<(Exam, Agent)> {
    let named = arguments.benchmark.as_deref().unwrap_or_default();
    let exam = Exam::find(named)?;
    if arguments.strict {
        return Err(WrongUse("--strict is for Harbor tasks".to_owned()).into());
    }
    let agent = Agent::read(arguments.agent()?)?;
    if arguments.in_box.is_none() {
        agent.check(&std::env::current_dir()?)?;
    }
    check_fit(&exam, &agent)?;
    if let Agent::Registered(_) = agent {
        registered::check(arguments)?;
    }
    if arguments.in_box.is_some() {
        in_box::check_hosts(&arguments.allow_hosts)?;
        if !matches!(agent, Agent::Command(_)) {
            let message = "--in-box is for commands: other agents do not run on this machine's own, or are this program";
            return Err(WrongUse(message.to_owned()).into());
        }
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
        _ => Ok(()),
    }
}

async fn carry_out(
    arguments: &Run,
    prepared: Option<(Exam, Agent)>,
    connection: &Connection,
    prices: PriceTable,
) -> anyhow::Result<Exit> {
    let (api, directory) = (&connection.api, &connection.directory);
    let server = connection.server.as_deref();
    let (exam, agent, mut held) = match prepared {
        Some((exam, agent)) => {
            mention_unfinished(connection);
            let needs_boxes = exam.needs_boxes()
                || arguments.in_box.is_some()
                || matches!(agent, Agent::Registered(_));
            if needs_boxes && let Some(missing) = connection.missing_for_boxes().await {
                return Err(WrongUse(format!("this is done in devboxes: {missing}")).into());
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
            if held.plan.in_box.is_none() {
                agent.check(&held.plan.directory)?;
            }
            let exam = Exam::find(&held.plan.benchmark)?;
            (exam, agent, held)
        }
    };
    let progress = Arc::new(Progress::new(held.plan.attempts, arguments.json));
    let before = match (held.plan.max_cost, &arguments.resume) {
        (Some(_), Some(_)) => results::spent(api, &held.plan.runs).await?,
        _ => 0.0,
    };
    let budget = Arc::new(Budget::new(held.plan.max_cost, prices, before));
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
        budget: Arc::clone(&budget),
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
    let mut pooled = Pooled::read(api, &name, &runs).await?;
    if budget.is_in_doubt() {
        let told = "usage was reported without a cost and without a price: the cost budget counts the rest only (--prices)";
        progress.warn(told.to_owned());
    }
    pooled.warn(progress.warnings());
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
    let in_box = match arguments.in_box.as_deref() {
        None => None,
        Some(image) => {
            let wanted = BoxOptions {
                image,
                hosts: &arguments.allow_hosts,
                files: arguments.box_files.as_deref(),
            };
            Some(BoxPlan::prepare(&connection.api, wanted).await?)
        }
    };
    let mut labels: BTreeMap<String, String> = arguments.labels.iter().cloned().collect();
    if let Some(version) = &arguments.agent_version {
        labels.insert("agent-version".to_owned(), version.clone());
    }
    let mut plan = Plan {
        benchmark: arguments.benchmark.clone().unwrap_or_default(),
        request: on_server.request,
        agent: arguments.agent()?.to_owned(),
        name: arguments.agent_name.clone().unwrap_or_else(|| agent.name()),
        server: connection.server.clone(),
        directory: std::env::current_dir()?,
        attempts: arguments.attempts,
        at_once: arguments.at_once,
        tasks: arguments.tasks.clone(),
        scored: arguments.scored,
        labels,
        timeout: arguments.timeout(),
        retry_void: arguments.retry_void.unwrap_or(RETRIES),
        model: arguments.model.clone(),
        kwargs: arguments.kwargs.clone(),
        max_cost: arguments.max_cost,
        in_box,
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
