//! `proctor harbor run`: a job file from its tasks to its results, on a server or on one inside this process.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, IsTerminal as _},
    net::SocketAddr,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use proctor_api::telemetry::{self, Telemetry, TelemetryOptions};
use proctor_benchmarks::{Api, ApiError};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{env_file, export, job_file, pack};
use crate::{
    agents,
    commands::{compare::refused, embedded::Embedded},
    devboxes::Supplies,
    exit::{Exit, WrongUse},
    harbor_settings::harbor_settings,
    image_settings::ImageSources,
    settings::{NamedAgent, NamedImage, ServeSettings, Settings},
    terminal,
};

/// How often a job is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How long a job that was cancelled may take to let go of its boxes.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many failures are told one by one.
const TOLD: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The job file; what a further one says goes before it
    #[arg(short = 'c', long = "job", required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// NAME=VALUE lines for the variables that the job names as ${NAME}: secrets of the organization until the job ends
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Write the results below this directory, in Harbor's own layout
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Do not ask before values of --env-file are sent
    #[arg(short = 'y', long = "yes")]
    yes: bool,
    /// End with 1 unless every trial of this agent has this reward: AGENT=REWARD, such as oracle=1; may be repeated
    #[arg(long, value_name = "AGENT=REWARD")]
    expect: Vec<Expectation>,
    /// Print the job as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// The server that runs a job.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
    /// The server; without it, one inside this process on the data directory
    #[arg(long, value_name = "URL", env = "PROCTOR_SERVER")]
    server: Option<String>,
    /// A key of the organization, for a server elsewhere
    #[arg(long, value_name = "KEY", env = "PROCTOR_KEY", hide_env_values = true)]
    key: Option<SecretString>,
    /// What FROM means, for a server inside this process: NAME=host, or NAME=DIR with a root file system; may be repeated
    #[arg(long = "image", value_name = "NAME=BASE")]
    images: Vec<NamedImage>,
    /// How an agent is started, for a server inside this process: NAME=FILE with its manifest; may be repeated
    #[arg(long = "agent", value_name = "NAME=FILE")]
    agents: Vec<NamedAgent>,
    #[command(flatten)]
    settings: Settings,
}

/// A server that can be asked.
pub(super) struct Opened {
    api: Api,
    /// The server inside this process, if it is one.
    embedded: Option<(Embedded, Telemetry)>,
}

impl Target {
    /// The server, which is started if it is one inside this process.
    pub(super) async fn open(&self) -> anyhow::Result<Opened> {
        let embedded = match &self.server {
            Some(_) => None,
            None => Some(self.start().await?),
        };
        let api = match (&embedded, &self.server, &self.key) {
            (Some((server, _)), ..) => Api::new(&server.url, server.key.clone()),
            (None, Some(server), Some(key)) => Api::new(server, key.clone()),
            (None, ..) => {
                let told = "a key of the organization is needed: --key or PROCTOR_KEY";
                return Err(WrongUse(told.to_owned()).into());
            }
        };
        let api = api.map_err(|bad| WrongUse(bad.to_string()))?;
        Ok(Opened { api, embedded })
    }

    /// Starts a server inside this process.
    async fn start(&self) -> anyhow::Result<(Embedded, Telemetry)> {
        let serve = ServeSettings {
            images: (!self.images.is_empty()).then(|| self.images.clone()),
            agents: (!self.agents.is_empty()).then(|| self.agents.clone()),
            ..ServeSettings::default()
        };
        let (settings, serve) = self.settings.clone().complete_for_serve(serve)?;
        let telemetry = telemetry::install(&TelemetryOptions {
            filter: serve.log.clone().unwrap_or_else(|| "warn".to_owned()),
            ..TelemetryOptions::default()
        })?;
        let supplies = Supplies {
            images: serve.images.clone().unwrap_or_default(),
            image_sources: ImageSources::of(&serve)?,
            code_mirrors: serve.code_mirrors.clone(),
            internal_hosts: serve.internal_hosts.clone().unwrap_or_default(),
            harbor: harbor_settings(&serve),
            ..Supplies::default()
        };
        let agents = agents::manifests(serve.agents.as_deref().unwrap_or_default())?;
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Embedded::start_with(&settings, listen, supplies, agents).await?;
        Ok((server, telemetry))
    }
}

impl Opened {
    /// Stops a server inside this process.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        if let Some((server, telemetry)) = self.embedded {
            server.stop().await?;
            telemetry.shutdown();
        }
        Ok(())
    }
}

/// What every trial of an agent shall be worth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    agent: String,
    reward: f64,
}

impl FromStr for Expectation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let expected = "expected AGENT=REWARD, such as oracle=1";
        let (agent, reward) = text.split_once('=').ok_or(expected)?;
        let reward: f64 = reward.parse().map_err(|_| expected)?;
        match agent.is_empty() || !reward.is_finite() {
            true => Err(expected),
            false => Ok(Self {
                agent: agent.to_owned(),
                reward,
            }),
        }
    }
}

