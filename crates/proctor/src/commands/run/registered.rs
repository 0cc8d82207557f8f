//! An agent that is registered at the server takes a benchmark by itself, in a job.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{RETRIES, Run, benchmark::Exam, drive::text, jobs};
use crate::{
    commands::{access::Connection, compare::refused},
    exit::{Exit, WrongUse},
};

/// Refuses what a job cannot be told.
pub(super) fn check(arguments: &Run) -> Result<(), WrongUse> {
    let given = [
        ("--task", !arguments.tasks.is_empty()),
        ("--agent-name", arguments.agent_name.is_some()),
        ("--scored", arguments.scored),
        ("--max-cost", arguments.max_cost.is_some()),
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
    let request = &on_server.request;
    let benchmark = match request["benchmark"].as_str() {
        Some(version) => version.to_owned(),
        None => text(request, "benchmark_id")?,
    };
    let mut agent = json!({"timeout": arguments.timeout()});
    if named.starts_with("agt_") {
        let path = format!("/v1/agents/{named}");
        let found = api.get(&path).await.map_err(refused)?;
        agent["agent_id"] = json!(named);
        agent["name"] = found["name"].clone();
    } else {
        agent["name"] = json!(named);
    }
    if let Some(model) = &arguments.model {
        agent["model"] = json!(model);
    }
    if let Some(kwargs) = &arguments.kwargs {
        agent["kwargs"] = serde_json::from_str::<Value>(kwargs)?;
    }
    let mut labels: BTreeMap<String, String> = arguments.labels.iter().cloned().collect();
    if let Some(version) = &arguments.agent_version {
        labels.insert("agent-version".to_owned(), version.clone());
    }
    let body = json!({
        "name": format!("{named} takes {}", on_server.name),
        "benchmark": benchmark,
        "agents": [agent],
        "attempts": arguments.attempts,
        "concurrency": arguments.at_once,
        "retries": arguments.retry_void.unwrap_or(RETRIES),
        "labels": labels,
    });
    let job = api.post("/jobs", &body).await.map_err(refused)?;
    jobs::finish(api, &text(&job, "id")?, arguments).await
}
