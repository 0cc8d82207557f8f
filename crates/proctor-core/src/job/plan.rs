//! What a job is to do: which agents take which scenarios, and how hard it tries. A plan never changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{rounds::PlannedRounds, tries::Failure};
use crate::{
    agent::AgentManifest,
    id::kinds::{AgentId, BenchmarkId, RunId, TaskId},
    run::Pinned,
};

/// How long an agent may take that has no limit of its own.
const USUAL_AGENT_TIME: Duration = Duration::from_secs(60 * 60);
/// How long an agent may take at most, whatever was asked for.
pub const LONGEST_AGENT_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What a job is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPlan {
    /// Where its scenarios come from.
    pub source: JobSource,
    /// The frozen definition that every agent takes.
    pub pinned: Pinned,
    /// The scenarios of the definition, in order.
    pub scenarios: Vec<PlannedScenario>,
    /// The agents, in order; each has a run of its own.
    pub agents: Vec<JobAgent>,
    /// How the work is organized.
    pub orchestration: Orchestration,
    /// The rounds that its agents are repeated in, if any are planned. The agents of a round are those whose attempt is its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<PlannedRounds>,
    /// Labels of its runs, by which comparisons and gates find them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Where the scenarios of a job come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobSource {
    /// A benchmark as it stood.
    Benchmark {
        /// Which.
        id: BenchmarkId,
        /// What it was called.
        name: String,
    },
    /// Scenarios that were named one by one.
    Scenarios,
    /// The tasks of a Harbor job file.
    Harbor {
        /// The file as it was sent.
        inline_yaml: String,
        /// What was read from it: a document of whoever carries Harbor jobs out.
        rules: Value,
    },
}

/// A scenario of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedScenario {
    /// Which.
    pub id: TaskId,
    /// What it was called.
    pub name: String,
}

/// An agent of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobAgent {
    /// The run in which it takes the scenarios.
    pub run: RunId,
    /// What it was called by whoever made the job.
    pub name: String,
    /// The registered agent that was named by its id.
    pub agent: Option<AgentId>,
    /// The model it shall use, in the words of whoever made the job.
    pub model: Option<String>,
    /// How long it may take for a scenario, in seconds.
    pub timeout: Option<f64>,
    /// What else was said about it.
    pub kwargs: BTreeMap<String, String>,
    /// Environment variables that it gets.
    pub environment: BTreeMap<String, String>,
    /// Environment variables whose values are secrets, by the secrets' names.
    pub secrets: BTreeMap<String, String>,
    /// What is run.
    pub program: Program,
    /// Which of several independent repeats this is, from 1 on.
    #[serde(default = "first")]
    pub attempt: u32,
    /// The place of its entry in whatever named it: entries that differ in anything are different agents.
    #[serde(default)]
    pub entry: u32,
    /// How it is installed and watched, as its manifest said when the job was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Box<AgentManifest>>,
    /// Which version of a registered agent it is, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many of the entry's trials go on at once, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<NonZeroU32>,
}

const fn first() -> u32 {
    1
}

impl JobAgent {
    /// The script that installs it, if it has one.
    pub fn install(&self) -> Option<&str> {
        self.manifest.as_ref()?.install.as_deref()
    }

    /// The hosts that it reaches while it works, besides those of its task.
    pub fn hosts(&self) -> &[String] {
        self.manifest
            .as_ref()
            .map_or(&[], |manifest| &manifest.hosts)
    }

    /// Whether this is another attempt of the same agent.
    pub fn is_same_agent(&self, other: &Self) -> bool {
        let alike = Self {
            run: other.run,
            attempt: other.attempt,
            ..self.clone()
        };
        *other == alike
    }
}

/// What an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Applies the scenario's reference.
    Oracle,
    /// Does nothing.
    Nop,
    /// A command for a shell in the box.
    Command {
        /// The command.
        command: String,
        /// The registered agent that is put into the box first.
        agent: Option<AgentId>,
    },
}

/// The names of the agents that are built in.
pub const BUILT_IN_AGENTS: [&str; 2] = ["oracle", "nop"];

impl Program {
    /// The built-in agent of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        match name {
            "oracle" => Some(Self::Oracle),
            "nop" | "null" => Some(Self::Nop),
            _ => None,
        }
    }
}

/// How the work of a job is organized; what was not said has its usual value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Orchestration {
    /// How many scenarios are taken at once, over all agents.
    pub trials_at_once: Option<NonZeroU32>,
    /// How often a scenario that failed or timed out is tried again.
    pub retries: Option<u32>,
    /// By what the time limit grows with each retry.
    pub timeout_multiplier: Option<f64>,
    /// Whether the client wants to hear little of it.
    pub quiet: Option<bool>,
    /// In which order trials begin.
    #[serde(default)]
    pub order: TrialOrder,
    /// After which exceptions a trial is tried again; after all of them without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_rules: Option<RetryRules>,
    /// Whether only what is void is tried again, and not what the agent failed at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retries_void_only: bool,
}

/// In which order trials begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOrder {
    /// One agent after the other.
    #[default]
    Agents,
    /// Attempt after attempt, in each task after task, in each agent after agent.
    Attempts,
}

/// After which exceptions a trial is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryRules {
    /// After these only, if any are named.
    pub include: Option<BTreeSet<String>>,
    /// Never after these.
    pub exclude: BTreeSet<String>,
}

impl RetryRules {
    fn apply_to(&self, exception: &str) -> bool {
        let is_included = self
            .include
            .as_ref()
            .is_none_or(|names| names.contains(exception));
        is_included && !self.exclude.contains(exception)
    }
}

