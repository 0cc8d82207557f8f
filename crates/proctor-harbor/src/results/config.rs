//! What a job file says, as Harbor writes it into its results.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ENVIRONMENT;
use crate::{
    job::{AgentEntry, DatasetEntry, JobConfig, RetryRules, TaskEntry, Where},
    task::Artifact,
    template::Template,
};

/// Parts of names whose values must not be shown.
const SENSITIVE: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// A job's configuration.
pub(super) fn of_job(name: &str, job: &JobConfig) -> Value {
    let mut members = common(job);
    let mut set = |name: &str, value: Value| members.insert(name.to_owned(), value);
    set("job_name", json!(name));
    set("jobs_dir", json!("jobs"));
    set("n_attempts", json!(job.attempts));
    set("n_concurrent_trials", json!(job.trials_at_once));
    set("retry", retry(&job.retry));
    let metrics = job.metrics.iter();
    let metrics = metrics.map(|metric| json!({"type": metric.as_str()}));
    set("metrics", metrics.collect());
    set("agents", job.agents.iter().map(agent).collect());
    set("datasets", job.datasets.iter().map(dataset).collect());
    set("tasks", job.tasks.iter().map(task).collect());
    without_nulls(Value::Object(members))
}

/// A trial's configuration, without what names the trial and its task.
pub(super) fn of_trial(entry: &AgentEntry, job: &JobConfig) -> Value {
    let mut members = common(job);
    members.insert("agent".to_owned(), agent(entry));
    without_nulls(Value::Object(members))
}

/// What a job's and a trial's configuration have in common.
fn common(job: &JobConfig) -> Map<String, Value> {
    let mut members = Map::new();
    let mut set = |name: &str, value: Value| members.insert(name.to_owned(), value);
    let factors = &job.multipliers;
    set("timeout_multiplier", json!(factors.all));
    set("agent_timeout_multiplier", json!(factors.agent));
    set("verifier_timeout_multiplier", json!(factors.verifier));
    set("agent_setup_timeout_multiplier", json!(factors.agent_setup));
    let build = json!(factors.environment_build);
    set("environment_build_timeout_multiplier", build);
    let boxes = &job.environment;
    set(
        "environment",
        json!({
            "import_path": ENVIRONMENT,
            "force_build": boxes.force_build,
            "override_cpus": boxes.cpus,
            "override_memory_mb": boxes.memory_mb,
            "override_storage_mb": boxes.storage_mb,
            "env": shown(&boxes.env),
            "extra_allowed_hosts": boxes.hosts,
        }),
    );
    let verifier = &job.verifier;
    set(
        "verifier",
        json!({
            "override_timeout_sec": verifier.timeout,
            "max_timeout_sec": verifier.most,
            "env": shown(&verifier.env),
            "disable": verifier.is_disabled,
            "include_logs": verifier.include_logs,
            "exclude_logs": verifier.exclude_logs,
            "extra_allowed_hosts": verifier.hosts,
        }),
    );
    set("artifacts", job.artifacts.iter().map(artifact).collect());
    set("extra_instructions", json!(job.extra_instructions));
    members
}

/// When trials are tried again.
pub(super) fn retry(rules: &RetryRules) -> Value {
    json!({
        "max_retries": rules.most,
        "include_exceptions": rules.include,
        "exclude_exceptions": rules.exclude,
        "wait_multiplier": rules.wait.multiplier,
        "min_wait_sec": rules.wait.least,
        "max_wait_sec": rules.wait.most,
    })
}

fn agent(entry: &AgentEntry) -> Value {
    json!({
        "name": entry.name,
        "model_name": entry.model_name,
        "override_timeout_sec": entry.timeout,
        "override_setup_timeout_sec": entry.setup_timeout,
        "max_timeout_sec": entry.most,
        "kwargs": entry.kwargs,
        "env": shown(&entry.env),
        "n_concurrent": entry.at_once,
        "concurrency_group": entry.group,
        "extra_allowed_hosts": entry.hosts,
        "include_logs": entry.include_logs,
        "exclude_logs": entry.exclude_logs,
        "mcp_servers": entry.mcp_servers,
        "resume_trajectory": entry.resumes,
    })
}

fn artifact(artifact: &Artifact) -> Value {
    json!({
        "source": artifact.source,
        "destination": artifact.destination,
        "exclude": artifact.exclude,
        "service": artifact.service,
    })
}

fn task(entry: &TaskEntry) -> Value {
    let mut document = match &entry.from {
        Where::Path(path) => json!({"path": path.written()}),
        Where::Git { url, commit, below } => {
            json!({"git_url": url, "git_commit_id": commit, "path": below})
        }
        Where::Registry { name, version, .. } => json!({"name": name, "ref": version}),
    };
    document["source"] = json!(entry.source);
    document
}

fn dataset(entry: &DatasetEntry) -> Value {
    let mut document = match &entry.from {
        Where::Path(path) => json!({"path": path.written()}),
        Where::Git { url, commit, below } => {
            let path = (!below.is_empty()).then_some(below);
            json!({"repo": url, "ref": commit, "path": path})
        }
        Where::Registry {
            name,
            version,
            registry,
        } => {
            let registry = registry.as_ref().map(|path| path.written());
            json!({"name": name, "version": version, "registry_path": registry})
        }
    };
    let patterns = |patterns: &[String]| (!patterns.is_empty()).then(|| json!(patterns));
    document["task_names"] = json!(patterns(&entry.include));
    document["exclude_task_names"] = json!(patterns(&entry.exclude));
    document["n_tasks"] = json!(entry.most);
    document
}

/// Variables as results may show them: a value whose name says that it is secret is the name of a variable.
fn shown(variables: &BTreeMap<String, String>) -> Value {
    let shown = variables.iter().map(|(name, value)| {
        let upper = name.to_uppercase();
        let is_sensitive = SENSITIVE.iter().any(|part| upper.contains(part));
        let value = match is_sensitive && Template::of(value).is_none() {
            true => format!("${{{name}}}"),
            false => value.clone(),
        };
        (name.clone(), Value::String(value))
    });
    Value::Object(shown.collect())
}

/// The same without members that say nothing.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            let kept = kept.map(|(name, value)| (name, without_nulls(value)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}
