//! Results in Harbor's own layout: the documents of a job directory and of its trial directories.
//!
//! Harbor's models and viewer read them; what they do not know stands below `proctor`.

mod config;

use std::collections::BTreeMap;

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    HARBOR_VERSION,
    job::{AgentEntry, JobConfig, TaskPath, Where},
    metrics::Metric,
    rewards::Rewards,
};

/// What the environments of exported trials are called.
const ENVIRONMENT: &str = "proctor:Box";
/// The data set of trials that belong to none.
const NO_DATASET: &str = "adhoc";

/// A job as it is exported.
#[derive(Clone, Debug)]
pub struct JobRecord {
    /// Its id, as a UUID.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Its file.
    pub config: JobConfig,
    /// When it was made.
    pub started_at: Timestamp,
    /// When it ended, if it has.
    pub finished_at: Option<Timestamp>,
    /// How many trials are planned.
    pub planned: u64,
    /// The trials that have ended, superseded ones among them.
    pub trials: Vec<TrialRecord>,
}

/// A trial as it is exported: one execution.
#[derive(Clone, Debug)]
pub struct TrialRecord {
    /// Its id, as a UUID.
    pub id: String,
    /// What it is called; its directory too.
    pub name: String,
    /// Its task.
    pub task: TaskRecord,
    /// Its agent, as the job file has it.
    pub agent: AgentEntry,
    /// The agent's version.
    pub agent_version: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When its agent began.
    pub agent_began_at: Option<Timestamp>,
    /// When its verifier began and ended.
    pub verified: Option<(Timestamp, Timestamp)>,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Its rewards, if it was verified.
    pub rewards: Option<Rewards>,
    /// What went wrong.
    pub exception: Option<ExceptionRecord>,
    /// Its steps, if its task has any.
    pub steps: Vec<StepRecord>,
    /// What only Proctor knows.
    pub proctor: ProctorRecord,
}

/// The task of a trial.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// What it is called.
    pub name: String,
    /// Harbor's digest of it, in hexadecimal.
    pub digest: String,
    /// Where it came from.
    pub from: Where,
    /// The data set that it is from.
    pub source: Option<String>,
    /// Whether its verifier has a box of its own.
    pub is_separate: bool,
}

/// What went wrong in a trial or a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExceptionRecord {
    /// What it is called.
    pub name: String,
    /// What happened.
    pub message: String,
    /// When.
    pub at: Timestamp,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// What it is called.
    pub name: String,
    /// Its rewards, if it was verified.
    pub rewards: Option<Rewards>,
    /// What went wrong.
    pub exception: Option<ExceptionRecord>,
    /// When its agent began and ended.
    pub agent: Option<(Timestamp, Timestamp)>,
    /// When its verifier began and ended.
    pub verifier: Option<(Timestamp, Timestamp)>,
}

/// What only Proctor knows of a trial.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProctorRecord {
    /// The scenario run.
    pub scenario_run_id: Option<String>,
    /// Which attempt of its agent at its task it belongs to.
    pub attempt: u32,
    /// Which retry of that attempt it is; the first try is none.
    pub retry: u32,
    /// Where its verifier ran.
    pub integrity: Option<String>,
    /// The digest of its task.
    pub digest: String,
    /// The trial that was run because this one failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

impl JobRecord {
    /// The trials that count: the last try of each attempt.
    fn counted(&self) -> impl Iterator<Item = &TrialRecord> {
        let trials = self.trials.iter();
        trials.filter(|trial| trial.proctor.superseded_by.is_none())
    }

    /// The job's `config.json`.
    pub fn config(&self) -> Value {
        config::of_job(&self.name, &self.config)
    }