pub(super) async fn run(arguments: Run) -> anyhow::Result<Exit> {
    let mut job = job_file::read(&arguments.files)?;
    job_file::inline_instructions(&mut job)?;
    let tasks = job_file::take_local(&mut job)?;
    let given = match &arguments.env_file {
        Some(path) => env_file::read(path)?,
        None => BTreeMap::new(),
    };
    let mut wanted = job_file::variables(&job, &tasks);
    wanted.retain(|name| given.contains_key(name));
    consent(&arguments, &wanted)?;
    let opened = arguments.target.open().await?;
    let api = &opened.api;
    let mut secrets = Vec::new();
    let done = async {
        for name in &wanted {
            if lend(api, name, &given[name]).await? {
                secrets.push(name.clone());
            }
        }
        for task in &tasks {
            let path = pack::upload(api, task).await?;
            job_file::put_back(&mut job, task, &path);
        }
        carry_out(api, &arguments, &job, opened.embedded.is_some()).await
    };
    let done = done.await;
    for name in &secrets {
        let path = format!("/v1/secrets/{name}/delete");
        if let Err(error) = api.post(&path, &json!({})).await {
            eprintln!("warning: the secret {name} could not be removed: {error}");
        }
    }
    opened.close().await?;
    done
}

/// Runs a job that was put together here, and answers it when it is over.
pub(super) async fn run_whole(opened: &Opened, mut job: Value) -> anyhow::Result<Value> {
    job_file::inline_instructions(&mut job)?;
    let tasks = job_file::take_local(&mut job)?;
    let api = &opened.api;
    for task in &tasks {
        let path = pack::upload(api, task).await?;
        job_file::put_back(&mut job, task, &path);
    }
    let (id, ended) = make_and_wait(api, &job).await?;
    if ended.is_none() {
        cancel(api, &id, opened.embedded.is_some()).await?;
    }
    ended.context("the job was cancelled")
}

/// Values leave this machine only if somebody says so.
fn consent(arguments: &Run, wanted: &BTreeSet<String>) -> Result<(), WrongUse> {
    if wanted.is_empty() || arguments.yes {
        return Ok(());
    }
    let names: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let names = names.join(", ");
    let refused = || {
        WrongUse(format!(
            "{names} would be sent to the server: say -y to agree"
        ))
    };
    if !std::io::stdin().is_terminal() {
        return Err(refused());
    }
    eprintln!("{names} are sent to the server, as secrets until the job ends. Go on? [y/N]");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        true => Ok(()),
        false => Err(refused()),
    }
}

