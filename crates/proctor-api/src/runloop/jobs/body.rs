//! What clients say about a job that is to be made.

use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    id::{
        Dialect,
        kinds::{OrganizationId, SecretId},
    },
    job::{LONGEST_AGENT_TIME, Orchestration, ROUNDS},
    policy::Policy,
    reader::Wording,
};
use proctor_engine::{
    harbor::NewHarborJob,
    jobs::{JobOf, NewJob, NewJobAgent, NewRounds, usual_policy},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    extract::{Checks, shortened, texts},
    runloop::{
        ids,
        profile::{check_secrets, check_variables},
    },
    state::ApiState,
};

const LONGEST_NAME: usize = 500;
const MOST_AGENTS: usize = 100;
const MOST_TRIALS_AT_ONCE: i64 = 1000;
const MOST_RETRIES: i64 = 100;
const LARGEST_MULTIPLIER: f64 = 1000.0;
/// All of what is said about an agent must fit into its environment.
const LONGEST_KWARGS: usize = 64 << 10;

/// A job to be made.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BenchmarkJobCreateParameters {
    /// What people call it; named after what it runs if absent.
    name: Option<String>,
    /// What it runs.
    #[schema(required)]
    spec: Option<JobSpecBody>,
    /// An extension of ours: in how many rounds at most every agent takes every scenario, from 2 to 20. After each from the second on the policy is
    /// looked at, and the job stops by itself when it is settled.
    #[schema(minimum = 2, maximum = 20)]
    rounds: Option<i64>,
    /// An extension of ours: what is looked at after each round, the content of a `gate.toml` as JSON without a baseline, which is the first agent. If
    /// absent, no further agent is worse than the first by more than five points on these very tasks.
    #[schema(value_type = Option<Object>)]
    policy: Option<Value>,
}

/// What a job runs: a benchmark, or scenarios, or a Harbor job. Exactly one of `benchmark_id`, `scenario_ids` and
/// `inline_yaml` says which.
#[derive(Deserialize, ToSchema)]
pub(crate) struct JobSpecBody {
    /// benchmark, scenarios or harbor.
    #[serde(rename = "type")]
    #[schema(example = "benchmark")]
    kind: Option<String>,
    /// Of a benchmark: which.
    benchmark_id: Option<String>,
    /// Of scenarios: which.
    scenario_ids: Option<Vec<String>>,
    /// Of a Harbor job: its job file, as YAML or JSON. Agents and everything else of the job stand there.
    inline_yaml: Option<String>,
    /// Who takes the scenarios.
    agent_configs: Option<Vec<JobAgentConfig>>,
    orchestrator_config: Option<JobOrchestratorConfig>,
}

/// An agent of a job.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
pub(crate) struct JobAgentConfig {
    /// An agent that is registered at `/v1/agents`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent_id: Option<String>,
    /// `oracle` (applies the scenario's reference), `nop` (does nothing), or what a command is called.
    #[schema(value_type = String, required, example = "oracle")]
    pub(super) name: Option<String>,
    /// The model it shall use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model_name: Option<String>,
    /// How long it may take for a scenario; an hour if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeout_seconds: Option<f64>,
    /// What else is said about it; `command` is what is run in the box.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default, deserialize_with = "texts")]
    pub(super) kwargs: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent_environment: Option<JobAgentEnvironment>,
    /// job_agent.
    #[serde(rename = "type")]
    #[schema(example = "job_agent")]
    pub(super) kind: Option<String>,
}

/// The environment of an agent.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
pub(crate) struct JobAgentEnvironment {
    /// Environment variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default, deserialize_with = "texts")]
    pub(super) environment_variables: Option<BTreeMap<String, String>>,
    /// Environment variables with the names or ids of their secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default, deserialize_with = "texts")]
    pub(super) secrets: Option<BTreeMap<String, String>>,
}

/// How the work of a job is organized.
#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
pub(crate) struct JobOrchestratorConfig {
    /// How many scenarios are taken at once, over all agents; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) n_concurrent_trials: Option<i64>,
    /// How often a scenario that failed or timed out is tried again; 0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) n_attempts: Option<i64>,
    /// By what the time limit grows with each retry; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeout_multiplier: Option<f64>,
    /// Whether the client wants to hear little of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quiet: Option<bool>,
}