    /// The job's `result.json`.
    pub fn result(&self) -> Value {
        let mut evals: BTreeMap<String, Vec<&TrialRecord>> = BTreeMap::new();
        for trial in self.counted() {
            evals.entry(trial.eval_key()).or_default().push(trial);
        }
        let metrics = match &self.config.metrics[..] {
            [] => vec![Metric::Mean],
            named => named.to_vec(),
        };
        let evals: Map<String, Value> = evals
            .into_iter()
            .map(|(key, trials)| (key, stats(&trials, &metrics)))
            .collect();
        let completed = self.counted().count();
        let errored = self.counted().filter(|trial| trial.exception.is_some());
        let cancelled = self.counted().filter(|trial| {
            let exception = trial.exception.as_ref();
            exception.is_some_and(|exception| exception.name == "CancelledError")
        });
        let planned = usize::try_from(self.planned).unwrap_or(usize::MAX);
        json!({
            "id": self.id,
            "started_at": self.started_at,
            "updated_at": self.finished_at.unwrap_or(self.started_at),
            "finished_at": self.finished_at,
            "n_total_trials": self.planned,
            "stats": {
                "n_completed_trials": completed,
                "n_errored_trials": errored.count(),
                "n_running_trials": 0,
                "n_pending_trials": planned.saturating_sub(completed),
                "n_cancelled_trials": cancelled.count(),
                "n_retries": self.trials.len() - completed,
                "evals": evals,
            },
        })
    }

    /// The job's `lock.json`.
    pub fn lock(&self) -> Value {
        let trials = self.counted().map(|trial| trial.lock(&self.config));
        json!({
            "schema_version": 3,
            "created_at": self.started_at,
            "harbor": {"version": HARBOR_VERSION},
            "n_concurrent_trials": self.config.trials_at_once,
            "retry": config::retry(&self.config.retry),
            "trials": trials.collect::<Vec<_>>(),
        })
    }
}

impl TrialRecord {
    /// What agents are told apart by in the numbers of a job.
    fn eval_key(&self) -> String {
        let dataset = self.task.source.as_deref().unwrap_or(NO_DATASET);
        let name = &self.agent.name;
        match &self.agent.model_name {
            Some(model) => format!("{name}__{model}__{dataset}"),
            None => format!("{name}__{dataset}"),
        }
    }

    /// The trial's `config.json`.
    pub fn config(&self, job: &JobRecord) -> Value {
        let mut document = config::of_trial(&self.agent, &job.config);
        document["task"] = self.task.config();
        document["trial_name"] = json!(self.name);
        document["trials_dir"] = json!(format!("jobs/{}", job.name));
        document["job_id"] = json!(job.id);
        document
    }

    /// The trial's `result.json`.
    pub fn result(&self, job: &JobRecord) -> Value {
        let timing = |times: Option<(Timestamp, Timestamp)>| {
            times.map(|(from, to)| json!({"started_at": from, "finished_at": to}))
        };
        let agent_ended = self.verified.map_or(self.finished_at, |(from, _)| from);
        let agent = self.agent_began_at.map(|from| (from, agent_ended));
        let setup_ended = self.agent_began_at.unwrap_or(agent_ended);
        let steps = (!self.steps.is_empty()).then(|| {
            let steps = self.steps.iter().map(|step| {
                json!({
                    "step_name": step.name,
                    "verifier_result": step.rewards.as_ref().map(|rewards| json!({"rewards": rewards})),
                    "exception_info": step.exception.as_ref().map(ExceptionRecord::info),
                    "agent_execution": timing(step.agent),
                    "verifier": timing(step.verifier),
                })
            });
            steps.collect::<Vec<_>>()
        });
        let mode = match (self.steps.is_empty(), self.task.is_separate) {
            (false, _) => None,
            (true, true) => Some("separate"),
            (true, false) => Some("shared"),
        };
        json!({
            "id": self.id,
            "task_name": self.task.name,
            "trial_name": self.name,
            "trial_uri": format!("proctor:{}/{}", job.name, self.name),
            "task_id": self.task.id(),
            "source": self.task.source,
            "task_checksum": self.task.digest,
            "config": self.config(job),
            "agent_info": {
                "name": self.agent.name,
                "version": self.agent_version,
                "model_info": self.agent.model_name.as_deref().map(model_info),
            },
            "verifier_result": self.rewards.as_ref().map(|rewards| json!({"rewards": rewards})),
            "verifier_environment_mode": mode,
            "exception_info": self.exception.as_ref().map(ExceptionRecord::info),
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "environment_setup": timing(Some((self.started_at, setup_ended))),
            "agent_execution": timing(agent),
            "verifier": timing(self.verified),
            "step_results": steps,
            "proctor": self.proctor,
        })
    }

