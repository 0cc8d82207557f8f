//! `proctor take`: a run of a benchmark, taken by a command of yours.

use anyhow::Context as _;
use clap::Args;
use proctor_benchmarks::Api;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{compare::refused, selection::selection};
use crate::{
    cli::ServerAccess,
    exit::{Exit, WrongUse},
    terminal,
};

#[derive(Debug, Args)]
pub(crate) struct Take {
    /// The benchmark: slug@version
    pub(crate) benchmark: String,
    /// What takes it; runs are found again by this name
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: String,
    /// The command, for a shell. It finds PROCTOR_SERVER, PROCTOR_RUN_ID, PROCTOR_RUN_TOKEN, and the run
    /// as JSON in PROCTOR_RUN_FILE
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: String,
    /// Labels of the runs, such as branch=main,commit=a1b2c3d
    #[arg(long, value_name = "LABELS")]
    pub(crate) labels: Option<String>,
    /// How often every task is taken: a run each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    /// Let the agent see what explains its scores
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) server: ServerAccess,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(arguments: Take) -> anyhow::Result<Exit> {
    let server = arguments.server;
    let api = Api::new(&server.server, server.key).map_err(|bad| WrongUse(bad.to_string()))?;
    let labels = match &arguments.labels {
        None => json!({}),
        Some(text) => match selection(text)?["labels"].take() {
            Value::Null => {
                return Err(WrongUse(format!(
                    "'{text}' are no labels: write branch=main,commit=a1b2c3d"
                ))
                .into());
            }
            labels => labels,
        },
    };
    let mut runs = Vec::new();
    for attempt in 1..=arguments.attempts {
        let body = json!({
            "benchmark": arguments.benchmark, "scored": !arguments.open, "agent": arguments.agent,
            "labels": labels,
        });
        let made = api.post("/benchmark-runs", &body).await.map_err(refused)?;
        let id = made["benchmark_run_id"]
            .as_str()
            .context("the server's answer does not name the run")?
            .to_owned();
        eprintln!("attempt {attempt} of {}: {id}", arguments.attempts);
        take(&arguments.command, api.server(), &id, &made).await?;
        let path = format!("/benchmark-runs/{id}/complete");
        let done = api.post(&path, &json!({})).await.map_err(refused)?;
        let score = done["summary"]["score"].as_f64();
        let score = score.map_or_else(|| "no score".to_owned(), |score| format!("{score:.3}"));
        eprintln!("{id}: {score}");
        runs.push(id);
    }
    match arguments.json {
        true => terminal::print(format_args!("{}\n", json!({"version": 1, "runs": runs}))),
        false => terminal::print(format_args!("{}\n", runs.join(","))),
    }
    Ok(Exit::Fine)
}

/// Lets the agent take a run. How it ends is its own business: what it has not done counts 0.
async fn take(command: &str, server: &str, id: &str, made: &Value) -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new().context("no temporary file can be made")?;
    fs_err::write(file.path(), made.to_string()).context("the run cannot be handed over")?;
    let token = made["bearer_token"].as_str().unwrap_or_default();
    let ended = Command::new("sh")
        .arg("-c")
        .arg(command)
        .env("PROCTOR_SERVER", server)
        .env("PROCTOR_RUN_ID", id)
        .env("PROCTOR_RUN_TOKEN", token)
        .env("PROCTOR_RUN_FILE", file.path())
        // The agent takes the exam; it has no business with the key of those who grade it.
        .env_remove("PROCTOR_KEY")
        // What an agent prints is not what this command answers.
        .stdout(std::io::stderr())
        .status()
        .await
        .context("the agent's command cannot be started")?;
    if !ended.success() {
        eprintln!("the agent's command ended with {ended}; what it has not done counts 0");
    }
    Ok(())
}
