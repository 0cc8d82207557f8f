//! Jobs as clients see them.

use std::{collections::BTreeMap, time::Duration};

use proctor_core::{
    id::Dialect,
    job::{
        AgentOutcome, Failure, Job, JobAgent, JobSource, Orchestration, ScenarioOutcome,
        ScenarioState,
    },
    run::Run,
};
use proctor_engine::jobs::JobDetails;
use proctor_store::page::Page;
use serde::Serialize;
use utoipa::ToSchema;

use super::body::{JobAgentConfig, JobAgentEnvironment, JobOrchestratorConfig};
use crate::runloop::{ids::wire, runs::run_state};

/// A job.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkJobView {
    #[schema(example = "bmj_01K0000000000000000000000A")]
    id: String,
    name: String,
    #[schema(value_type = String, example = "running")]
    state: &'static str,
    job_source: JobSourceView,
    job_spec: JobSpecView,
    /// Why nothing could run.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<String>,
    /// What came of the agents that are done.
    benchmark_outcomes: Vec<BenchmarkOutcomeView>,
    /// The benchmark runs of the agents that are not.
    in_progress_runs: Vec<InProgressRunView>,
    create_time_ms: i64,
}

/// A part of the list of jobs, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkJobListView {
    jobs: Vec<BenchmarkJobView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

/// Where the scenarios of a job come from.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobSourceView {
    #[schema(value_type = String, example = "benchmark")]
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmark_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmark_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_yaml: Option<String>,
}

/// What a job runs, and how.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobSpecView {
    scenario_ids: Vec<String>,
    orchestrator_config: JobOrchestratorConfig,
    agent_configs: Vec<JobAgentConfig>,
}

/// What came of an agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct BenchmarkOutcomeView {
    benchmark_run_id: String,
    agent_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
    n_completed: u32,
    n_failed: u32,
    n_timeout: u32,
    /// The mean score of the scenarios that were completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    average_score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    scenario_outcomes: Vec<ScenarioOutcomeView>,
}

/// What came of a scenario, by its last try.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScenarioOutcomeView {
    /// Absent if the scenario could not be set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario_run_id: Option<String>,
    scenario_definition_id: String,
    scenario_name: String,
    #[schema(value_type = String, example = "COMPLETED")]
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<FailureReasonView>,
}

/// Why a scenario has no score.
#[derive(Serialize, ToSchema)]
pub(crate) struct FailureReasonView {
    #[schema(value_type = String, example = "AgentTimeoutError")]
    exception_type: String,
    exception_message: String,
}

/// The benchmark run of an agent that is not done.
#[derive(Serialize, ToSchema)]
pub(crate) struct InProgressRunView {
    benchmark_run_id: String,
    agent_config: JobAgentConfig,
    #[schema(value_type = String, example = "running")]
    state: &'static str,
    start_time_ms: i64,
    /// How long it has gone on.
    duration_ms: u64,
}

impl BenchmarkJobView {
    pub(super) fn of(details: &JobDetails) -> Self {
        let job = &details.job;
        let outcomes = details.outcomes();
        let in_progress = details.in_progress();
        Self {
            id: wire(job.id),
            name: job.name.clone(),
            state: job.status().as_str(),
            job_source: JobSourceView::of(job),
            job_spec: JobSpecView::of(job),
            failure_reason: job.failure_reason().map(str::to_owned),
            benchmark_outcomes: outcomes
                .into_iter()
                .map(|(agent, outcome)| BenchmarkOutcomeView::of(agent, outcome))
                .collect(),
            in_progress_runs: in_progress
                .into_iter()
                .map(|(agent, run, so_far)| InProgressRunView::of(agent, run, so_far))
                .collect(),
            create_time_ms: job.created_at.as_millis(),
        }
    }
}

impl BenchmarkJobListView {
    pub(super) fn of(page: &Page<JobDetails>) -> Self {
        Self {
            jobs: page.items.iter().map(BenchmarkJobView::of).collect(),
            has_more: page.has_more,
            total_count: page.total,
        }
    }
}