impl Orchestration {
    /// How many scenarios are taken at once.
    pub fn trials_at_once(&self) -> usize {
        let trials = self.trials_at_once.map_or(1, NonZeroU32::get);
        usize::try_from(trials).unwrap_or(usize::MAX)
    }

    /// Whether a failure is a reason to try again.
    pub fn retries_after(&self, failure: &Failure) -> bool {
        if self.retries_void_only {
            // What its author broke is as broken the next time.
            let fault = failure.fault();
            return fault.cause.is_void() && !fault.is_setup();
        }
        match (&self.retry_rules, &failure.exception) {
            (Some(rules), Some(exception)) => rules.apply_to(exception),
            (Some(_), None) | (None, _) => true,
        }
    }

    /// How often a scenario that failed or timed out is tried again.
    pub fn retries(&self) -> usize {
        usize::try_from(self.retries.unwrap_or(0)).unwrap_or(usize::MAX)
    }
}

impl JobPlan {
    /// How long an agent may take with a scenario that was tried `retry` times before.
    pub fn time_limit(&self, agent: &JobAgent, retry: usize) -> Duration {
        let base = agent.timeout.unwrap_or(USUAL_AGENT_TIME.as_secs_f64());
        let multiplier = self.orchestration.timeout_multiplier.unwrap_or(1.0);
        let retry = i32::try_from(retry).unwrap_or(i32::MAX);
        let seconds = base * multiplier.powi(retry);
        match Duration::try_from_secs_f64(seconds) {
            Ok(limit) => limit.min(LONGEST_AGENT_TIME),
            // Only what is too long cannot be said: what was given is neither negative nor no number.
            Err(_) => LONGEST_AGENT_TIME,
        }
    }

    /// Which attempt at each scenario is planned for the agent at this place: one that is asked for again, all of it the same,
    /// has further attempts.
    pub fn attempt_of(&self, agent: usize) -> u32 {
        let planned = &self.agents[agent];
        let before = self.agents[..agent].iter();
        let same = before.filter(|other| other.is_same_agent(planned)).count();
        u32::try_from(same).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// How many runs are open at once at most: one for each agent, or for each agent of a round.
    pub fn runs_at_once(&self) -> usize {
        match self.rounds {
            None => self.agents.len(),
            Some(_) => self.agents.iter().filter(|one| one.attempt == 1).count(),
        }
    }

    /// The agents as they were asked for: with planned rounds each of them once.
    pub fn asked_for(&self) -> impl Iterator<Item = &JobAgent> {
        let agents = self.agents.iter();
        agents.filter(|agent| self.rounds.is_none() || agent.attempt == 1)
    }

    /// What the agent of an entry is called.
    pub fn name_of(&self, entry: u32) -> &str {
        let mut agents = self.agents.iter();
        let agent = agents.find(|agent| agent.entry == entry);
        agent.map_or("", |agent| agent.name.as_str())
    }

    /// The runs of an entry up to a round, in their order.
    pub fn runs_of(&self, entry: u32, round: u32) -> Vec<RunId> {
        let agents = self.agents.iter();
        let of_entry = agents.filter(|agent| agent.entry == entry && agent.attempt <= round);
        of_entry.map(|agent| agent.run).collect()
    }

    /// The agent that takes its scenarios in this run.
    pub fn agent_of(&self, run: RunId) -> Option<&JobAgent> {
        self.agents.iter().find(|agent| agent.run == run)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::job::board::tests::plan;

    fn limited(timeout: Option<f64>, multiplier: Option<f64>) -> JobPlan {
        let mut plan = plan(1, 1, 0);
        plan.agents[0].timeout = timeout;
        plan.orchestration.timeout_multiplier = multiplier;
        plan
    }

    #[test]
    fn the_limit_grows_with_each_retry() {
        let plan = limited(Some(10.0), Some(1.5));
        let limits: Vec<f64> = (0..3)
            .map(|retry| plan.time_limit(&plan.agents[0], retry).as_secs_f64())
            .collect();
        assert_eq!(limits, [10.0, 15.0, 22.5]);
        let plan = limited(None, None);
        assert_eq!(plan.time_limit(&plan.agents[0], 7), USUAL_AGENT_TIME);
    }

    #[test]
    fn an_agent_that_is_asked_for_again_has_further_attempts() {
        let mut plan = plan(3, 1, 0);
        for agent in &mut plan.agents {
            agent.name = "mine".to_owned();
            agent.entry = 0;
        }
        plan.agents[1].model = Some("m-1".to_owned());
        let attempts: Vec<u32> = (0..3).map(|agent| plan.attempt_of(agent)).collect();
        assert_eq!(attempts, [1, 1, 2]);
    }

    #[test]
    fn built_in_agents_are_found_by_their_names() {
        for name in BUILT_IN_AGENTS {
            assert!(Program::built_in(name).is_some(), "{name}");
        }
        assert_eq!(Program::built_in("Oracle"), None);
    }

    proptest! {
        #[test]
        fn a_limit_is_never_longer_than_the_longest(
            timeout in 0.001f64..1e9, multiplier in 0.001f64..1e9, retry in 0usize..1_000_000,
        ) {
            let plan = limited(Some(timeout), Some(multiplier));
            let limit = plan.time_limit(&plan.agents[0], retry);
            prop_assert!(limit <= LONGEST_AGENT_TIME);
            if multiplier >= 1.0 {
                prop_assert!(limit <= plan.time_limit(&plan.agents[0], retry + 1));
            }
        }
    }
}
