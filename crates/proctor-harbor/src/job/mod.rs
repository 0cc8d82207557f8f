//! Job files: which agents take which tasks, how often, and with which limits.
//!
//! A file is YAML or JSON. Each key of Harbor's is done, or has no effect here and is a warning, or is refused with what to do instead;
//! a key that nobody knows is a warning with the nearest known one.

mod agent;
mod read;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::{
    agent::AgentEntry,
    read::{LONGEST_FILE, MOST_NODES, document},
    source::{DatasetEntry, NoTasks, TaskEntry, TaskPath, Where},
};
use crate::{
    metrics::Metric,
    task::Artifact,
    timeouts::{Multipliers, RetryWait},
};

/// How many trials go on at once unless the file says otherwise.
pub const USUAL_TRIALS: u32 = 4;

/// A job file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobConfig {
    /// What the job is called.
    pub job_name: Option<String>,
    /// How often each agent takes each task: independent repeats, not retries.
    pub attempts: u32,
    /// The factors of time limits.
    pub multipliers: Multipliers,
    /// How many trials go on at once.
    pub trials_at_once: u32,
    /// When a trial is tried again.
    pub retry: RetryRules,
    /// What the job says of the boxes.
    pub environment: EnvironmentRules,
    /// What the job says of verifiers.
    pub verifier: VerifierRules,
    /// The numbers that are computed over all trials.
    pub metrics: Vec<Metric>,
    /// The agents, in order.
    pub agents: Vec<AgentEntry>,
    /// Data sets, in order.
    pub datasets: Vec<DatasetEntry>,
    /// Single tasks, in order.
    pub tasks: Vec<TaskEntry>,
    /// What is taken out of every box.
    pub artifacts: Vec<Artifact>,
    /// What is added to every instruction.
    pub extra_instructions: Vec<String>,
    /// Our own settings.
    pub proctor: ProctorRules,
}

/// Our own settings of a job, below `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProctorRules {
    /// Whether a data set with invalid tasks is refused.
    pub strict_datasets: bool,
    /// Where verifiers that share the agent's box run.
    pub verifier: SharedVerifier,
    /// Whether the disk of every trial is kept, so that it can be verified again.
    #[serde(default)]
    pub keeps_disks: bool,
}

impl Default for ProctorRules {
    fn default() -> Self {
        Self {
            strict_datasets: true,
            verifier: SharedVerifier::Sealed,
            keeps_disks: false,
        }
    }
}

/// Where a verifier that shares the agent's box runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedVerifier {
    /// In the agent's box, in a process tree of its own that nothing of the agent's can see.
    #[default]
    Sealed,
    /// In a fresh box on the agent's disk.
    Clone,
    /// In a clean box with nothing of the agent's but its artifacts and working directory.
    Strict,
}

impl SharedVerifier {
    /// All of them by their names.
    pub const ALL: [(&'static str, Self); 3] = [
        ("sealed", Self::Sealed),
        ("clone", Self::Clone),
        ("strict", Self::Strict),
    ];

    /// The word in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Clone => "clone",
            Self::Strict => "strict",
        }
    }
}

/// When a trial is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryRules {
    /// How often.
    pub most: u32,
    /// After these exceptions only, if any are named.
    pub include: Option<BTreeSet<String>>,
    /// Never after these.
    pub exclude: BTreeSet<String>,
    /// How long to wait before.
    pub wait: RetryWait,
}

impl RetryRules {
    /// Whether an exception of this name is a reason to try again.
    pub fn applies_to(&self, exception: &str) -> bool {
        let is_included = self
            .include
            .as_ref()
            .is_none_or(|include| include.contains(exception));
        is_included && !self.exclude.contains(exception)
    }
}

/// What a job says of the boxes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentRules {
    /// Processors instead of the task's.
    pub cpus: Option<f64>,
    /// Mebibytes of memory instead of the task's.
    pub memory_mb: Option<u64>,
    /// Mebibytes of disk instead of the task's.
    pub storage_mb: Option<u64>,
    /// Environment variables over the task's, with templates.
    pub env: BTreeMap<String, String>,
    /// Whether environments are built anew.
    pub force_build: bool,
    /// Hosts that every phase may reach besides.
    pub hosts: Vec<String>,
}

/// What a job says of verifiers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifierRules {
    /// Seconds instead of the task's; 0 is as good as nothing.
    pub timeout: Option<f64>,
    /// The most seconds.
    pub most: Option<f64>,
    /// Environment variables over the task's, with templates.
    pub env: BTreeMap<String, String>,
    /// Whether nothing is verified.
    pub is_disabled: bool,
    /// Which of their logs are kept, if not all.
    pub include_logs: Vec<String>,
    /// Which of those are not.
    pub exclude_logs: Vec<String>,
    /// Hosts that they may reach besides.
    pub hosts: Vec<String>,
}

#[cfg(test)]
mod tests;
