//! Whether runs are of the same exam: the same frozen tasks, the same rubric, the same limits. What differs is named.

use std::collections::BTreeMap;

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Task},
    id::kinds::TaskId,
    run::Run,
};
use serde_json::Value;

use super::Side;
use crate::{catalog::Prepared, engine::Engine, error::EngineError};

/// How many tasks that differ are named.
const NAMED: usize = 5;

/// What a run was taken under, as far as it decides whether its score can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conditions {
    /// The frozen definition.
    pub(super) digest: Digest,
    /// What is checked.
    pub(super) rubric: Digest,
    /// Limits of time and resources that were said when the run was started, by name.
    pub(super) envelope: BTreeMap<String, Value>,
}

impl Engine {
    /// What a run was taken under.
    pub(super) async fn conditions(&self, run: &Run) -> Result<Conditions, EngineError> {
        let prepared = self.definition_of(run).await?;
        let mut envelope = BTreeMap::new();
        // Of what can be said of a box, these are what an agent may use up.
        let launch = serde_json::to_value(&run.particulars.profile.launch).unwrap_or_default();
        for limit in [
            "resource_size_request",
            "custom_cpu_cores",
            "custom_gb_memory",
            "custom_disk_size",
            "keep_alive_time_seconds",
            "architecture",
            "network_policy_id",
        ] {
            if let Some(value) = launch.get(limit).filter(|value| !value.is_null()) {
                envelope.insert(limit.to_owned(), value.clone());
            }
        }
        if let Some(job) = run.job
            && let Some(job) = self.store().job(job).await?
        {
            let plan = &job.value.plan;
            if let Some(seconds) = plan.agent_of(run.id).and_then(|agent| agent.timeout) {
                envelope.insert("timeout_seconds".to_owned(), seconds.into());
            }
            if let Some(multiplier) = plan.orchestration.timeout_multiplier {
                envelope.insert("timeout_multiplier".to_owned(), multiplier.into());
            }
        }
        Ok(Conditions {
            digest: run.pinned.digest,
            rubric: prepared.rubric_digest(),
            envelope,
        })
    }

    /// Everything in which the runs of one side differ from each other, or the two sides; nothing if they can be compared.
    pub(super) async fn differences(
        &self,
        a: Option<&Side>,
        b: &Side,
    ) -> Result<Vec<String>, EngineError> {
        let Some(first) = b.runs.first() else {
            return Ok(Vec::new());
        };
        let wanted = self.conditions(first).await?;
        let others = a.into_iter().flat_map(|a| &a.runs).chain(&b.runs[1..]);
        let mut found: Vec<String> = Vec::new();
        for run in others {
            let here = self.conditions(run).await?;
            let mut said = self.versions_differ(run, first).await?;
            if here.rubric != wanted.rubric {
                said.push(rubrics_differ(
                    &*self.definition_of(run).await?,
                    &*self.definition_of(first).await?,
                ));
            }
            said.extend(envelopes_differ(&here.envelope, &wanted.envelope));
            let said = said
                .into_iter()
                .map(|what| format!("{what} ({} and {})", run.id, first.id));
            // Several runs of one side mostly differ in the same way.
            found.extend(said.take(3));
        }
        Ok(found)
    }

    async fn versions_differ(&self, one: &Run, other: &Run) -> Result<Vec<String>, EngineError> {
        if one.pinned.digest == other.pinned.digest {
            return Ok(Vec::new());
        }
        let (before, after) = (
            self.definition_of(one).await?,
            self.definition_of(other).await?,
        );
        let names = (
            self.version_name(one).await?,
            self.version_name(other).await?,
        );
        let what = match one.pinned.benchmark == other.pinned.benchmark {
            true => "benchmark version",
            false => "benchmark",
        };
        let changes = tasks_differ(&before.benchmark, &after.benchmark);
        Ok(vec![format!(
            "{what}: {} and {}{changes}",
            names.0, names.1
        )])
    }

    /// What people call the version that a run is of.
    pub(crate) async fn version_name(&self, run: &Run) -> Result<String, EngineError> {
        let prepared = self.definition_of(run).await?;
        let version = match run.pinned.version {
            None => None,
            Some(version) => {
                let benchmark = run.pinned.benchmark;
                self.store().benchmark_version(benchmark, version).await?
            }
        };
        Ok(match version {
            Some(version) => format!("{}@{}", version.slug.as_str(), version.version),
            None => {
                let digest = run.pinned.digest.hex();
                format!("{} ({})", prepared.benchmark.name, &digest[..12])
            }
        })
    }
}

/// Which tasks two definitions do not share.
fn tasks_differ(before: &Benchmark, after: &Benchmark) -> String {
    let of = |benchmark: &Benchmark| -> BTreeMap<TaskId, Task> {
        let tasks = benchmark.tasks.iter();
        tasks.map(|task| (task.id, task.clone())).collect()
    };
    let (before, after) = (of(before), of(after));
    let only = |one: &BTreeMap<TaskId, Task>, other: &BTreeMap<TaskId, Task>| -> Vec<String> {
        let tasks = one.values();
        let tasks = tasks.filter(|task| !other.contains_key(&task.id));
        tasks.map(|task| task.name.clone()).collect()
    };
    let changed: Vec<String> = before
        .values()
        .filter(|task| after.get(&task.id).is_some_and(|other| other != *task))
        .map(|task| task.name.clone())
        .collect();
    let said: Vec<String> = [
        ("changed", changed),
        ("only in the first", only(&before, &after)),
        ("only in the second", only(&after, &before)),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(how, names)| format!("tasks {how}: {}", listed(&names)))
    .collect();
    match said.is_empty() {
        true => ", with the same tasks and other settings".to_owned(),
        false => format!(", {}", said.join(", ")),
    }
}

/// The first of several names, and how many more there are.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>();
    match names.len().checked_sub(NAMED) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn rubrics_differ(before: &Prepared, after: &Prepared) -> String {
    let tasks = before.benchmark.tasks.iter();
    let names: Vec<String> = tasks
        .filter(|task| {
            let other = after.task(task.id).ok();
            other.is_some_and(|(other, _)| other.criteria != task.criteria)
        })
        .map(|task| task.name.clone())
        .collect();
    match names.is_empty() {
        true => "rubric: the criteria of different tasks".to_owned(),
        false => format!("rubric: other criteria in {}", listed(&names)),
    }
}

fn envelopes_differ(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>) -> Vec<String> {
    let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let said = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), Value::to_string);
    names
        .into_iter()
        .filter(|name| one.get(*name) != other.get(*name))
        .map(|name| {
            let (one, other) = (said(one.get(name)), said(other.get(name)));
            format!("resource envelope: {name} is {one} and {other}")
        })
        .collect()
}