    /// The trial's `lock.json`.
    pub fn lock(&self, job: &JobConfig) -> Value {
        let mut document = config::of_trial(&self.agent, job);
        document["schema_version"] = json!(2);
        document["task"] = self.task.lock();
        // A lock names files by their digests; these have none.
        if let Value::Object(members) = &mut document {
            members.remove("extra_instructions");
            members.remove("artifacts");
        }
        document
    }

    /// The trial's `trial.log`: what happened when.
    pub fn log(&self) -> String {
        let mut lines = vec![(self.started_at, "the trial began".to_owned())];
        if let Some(at) = self.agent_began_at {
            lines.push((at, format!("the agent {} began", self.agent.name)));
        }
        for step in &self.steps {
            if let Some((from, _)) = step.agent {
                lines.push((from, format!("step {} began", step.name)));
            }
        }
        if let Some((from, to)) = self.verified {
            lines.push((from, "the verifier began".to_owned()));
            lines.push((to, "the verifier ended".to_owned()));
        }
        if let Some(exception) = &self.exception {
            let ExceptionRecord { name, message, at } = exception;
            lines.push((*at, format!("{name}: {message}")));
        }
        lines.push((self.finished_at, "the trial ended".to_owned()));
        lines.sort_by_key(|(at, _)| *at);
        lines
            .iter()
            .map(|(at, what)| format!("{at} {what}\n"))
            .collect()
    }
}

impl ExceptionRecord {
    /// As the results have it.
    fn info(&self) -> Value {
        json!({
            "exception_type": self.name,
            "exception_message": self.message,
            "exception_traceback": self.text(),
            "occurred_at": self.at,
        })
    }

    /// The text of `exception.txt`.
    pub fn text(&self) -> String {
        format!("{}: {}\n", self.name, self.message)
    }
}

impl TaskRecord {
    fn config(&self) -> Value {
        let mut document = self.id();
        document["source"] = json!(self.source);
        document
    }

    fn id(&self) -> Value {
        match &self.from {
            Where::Git { url, commit, below } => {
                json!({"git_url": url, "git_commit_id": commit, "path": below})
            }
            Where::Path(path) => json!({"path": path.written()}),
            Where::Registry { name, .. } => json!({"path": name}),
        }
    }

    fn lock(&self) -> Value {
        let mut document = self.config();
        document["name"] = json!(self.name);
        document["digest"] = json!(format!("sha256:{}", self.digest));
        document["type"] = json!(match self.from {
            Where::Git { .. } => "git",
            Where::Path(_) | Where::Registry { .. } => "local",
        });
        document
    }
}

/// A path as results tell where a task came from.
pub fn local(path: &str) -> Where {
    Where::Path(TaskPath::of(path))
}

/// A model by its name, which may name its provider first.
fn model_info(model: &str) -> Value {
    match model.split_once('/') {
        Some((provider, name)) => json!({"name": name, "provider": provider}),
        None => json!({"name": model}),
    }
}

/// The numbers of an agent with a data set.
fn stats(trials: &[&TrialRecord], metrics: &[Metric]) -> Value {
    let rewards: Vec<Option<Rewards>> = trials.iter().map(|one| one.rewards.clone()).collect();
    let mut by_value: BTreeMap<&String, BTreeMap<String, Vec<&String>>> = BTreeMap::new();
    let mut by_exception: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    for trial in trials {
        for (key, value) in trial.rewards.iter().flatten() {
            let values = by_value.entry(key).or_default();
            let names = values.entry(json!(value).to_string()).or_default();
            names.push(&trial.name);
        }
        if let Some(exception) = &trial.exception {
            let names = by_exception.entry(&exception.name).or_default();
            names.push(&trial.name);
        }
    }
    json!({
        "n_trials": rewards.iter().flatten().count(),
        "n_errors": trials.iter().filter(|trial| trial.exception.is_some()).count(),
        "metrics": metrics.iter().map(|metric| metric.named(&rewards)).collect::<Vec<_>>(),
        "reward_stats": by_value,
        "exception_stats": by_exception,
    })
}

#[cfg(test)]
mod tests;
