//! What agents did in task runs that failed, for reports: the events of their worlds, or what they printed in their boxes.

use std::{collections::BTreeMap, io::Read as _};

use proctor_benchmarks::Api;
use proctor_core::id::{Dialect, kinds::TaskRunKind};

use crate::{
    commands::show::either,
    report::{
        answers::{Attempt, Results},
        junit::told_of,
        task_run,
    },
};

/// For how many tasks a log is fetched: a report of a run that failed as a whole must not ask for thousands.
const MOST: usize = 100;
/// How much of a log is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// The logs of tasks that failed, by their task runs. What cannot be read is left out: a report without a log is better than none.
pub(super) async fn of_failures(api: &Api, runs: &[(String, Results)]) -> BTreeMap<String, String> {
    let mut tasks: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
    let agents = runs.iter().flat_map(|(_, results)| &results.agents);
    for attempt in agents.flat_map(|agent| &agent.attempts) {
        tasks.entry(&attempt.task).or_default().push(attempt);
    }
    let failed = tasks.into_values().filter_map(told_of);
    let mut logs = BTreeMap::new();
    for id in failed.take(MOST) {
        if let Some(log) = log_of(api, id).await {
            logs.insert(id.to_owned(), log);
        }
    }
    logs
}

async fn log_of(api: &Api, id: &str) -> Option<String> {
    let events = api.get(&format!("/task-runs/{id}/events?limit=100")).await;
    let events = events
        .ok()
        .and_then(|page| page["data"].as_array().cloned());
    match events {
        Some(events) if !events.is_empty() => {
            Some(events.iter().rev().map(task_run::event).collect())
        }
        _ => printed(api, id).await,
    }
}

/// What an agent printed in its box.
async fn printed(api: &Api, id: &str) -> Option<String> {
    let id = either::<TaskRunKind>(id).ok()?.wire(Dialect::Runloop);
    let path = format!("/v1/scenarios/runs/{id}/download_logs");
    let archive = api.download(&path).await.ok()?;
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).ok()?;
    let log = archive.by_name(&format!("{id}_agent.log")).ok()?;
    let mut bytes = Vec::new();
    log.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.is_empty()).then_some(text)
}