impl BenchmarkJobCreateParameters {
    /// The job that is meant; everything that is wrong with it is named at once.
    pub(super) async fn read(
        self,
        state: &ApiState,
        organization: OrganizationId,
    ) -> Result<WantedJob, ApiError> {
        let mut checks = Checks::default();
        let name = checks.optional_text("name", self.name, 0..=LONGEST_NAME);
        let Some(spec) = self.spec else {
            let message = "is required: exactly one of a benchmark, scenarios or a Harbor job";
            return Err(ApiError::field("spec", message));
        };
        let rounds = read_rounds(&mut checks, self.rounds, self.policy);
        let of = spec.of(&mut checks);
        if let Some(SpecOf::Harbor(inline_yaml)) = of {
            for (member, is_given) in [
                ("agent_configs", spec.agent_configs.is_some()),
                ("orchestrator_config", spec.orchestrator_config.is_some()),
            ] {
                if is_given {
                    let message = "has no place in a Harbor job: its inline_yaml says all of it";
                    checks.refuse(&format!("spec.{member}"), message);
                }
            }
            checks.finish()?;
            return Ok(WantedJob::Harbor(NewHarborJob {
                organization,
                name: name.filter(|name| !name.trim().is_empty()),
                inline_yaml,
            }));
        }
        if of.is_none() {
            // The rest means nothing without it.
            checks.finish()?;
            checks = Checks::default();
        }
        let given = spec.agent_configs.unwrap_or_default();
        if given.is_empty() || given.len() > MOST_AGENTS {
            let message = format!("must have from 1 to {MOST_AGENTS} agents");
            checks.refuse("spec.agent_configs", message);
        }
        let mut agents = Vec::with_capacity(given.len());
        for (number, agent) in given.into_iter().enumerate() {
            let place = format!("spec.agent_configs.{number}");
            let mut agent = agent.read(&mut checks, &place);
            name_secrets(state, organization, &mut agent.secrets).await?;
            agents.push(agent);
        }
        let orchestration = match spec.orchestrator_config {
            Some(config) => config.read(&mut checks),
            None => Orchestration::default(),
        };
        checks.finish()?;
        let of = match of {
            Some(SpecOf::Job(of)) => of,
            Some(SpecOf::Harbor(_)) | None => {
                return Err(ApiError::field("spec", "says nothing to run"));
            }
        };
        Ok(WantedJob::Job(Box::new(NewJob {
            organization,
            name: name.filter(|name| !name.trim().is_empty()),
            of,
            agents,
            orchestration,
            rounds,
            labels: BTreeMap::new(),
        })))
    }
}

/// The rounds that are asked for.
pub(crate) fn read_rounds(
    checks: &mut Checks,
    rounds: Option<i64>,
    policy: Option<Value>,
) -> Option<NewRounds> {
    let (least, most) = (*ROUNDS.start(), *ROUNDS.end());
    let Some(rounds) = rounds else {
        if policy.is_some() {
            let message = format!("goes with rounds only: say from {least} to {most} of them");
            checks.refuse("policy", message);
        }
        return None;
    };
    let planned = u32::try_from(rounds).ok().filter(|n| ROUNDS.contains(n));
    if planned.is_none() {
        let message = format!("must be a whole number from {least} to {most}");
        checks.refuse("rounds", message);
    }
    let document = policy.unwrap_or_else(usual_policy);
    let policy = Policy::read(&document, Wording::Request)
        .map_err(|problems| checks.refuse_below("policy", problems))
        .ok();
    Some(NewRounds {
        rounds: planned?,
        policy: policy?,
        document,
    })
}

/// A job that somebody asks for.
pub(super) enum WantedJob {
    /// Of a benchmark or of scenarios.
    Job(Box<NewJob>),
    /// Of a Harbor job file.
    Harbor(NewHarborJob),
}

/// What a spec says is to be run.
enum SpecOf {
    Job(JobOf),
    Harbor(String),
}

impl JobSpecBody {
    /// What is to be run.
    fn of(&self, checks: &mut Checks) -> Option<SpecOf> {
        let said = [
            ("benchmark", self.benchmark_id.is_some()),
            ("scenarios", self.scenario_ids.is_some()),
            ("harbor", self.inline_yaml.is_some()),
        ];
        let mut kinds = said.iter().filter(|(_, is_said)| *is_said);
        let (Some((kind, _)), None) = (kinds.next(), kinds.next()) else {
            let message =
                "exactly one of benchmark_id, scenario_ids and inline_yaml says what is run";
            checks.refuse("spec", message);
            return None;
        };
        if let Some(given) = self.kind.as_deref().filter(|given| given != kind) {
            let message = format!(
                "'{}' does not fit the rest of the spec, which is of the type {kind}",
                shortened(given)
            );
            checks.refuse("spec.type", message);
            return None;
        }
        if let Some(inline_yaml) = &self.inline_yaml {
            return Some(SpecOf::Harbor(inline_yaml.clone()));
        }
        if let Some(id) = &self.benchmark_id {
            let id = ids::checked(checks, "spec.benchmark_id", Some(id.clone()));
            return id.map(|id| SpecOf::Job(JobOf::Benchmark(id)));
        }
        let texts = self.scenario_ids.as_deref().unwrap_or_default();
        if texts.is_empty() {
            checks.refuse("spec.scenario_ids", "must name at least one scenario");
        }
        let ids = ids::read_all(checks, "spec.scenario_ids", texts);
        Some(SpecOf::Job(JobOf::Scenarios(ids)))
    }
}

