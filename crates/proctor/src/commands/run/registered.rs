//! An agent that is registered at the server takes scenarios by itself, in a job.

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Run, benchmark::Exam, drive::text};
use crate::{
    commands::{
        access::Connection,
        compare::{JSON_VERSION, read, refused},
        signals,
        watch::follow,
    },
    exit::{Exit, WrongUse},
    report::{answers::Results, tables},
    terminal,
};

/// Refuses what a job cannot be told.
pub(super) fn check(arguments: &Run) -> Result<(), WrongUse> {
    let given = [
        ("--task", !arguments.tasks.is_empty()),
        ("--label", !arguments.labels.is_empty()),
        ("--agent-name", arguments.agent_name.is_some()),
        ("--agent-version", arguments.agent_version.is_some()),
        ("--scored", arguments.scored),
        ("--retry-void", arguments.retry_void.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(WrongUse(format!(
            "{option} cannot be used with a registered agent, which works in a job of the server"
        ))),
        None => Ok(()),
    }
}

/// Lets a registered agent take a benchmark in a job, and tells what came of it.
pub(super) async fn take(
    arguments: &Run,
    exam: &Exam,
    named: &str,
    connection: &Connection,
) -> anyhow::Result<Exit> {
    let api = &connection.api;
    let on_server = exam.place(api).await?;
    let benchmark = text(&on_server.request, "benchmark_id")?.replacen("bench_", "bmd_", 1);
    let mut agent = json!({"type": "job_agent", "timeout_seconds": arguments.timeout});
    let member = if named.starts_with("agt_") {
        "agent_id"
    } else {
        "name"
    };
    agent[member] = json!(named);
    if member == "agent_id" {
        let found = api
            .get(&format!("/v1/agents/{named}"))
            .await
            .map_err(refused)?;
        agent["name"] = found["name"].clone();
    }
    if let Some(model) = &arguments.model {
        agent["model_name"] = json!(model);
    }
    if let Some(kwargs) = &arguments.kwargs {
        agent["kwargs"] = serde_json::from_str(kwargs)?;
    }
    // The same agent so many times is one agent with as many attempts at each scenario.
    let times = usize::try_from(arguments.attempts).unwrap_or(1);
    let body = json!({
        "name": format!("{named} takes {}", on_server.name),
        "spec": {
            "type": "benchmark",
            "benchmark_id": benchmark,
            "agent_configs": vec![agent; times],
            "orchestrator_config": {"n_concurrent_trials": arguments.at_once},
        },
    });
    let job = api
        .post("/v1/benchmark_jobs", &body)
        .await
        .map_err(refused)?;
    let job = text(&job, "id")?;
    let cancel = CancellationToken::new();
    let listening = TaskTracker::new();
    let listener = listening.spawn(signals::stop(cancel.clone()));
    let followed = tokio::select! {
        followed = follow(api, &job, arguments.json) => followed?,
        () = cancel.cancelled() => {
            eprintln!("cancelling");
            api.post(&format!("/v1/benchmark_jobs/{job}/cancel"), &json!({})).await.map_err(refused)?;
            follow(api, &job, true).await?
        }
    };
    listener.abort();
    let found: Results = read(followed.results.clone())?;
    let agent = found.agents.first().context("the job has no agent")?;
    let score = agent.summary.score;
    if arguments.json {
        terminal::print(format_args!(
            "{}\n",
            to_json(&followed.results, score, agent)
        ));
    } else {
        terminal::print(tables::results(&job, &found, &[], false));
    }
    if followed.state != "completed" || agent.summary.scored < agent.summary.planned {
        return Ok(Exit::PlatformFailed);
    }
    Ok(match (arguments.min_score, score) {
        (Some(least), Some(score)) if score < least => Exit::No,
        _ => Exit::Fine,
    })
}

fn to_json(
    results: &Value,
    score: Option<f64>,
    agent: &crate::report::answers::AgentResults,
) -> Value {
    let missed =
        |misses: &Option<Vec<String>>| misses.as_ref().is_some_and(|misses| !misses.is_empty());
    let is_failed = agent
        .attempts
        .iter()
        .any(|attempt| missed(&attempt.critical_misses));
    let verdict = match is_failed {
        true => Some(proctor_core::scoring::Verdict::Fail),
        false => super::results::verdict_of(score),
    };
    json!({
        "version": JSON_VERSION,
        "score": score,
        "verdict": verdict.map(|verdict| verdict.to_string()),
        "run_ids": results["agents"][0]["run_ids"],
        "agents": results["agents"],
        "warnings": results["warnings"],
    })
}
