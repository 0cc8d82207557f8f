//! Jobs of the server that `proctor run` makes: followed until they are over, and told as other runs are.

use anyhow::Context as _;
use proctor_benchmarks::Api;
use proctor_core::scoring::Verdict;
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Run, results::verdict_of};
use crate::{
    commands::{
        compare::{JSON_VERSION, read, refused},
        signals,
        watch::{Followed, follow},
    },
    exit::Exit,
    report::{
        answers::{AgentResults, Results},
        tables,
    },
    terminal,
};

/// Follows a job until it is over, or stops it when somebody asks for that, and tells what came of it.
pub(super) async fn finish(api: &Api, job: &str, arguments: &Run) -> anyhow::Result<Exit> {
    // The other dialect's name of the same job, by which it is followed.
    let job = job.replacen("job_", "bmj_", 1);
    let cancel = CancellationToken::new();
    let listening = TaskTracker::new();
    let listener = listening.spawn(signals::stop(cancel.clone()));
    let mut followed = tokio::select! {
        followed = follow(api, &job, arguments.json) => followed?,
        () = cancel.cancelled() => {
            eprintln!("cancelling");
            let path = format!("/v1/benchmark_jobs/{job}/cancel");
            api.post(&path, &json!({})).await.map_err(refused)?;
            follow(api, &job, true).await?
        }
    };
    listener.abort();
    // With the ids that other runs have.
    let job = job.replacen("bmj_", "job_", 1);
    let results = api.get(&format!("/jobs/{job}/results")).await;
    followed.results = results.map_err(refused)?;
    tell(&job, &followed, arguments)
}

fn tell(job: &str, followed: &Followed, arguments: &Run) -> anyhow::Result<Exit> {
    let found: Results = read(followed.results.clone())?;
    found.agents.first().context("the job has no agent")?;
    // There is no one number for several agents.
    let score = match found.agents.as_slice() {
        [only] => only.summary.score,
        _ => None,
    };
    if arguments.json {
        let whole = to_json(&followed.results, score, &found.agents);
        terminal::print(format_args!("{whole}\n"));
    } else {
        terminal::print(tables::results(job, &found, &[], false));
        for warning in followed.results["warnings"]
            .as_array()
            .into_iter()
            .flatten()
        {
            terminal::print(format_args!(
                "note: {}\n",
                warning.as_str().unwrap_or_default()
            ));
        }
    }
    let is_whole = |agent: &AgentResults| agent.summary.scored == agent.summary.planned;
    if followed.state != "completed" || !found.agents.iter().all(is_whole) {
        return Ok(Exit::PlatformFailed);
    }
    let is_low =
        |agent: &AgentResults, least: f64| agent.summary.score.is_none_or(|score| score < least);
    Ok(match arguments.min_score {
        Some(least) if found.agents.iter().any(|agent| is_low(agent, least)) => Exit::No,
        _ => Exit::Fine,
    })
}

fn to_json(results: &Value, score: Option<f64>, agents: &[AgentResults]) -> Value {
    let missed =
        |misses: &Option<Vec<String>>| misses.as_ref().is_some_and(|misses| !misses.is_empty());
    let mut attempts = agents.iter().flat_map(|agent| &agent.attempts);
    let is_failed = attempts.any(|attempt| missed(&attempt.critical_misses));
    let verdict = match (agents, is_failed) {
        ([_], true) => Some(Verdict::Fail),
        ([_], false) => verdict_of(score),
        _ => None,
    };
    let runs: Vec<Value> = results["agents"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|agent| agent["run_ids"].as_array().cloned().unwrap_or_default())
        .collect();
    json!({
        "version": JSON_VERSION,
        "score": score,
        "verdict": verdict.map(|verdict| verdict.to_string()),
        "run_ids": runs,
        "agents": results["agents"],
        "warnings": results["warnings"],
    })
}
