//! Jobs as their organization sees them.

use std::collections::BTreeMap;

use proctor_core::{
    id::{
        Dialect,
        kinds::{BenchmarkId, JobId},
    },
    job::{JobAgent, JobState},
    time::Timestamp,
};
use proctor_engine::jobs::JobDetails;
use serde::Serialize;
use utoipa::ToSchema;

use crate::verial::run_views::BenchmarkRef;

/// A job.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobView {
    #[schema(value_type = String, example = "job_01K0000000000000000000000A")]
    id: JobId,
    name: String,
    /// `initializing`, `queued`, `running`, `completed`, `failed`, `timeout` or `cancelled`.
    #[schema(value_type = String, example = "running")]
    status: &'static str,
    benchmark: BenchmarkRef,
    #[schema(value_type = String)]
    benchmark_id: BenchmarkId,
    agents: Vec<JobAgentView>,
    /// How often each agent takes each task; with planned rounds, at most.
    attempts: u32,
    /// How many attempts go on at once, over all agents.
    concurrency: usize,
    /// How often an attempt that is void is tried again. Jobs of the other dialect also repeat what the agent failed at.
    retries: usize,
    labels: BTreeMap<String, String>,
    /// How many rounds are planned; null without rounds.
    rounds: Option<u32>,
    /// How many attempts are planned, and how many of them are settled.
    planned: u64,
    settled: u64,
    /// Why nothing could run.
    failure_reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
}

/// An agent of a job.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobAgentView {
    name: String,
    /// The registered agent, if it was named by its id.
    agent_id: Option<String>,
    model: Option<String>,
    /// How many seconds it may take for a task; null where that was not said.
    timeout: Option<f64>,
    /// Its runs, one for each attempt.
    run_ids: Vec<String>,
}

impl JobView {
    pub(super) fn of(details: &JobDetails, benchmark: BenchmarkRef) -> Self {
        let (job, plan) = (&details.job, &details.job.plan);
        let agents = agents(&plan.agents);
        let attempts = agents.iter().map(|agent| agent.run_ids.len()).max();
        let (started_at, ended_at) = match &job.state {
            JobState::Initializing | JobState::Queued => (None, None),
            JobState::Running { since } => (Some(*since), None),
            JobState::Ended { started_at, at, .. } => (*started_at, Some(*at)),
        };
        let (planned, settled) = details.progress();
        Self {
            id: job.id,
            name: job.name.clone(),
            status: job.status().as_str(),
            benchmark,
            benchmark_id: plan.pinned.benchmark,
            attempts: attempts.map_or(0, |attempts| u32::try_from(attempts).unwrap_or(u32::MAX)),
            agents,
            concurrency: plan.orchestration.trials_at_once(),
            retries: plan.orchestration.retries(),
            labels: plan.labels.clone(),
            rounds: plan.rounds.as_ref().map(|planned| planned.rounds),
            planned,
            settled,
            failure_reason: job.failure_reason().map(str::to_owned),
            created_at: job.created_at,
            started_at,
            ended_at,
        }
    }
}

/// The agents as they were asked for, each with all of its runs.
fn agents(planned: &[JobAgent]) -> Vec<JobAgentView> {
    let mut views: Vec<(&JobAgent, JobAgentView)> = Vec::new();
    for agent in planned {
        let run = agent.run.wire(Dialect::Verial);
        match views
            .iter_mut()
            .find(|(other, _)| agent.is_same_agent(other))
        {
            Some((_, view)) => view.run_ids.push(run),
            None => views.push((
                agent,
                JobAgentView {
                    name: agent.name.clone(),
                    agent_id: agent.agent.map(|id| id.wire(Dialect::Verial)),
                    model: agent.model.clone(),
                    timeout: agent.timeout,
                    run_ids: vec![run],
                },
            )),
        }
    }
    views.into_iter().map(|(_, view)| view).collect()
}