/// Makes a secret, unless the organization has one of that name, which goes before; whether it was made.
async fn lend(api: &Api, name: &str, value: &str) -> anyhow::Result<bool> {
    match api.get(&format!("/v1/secrets/{name}")).await {
        Ok(_) => return Ok(false),
        Err(ApiError::Refused { status, .. }) if status.as_u16() == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let body = json!({"name": name, "value": value});
    api.post("/v1/secrets", &body).await.map_err(refused)?;
    Ok(true)
}

/// Plans the job, or makes it and waits for its end.
async fn carry_out(
    api: &Api,
    arguments: &Run,
    job: &Value,
    is_embedded: bool,
) -> anyhow::Result<Exit> {
    if arguments.dry_run {
        let body = json!({"spec": {"type": "harbor", "inline_yaml": job.to_string()}});
        let plan = api.post("/v1/benchmark_jobs?dry_run=true", &body).await;
        let plan = plan.map_err(refused)?;
        terminal::print(format_args!("{plan:#}\n"));
        return Ok(Exit::Fine);
    }
    let (id, ended) = make_and_wait(api, job).await?;
    let id = id.as_str();
    let Some(ended) = ended else {
        cancel(api, id, is_embedded).await?;
        return Ok(Exit::No);
    };
    let results = api.get(&format!("/v1/benchmark_jobs/{id}/results")).await?;
    for warning in results["warnings"].as_array().into_iter().flatten() {
        eprintln!("warning: {}", warning.as_str().unwrap_or_default());
    }
    match arguments.json {
        true => terminal::print(format_args!("{ended}\n")),
        false => tell(&ended),
    }
    if let Some(directory) = &arguments.export {
        let written = export::export(api, id, directory).await?;
        eprintln!("results are in {}", written.display());
    }
    if let Some(reason) = ended["failure_reason"].as_str() {
        eprintln!("error: {reason}");
        return Ok(Exit::No);
    }
    let broken = unmet(&ended, &arguments.expect);
    for line in &broken {
        eprintln!("{line}");
    }
    Ok(match broken.is_empty() && ended["state"] == "completed" {
        true => Exit::Fine,
        false => Exit::No,
    })
}

/// Makes a job and waits for its end; none if somebody asked to stop it.
async fn make_and_wait(api: &Api, job: &Value) -> anyhow::Result<(String, Option<Value>)> {
    let body = json!({"spec": {"type": "harbor", "inline_yaml": job.to_string()}});
    let made = api
        .post("/v1/benchmark_jobs", &body)
        .await
        .map_err(refused)?;
    let id = made["id"]
        .as_str()
        .context("the server's answer does not name the job")?;
    eprintln!("job {id}");
    let ended = tokio::select! {
        ended = wait(api, id) => Some(ended?),
        _ = tokio::signal::ctrl_c() => None,
    };
    Ok((id.to_owned(), ended))
}

/// The job when it is over.
async fn wait(api: &Api, id: &str) -> anyhow::Result<Value> {
    loop {
        let job = api.get(&format!("/v1/benchmark_jobs/{id}")).await?;
        match job["state"].as_str() {
            Some("initializing" | "queued" | "running") => tokio::time::sleep(LOOK).await,
            _ => return Ok(job),
        }
    }
}

/// Stops the job, and waits until its boxes are gone.
async fn cancel(api: &Api, id: &str, is_embedded: bool) -> anyhow::Result<()> {
    eprintln!("cancelling the job; a second Ctrl-C ends this program at once");
    let gone = async {
        let path = format!("/v1/benchmark_jobs/{id}/cancel");
        match api.post(&path, &json!({})).await {
            // It ended in between.
            Ok(_) | Err(ApiError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        while is_embedded && has_boxes(api).await? {
            tokio::time::sleep(LOOK).await;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        gone = tokio::time::timeout(PATIENCE, gone) => gone.unwrap_or(Ok(())),
        _ = tokio::signal::ctrl_c() => std::process::exit(Exit::PlatformFailed.code().into()),
    }
}

async fn has_boxes(api: &Api) -> anyhow::Result<bool> {
    let listed = api.get("/v1/devboxes?limit=100").await?;
    let boxes = listed["devboxes"].as_array().into_iter().flatten();
    let mut live =
        boxes.filter(|devbox| !matches!(devbox["status"].as_str(), Some("shutdown" | "failure")));
    Ok(live.next().is_some())
}

fn tell(job: &Value) {
    let headings = [
        "agent",
        "model",
        "completed",
        "failed",
        "timed out",
        "score",
    ];
    let mut table = terminal::table(&headings);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let agents = job["benchmark_outcomes"].as_array().into_iter().flatten();
    let mut failures = Vec::new();
    for agent in agents {
        let score = agent["average_score"].as_f64();
        table.add_row([
            text(&agent["agent_name"]),
            text(&agent["model_name"]),
            agent["n_completed"].to_string(),
            agent["n_failed"].to_string(),
            agent["n_timeout"].to_string(),
            score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}")),
        ]);
        for outcome in agent["scenario_outcomes"].as_array().into_iter().flatten() {
            let failure = &outcome["failure_reason"];
            if let Some(name) = failure["exception_type"].as_str() {
                let task = text(&outcome["scenario_name"]);
                let message = text(&failure["exception_message"]);
                failures.push(format!("{task}: {name}: {message}"));
            }
        }
    }
    terminal::print(format_args!("{table}\n"));
    for failure in failures.iter().take(TOLD) {
        eprintln!("{failure}");
    }
    if failures.len() > TOLD {
        eprintln!("and {} more failures", failures.len() - TOLD);
    }
}

/// Which expectations are not met, in words.
fn unmet(job: &Value, expected: &[Expectation]) -> Vec<String> {
    let mut broken = Vec::new();
    for Expectation { agent, reward } in expected {
        let all = job["benchmark_outcomes"].as_array().into_iter().flatten();
        let outcomes: Vec<&Value> = all
            .filter(|one| one["agent_name"] == agent.as_str())
            .flat_map(|one| one["scenario_outcomes"].as_array().into_iter().flatten())
            .collect();
        if outcomes.is_empty() {
            broken.push(format!(
                "expected {agent}={reward}: the job has no trial of {agent}"
            ));
        }
        for outcome in outcomes {
            let found = outcome["score"].as_f64();
            if found.is_none_or(|found| (found - reward).abs() > 1e-9) {
                let task = outcome["scenario_name"].as_str().unwrap_or_default();
                let found = found.map_or_else(|| "no reward".to_owned(), |found| found.to_string());
                broken.push(format!("expected {agent}={reward}: {task} has {found}"));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_met_by_every_trial_of_its_agent_or_not_at_all() {
        let job = json!({"benchmark_outcomes": [
            {"agent_name": "oracle", "scenario_outcomes": [{"scenario_name": "a", "score": 1.0}, {"scenario_name": "b"}]},
            {"agent_name": "nop", "scenario_outcomes": [{"scenario_name": "a", "score": 0.0}]},
        ]});
        let unmet = |text: &str| unmet(&job, &[text.parse().unwrap()]);
        assert_eq!(unmet("oracle=1"), ["expected oracle=1: b has no reward"]);
        assert!(unmet("nop=0").is_empty());
        assert_eq!(
            unmet("mine=1").len(),
            1,
            "an agent that is not there meets nothing"
        );
        for bad in ["oracle", "=1", "oracle=x", "oracle=NaN"] {
            assert!(bad.parse::<Expectation>().is_err(), "{bad}");
        }
    }
}