impl JobAgentConfig {
    fn read(self, checks: &mut Checks, place: &str) -> NewJobAgent {
        let at = |field: &str| format!("{place}.{field}");
        if let Some(kind) = self.kind.as_deref().filter(|kind| *kind != "job_agent") {
            let message = format!("'{}' is not job_agent", shortened(kind));
            checks.refuse(&at("type"), message);
        }
        let agent = ids::checked(checks, &at("agent_id"), self.agent_id);
        let longest = LONGEST_AGENT_TIME.as_secs_f64();
        if let Some(seconds) = self.timeout_seconds
            && !(seconds > 0.0 && seconds <= longest)
        {
            let message = format!("must be more than 0 and at most {longest} seconds");
            checks.refuse(&at("timeout_seconds"), message);
        }
        let kwargs = self.kwargs.unwrap_or_default();
        check_kwargs(checks, &at("kwargs"), &kwargs);
        let model = self.model_name;
        let environment = self.agent_environment.unwrap_or(JobAgentEnvironment {
            environment_variables: None,
            secrets: None,
        });
        let variables = environment.environment_variables.unwrap_or_default();
        let secrets = environment.secrets.unwrap_or_default();
        let inside = |field: &str| at(&format!("agent_environment.{field}"));
        check_variables(checks, &inside("environment_variables"), &variables);
        check_secrets(checks, &inside("secrets"), &secrets);
        NewJobAgent {
            name: checks.text(&at("name"), self.name, 1..=LONGEST_NAME),
            agent,
            model: checks.optional_text(&at("model_name"), model, 0..=LONGEST_NAME),
            timeout: self.timeout_seconds,
            kwargs,
            environment: variables,
            secrets,
        }
    }
}

impl JobOrchestratorConfig {
    fn read(self, checks: &mut Checks) -> Orchestration {
        let mut whole = |field: &str, value: Option<i64>, least: i64, most: i64| {
            let value = value?;
            if !(least..=most).contains(&value) {
                let message = format!("must be a whole number from {least} to {most}");
                checks.refuse(&format!("spec.orchestrator_config.{field}"), message);
            }
            u32::try_from(value).ok()
        };
        let trials = self.n_concurrent_trials;
        let trials = whole("n_concurrent_trials", trials, 1, MOST_TRIALS_AT_ONCE);
        let retries = whole("n_attempts", self.n_attempts, 0, MOST_RETRIES);
        if let Some(multiplier) = self.timeout_multiplier
            && !(multiplier > 0.0 && multiplier <= LARGEST_MULTIPLIER)
        {
            let message = format!("must be more than 0 and at most {LARGEST_MULTIPLIER}");
            checks.refuse("spec.orchestrator_config.timeout_multiplier", message);
        }
        Orchestration {
            trials_at_once: trials.and_then(NonZeroU32::new),
            retries,
            timeout_multiplier: self.timeout_multiplier,
            quiet: self.quiet,
            ..Orchestration::default()
        }
    }
}

fn check_kwargs(checks: &mut Checks, place: &str, kwargs: &BTreeMap<String, String>) {
    let length: usize = kwargs
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if length > LONGEST_KWARGS {
        checks.refuse(place, format!("must have at most {LONGEST_KWARGS} bytes"));
    }
    for (name, value) in kwargs {
        let place = format!("{place}.{}", shortened(name));
        if value.contains('\0') || name.contains('\0') {
            checks.refuse(&place, "must not contain a NUL");
        }
        if name == "command" && value.trim().is_empty() {
            checks.refuse(&place, "must not be blank");
        }
    }
}

/// Puts names in the place of ids: clients may say either.
async fn name_secrets(
    state: &ApiState,
    organization: OrganizationId,
    secrets: &mut BTreeMap<String, String>,
) -> Result<(), ApiError> {
    for secret in secrets.values_mut() {
        let Ok(id) = SecretId::from_wire(secret, Dialect::Runloop) else {
            continue;
        };
        if let Some(name) = state.store().secret_name(organization, id).await? {
            *secret = name;
        }
    }
    Ok(())
}