impl JobSourceView {
    fn of(job: &Job) -> Self {
        match &job.plan.source {
            JobSource::Benchmark { id, name } => Self {
                r#type: "benchmark",
                benchmark_id: Some(wire(*id)),
                benchmark_name: Some(name.clone()),
                scenario_ids: None,
                inline_yaml: None,
            },
            JobSource::Scenarios => Self {
                r#type: "scenarios",
                benchmark_id: None,
                benchmark_name: None,
                scenario_ids: Some(scenario_ids(job)),
                inline_yaml: None,
            },
            JobSource::Harbor { inline_yaml, .. } => Self {
                r#type: "harbor",
                benchmark_id: None,
                benchmark_name: None,
                scenario_ids: None,
                inline_yaml: Some(inline_yaml.clone()),
            },
        }
    }
}

fn scenario_ids(job: &Job) -> Vec<String> {
    let scenarios = job.plan.scenarios.iter();
    scenarios.map(|scenario| wire(scenario.id)).collect()
}

impl JobSpecView {
    fn of(job: &Job) -> Self {
        let Orchestration {
            trials_at_once,
            retries,
            timeout_multiplier,
            quiet,
            order: _,
            retry_rules: _,
            retries_void_only: _,
        } = &job.plan.orchestration;
        Self {
            scenario_ids: scenario_ids(job),
            orchestrator_config: JobOrchestratorConfig {
                n_concurrent_trials: trials_at_once.map(|trials| trials.get().into()),
                n_attempts: retries.map(i64::from),
                timeout_multiplier: *timeout_multiplier,
                quiet: *quiet,
            },
            agent_configs: job.plan.asked_for().map(JobAgentConfig::of).collect(),
        }
    }
}

impl JobAgentConfig {
    fn of(agent: &JobAgent) -> Self {
        let given = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| map.clone());
        let environment_variables = given(&agent.environment);
        let secrets = given(&agent.secrets);
        let has_environment = environment_variables.is_some() || secrets.is_some();
        Self {
            agent_id: agent.agent.map(|id| id.wire(Dialect::Runloop)),
            name: Some(agent.name.clone()),
            model_name: agent.model.clone(),
            timeout_seconds: agent.timeout,
            kwargs: given(&agent.kwargs),
            agent_environment: has_environment.then_some(JobAgentEnvironment {
                environment_variables,
                secrets,
            }),
            kind: Some("job_agent".to_owned()),
        }
    }
}

impl BenchmarkOutcomeView {
    fn of(agent: &JobAgent, outcome: AgentOutcome) -> Self {
        let scenarios = outcome.scenarios.into_iter();
        Self {
            benchmark_run_id: wire(agent.run),
            agent_name: agent.name.clone(),
            model_name: agent.model.clone(),
            n_completed: outcome.completed,
            n_failed: outcome.failed,
            n_timeout: outcome.timed_out,
            average_score: outcome.average,
            duration_ms: outcome.duration.map(millis),
            scenario_outcomes: scenarios.map(ScenarioOutcomeView::of).collect(),
        }
    }
}

impl ScenarioOutcomeView {
    fn of(outcome: ScenarioOutcome) -> Self {
        Self {
            scenario_run_id: outcome.task_run.map(wire),
            scenario_definition_id: wire(outcome.task),
            scenario_name: outcome.name,
            state: match outcome.state {
                ScenarioState::Completed => "COMPLETED",
                ScenarioState::Failed => "FAILED",
                ScenarioState::TimedOut => "TIMEOUT",
                ScenarioState::Cancelled => "CANCELED",
            },
            score: outcome.score,
            duration_ms: outcome.duration.map(millis),
            failure_reason: outcome.failure.map(FailureReasonView::of),
        }
    }
}

impl FailureReasonView {
    fn of(failure: Failure) -> Self {
        Self {
            exception_type: failure.exception_type().to_owned(),
            exception_message: failure.message,
        }
    }
}

impl InProgressRunView {
    fn of(agent: &JobAgent, run: &Run, so_far: Duration) -> Self {
        Self {
            benchmark_run_id: wire(run.id),
            agent_config: JobAgentConfig::of(agent),
            state: run_state(run),
            start_time_ms: run.created_at.as_millis(),
            duration_ms: millis(so_far),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
