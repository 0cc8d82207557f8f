//! `proctor watch`: a job until it is over.

use std::{collections::BTreeSet, time::Duration};

use clap::Args;
use proctor_benchmarks::Api;
use proctor_core::id::{Dialect, kinds::JobKind};
use serde_json::Value;

use super::{
    access::Access,
    compare::{read, refused, versioned},
    show::either,
};
use crate::{
    exit::{Exit, WrongUse},
    report::{
        answers::{AgentResults, Results},
        tables,
    },
    terminal,
};

/// How often the job is looked at.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The id of the job
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) access: Access,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(arguments: Watch) -> anyhow::Result<Exit> {
    let job = either::<JobKind>(&arguments.job)
        .map_err(|bad| WrongUse(format!("'{}': {bad}", arguments.job)))?;
    let connection = arguments.access.open().await?;
    let job = job.wire(Dialect::Runloop);
    let watched = watch(&connection.api, &job, arguments.json).await;
    connection.close().await?;
    watched
}

async fn watch(api: &Api, job: &str, json: bool) -> anyhow::Result<Exit> {
    let followed = follow(api, job, false).await?;
    let found: Results = read(followed.results.clone())?;
    match json {
        true => terminal::print(format_args!("{}\n", versioned(followed.results))),
        false => terminal::print(tables::results(job, &found, &[], false)),
    }
    let is_void = |agent: &AgentResults| agent.summary.void > 0;
    let is_whole = followed.state == "completed" && !found.agents.iter().any(is_void);
    Ok(match is_whole {
        true => Exit::Fine,
        false => Exit::PlatformFailed,
    })
}

/// A job that is over.
pub(super) struct Followed {
    /// How it ended.
    pub(super) state: String,
    /// What came of it.
    pub(super) results: Value,
}

/// Tells of each attempt of a job when it is over, until the job is.
pub(super) async fn follow(api: &Api, job: &str, is_quiet: bool) -> anyhow::Result<Followed> {
    let path = format!("/v1/benchmark_jobs/{job}");
    let (mut told, mut state) = (BTreeSet::new(), String::new());
    loop {
        // In this order: what ends in between is told the next time.
        let seen = api.get(&path).await.map_err(refused)?;
        let results = api.get(&format!("{path}/results")).await.map_err(refused)?;
        let found: Results = read(results.clone())?;
        let now = seen["state"].as_str().unwrap_or_default();
        if state != now {
            now.clone_into(&mut state);
            if !is_quiet {
                eprintln!("{job}: {state}");
            }
        }
        for agent in &found.agents {
            let name = agent.name.as_deref().unwrap_or("-");
            for (number, attempt) in agent.attempts.iter().enumerate() {
                let is_known = attempt.score.is_some() || attempt.cause.is_some();
                if is_known && told.insert((name.to_owned(), number)) && !is_quiet {
                    eprintln!("{name}: {}", tables::attempt(attempt));
                }
            }
        }
        if !matches!(now, "initializing" | "queued" | "running") {
            return Ok(Followed { state, results });
        }
        tokio::time::sleep(LOOK).await;
    }
}
