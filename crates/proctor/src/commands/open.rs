//! `proctor open`: a link that signs a browser in.

use anyhow::Context as _;
use clap::Args;
use proctor_core::id::kinds::{CriterionRunId, RunId, TaskRunId};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::{
    cli::ServerAccess,
    exit::{Exit, WrongUse},
};

#[derive(Debug, Args)]
pub(crate) struct Open {
    #[command(flatten)]
    access: ServerAccess,
    /// What to open: a run, a task run or a criterion run, in either dialect's spelling [default: the overview]
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Open) -> anyhow::Result<Exit> {
    let next = match &arguments.id {
        None => None,
        Some(id) => Some(page_of(id)?),
    };
    let server = arguments.access.server.trim_end_matches('/');
    let link = one_time_link(
        server,
        arguments.access.key.expose_secret(),
        next.as_deref(),
    )
    .await?;
    match arguments.json {
        true => println!("{}", json!({ "url": link })),
        false => {
            println!("{link}");
            eprintln!("The link works once, for ten minutes.");
        }
    }
    Ok(Exit::Fine)
}

/// The page of an id, by its prefix.
fn page_of(id: &str) -> Result<String, WrongUse> {
    use proctor_core::id::Dialect::{Runloop, Verial};
    for dialect in [Verial, Runloop] {
        if let Ok(run) = RunId::from_wire(id, dialect) {
            return Ok(format!("/ui/runs/{run}"));
        }
        if let Ok(task_run) = TaskRunId::from_wire(id, dialect) {
            return Ok(format!("/ui/task-runs/{task_run}"));
        }
        if let Ok(criterion_run) = CriterionRunId::from_wire(id, dialect) {
            return Ok(format!("/ui/criterion-runs/{criterion_run}"));
        }
    }
    let advice = format!(
        "'{id}' is not the id of a run (br_…), a task run (tr_…) or a criterion run (crun_…)"
    );
    Err(WrongUse(advice))
}

/// Asks a server for a link that signs a browser in with this key, and leads on to `next`.
pub(crate) async fn one_time_link(
    server: &str,
    key: &str,
    next: Option<&str>,
) -> anyhow::Result<String> {
    let client = reqwest::Client::new();
    let query = next.map(|next| format!("?next={}", proctor_web::html::encode(next)));
    let address = format!("{server}/ui/tickets{}", query.unwrap_or_default());
    let answer = client
        .post(address)
        .bearer_auth(key)
        .send()
        .await
        .with_context(|| format!("{server} does not answer"))?;
    let status = answer.status();
    let answer: Value = answer
        .json()
        .await
        .with_context(|| format!("{server} has no pages: it answered {status}"))?;
    match answer["path"].as_str() {
        Some(path) => Ok(format!("{server}{path}")),
        None => {
            let why = answer["error"].as_str().unwrap_or("no reason was given");
            Err(WrongUse(format!("the server refused: {why}")).into())
        }
    }
}
