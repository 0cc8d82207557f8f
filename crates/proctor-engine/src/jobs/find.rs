//! Looking at jobs.

use std::time::Duration;

use proctor_core::{
    id::kinds::{JobId, JobKind, OrganizationId, RunId},
    job::{AgentOutcome, Board, Job, JobAgent, Look, Try},
    results::{AttemptResult, TryResult},
    run::Run,
    task_run::Cause,
    time::Timestamp,
};
use proctor_macros::boxed_futures;
use proctor_store::{
    names::Sought,
    page::{Page, PageRequest},
};

use super::{drive::board_of, rounds::RoundsResults};
use crate::{engine::Engine, error::EngineError, results::untried};

/// A job with what came of it so far.
pub struct JobDetails {
    /// The job.
    pub job: Job,
    tries: Vec<Try>,
    looks: Vec<Look>,
    runs: Vec<Run>,
    seen_at: Timestamp,
}

impl JobDetails {
    /// The agents that are not done, with their runs and for how long these have gone on.
    pub fn in_progress(&self) -> Vec<(&JobAgent, &Run, Duration)> {
        let board = self.board();
        self.agents()
            .filter(|(place, ..)| !self.is_finished(&board, *place))
            .map(|(_, agent, run)| (agent, run, self.seen_at.since(run.created_at)))
            .collect()
    }

    /// What came of the agents that are done.
    pub fn outcomes(&self) -> Vec<(&JobAgent, AgentOutcome)> {
        let board = self.board();
        self.agents()
            .filter(|(place, ..)| self.is_finished(&board, *place))
            .map(|(place, agent, _)| (agent, board.outcome(place)))
            .collect()
    }

    /// How many attempts are planned, as far as rounds have come, and how many of them are settled.
    pub fn progress(&self) -> (u64, u64) {
        let board = self.board();
        let planned = board.open_agents().count() * self.job.plan.scenarios.len();
        (planned as u64, board.settled() as u64)
    }

    /// When it was looked at.
    pub fn seen_at(&self) -> Timestamp {
        self.seen_at
    }

    /// Every try of it, in the order in which they were begun.
    pub fn tries(&self) -> &[Try] {
        &self.tries
    }

    /// What follows from its plan and its tries.
    pub(crate) fn board(&self) -> Board<'_> {
        board_of(&self.job.plan, &self.tries, &self.looks)
    }

    /// What came of each attempt of the agent whose run this is; none if it is no run of the job.
    pub fn attempts_of(&self, run: RunId) -> Option<Vec<AttemptResult>> {
        let mut agents = self.job.plan.agents.iter();
        let place = agents.position(|agent| agent.run == run)?;
        // Those of other agents do not matter here, and a job may have many.
        let own = self.tries.iter().filter(|one| one.run == run);
        let board = Board::of(&self.job.plan, own);
        Some(board.attempts(place, &self.untried(place)))
    }

    /// How far its planned rounds came; none if it has none.
    pub(crate) fn rounds(&self) -> Option<RoundsResults> {
        let planned = self.job.plan.rounds.as_ref()?;
        Some(RoundsResults::of(
            &self.job,
            planned,
            &self.board(),
            &self.looks,
        ))
    }

    /// What is known of a scenario that an agent never began: it goes by how its run ended.
    pub(crate) fn untried(&self, agent: usize) -> TryResult {
        let id = self.job.plan.agents[agent].run;
        match self.runs.iter().find(|run| run.id == id) {
            Some(run) if run.is_over() => untried(run),
            _ if self.job.is_over() => TryResult::faulted(Cause::Cancelled),
            _ => TryResult::Pending,
        }
    }

    /// Nothing more is done when the job is over.
    fn is_finished(&self, board: &Board<'_>, agent: usize) -> bool {
        self.job.is_over() || board.is_done(agent)
    }

    /// The agents whose runs came to be.
    fn agents(&self) -> impl Iterator<Item = (usize, &JobAgent, &Run)> {
        let run = |id: RunId| self.runs.iter().find(move |run| run.id == id);
        let agents = self.job.plan.agents.iter().enumerate();
        agents.filter_map(move |(place, agent)| Some((place, agent, run(agent.run)?)))
    }
}

#[boxed_futures]
impl Engine {
    /// One of the organization's jobs.
    pub async fn job(
        &self,
        organization: OrganizationId,
        id: JobId,
    ) -> Result<JobDetails, EngineError> {
        let job = self.read_job(id).await?.value;
        if job.organization != organization {
            return Err(EngineError::NotFound("benchmark job"));
        }
        self.with_tries(job).await
    }

    /// The organization's jobs, newest first.
    pub async fn jobs(
        &self,
        organization: OrganizationId,
        sought: &Sought,
        page: PageRequest<JobKind>,
    ) -> Result<Page<JobDetails>, EngineError> {
        let page = self.store().jobs(organization, sought, page).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for job in page.items {
            items.push(self.with_tries(job).await?);
        }
        Ok(Page {
            items,
            has_more: page.has_more,
            has_previous: page.has_previous,
            total: page.total,
        })
    }

    async fn with_tries(&self, job: Job) -> Result<JobDetails, EngineError> {
        Ok(JobDetails {
            tries: self.store().tries(job.id).await?,
            looks: self.looks_of(&job).await?,
            runs: self.store().runs_of_job(job.id).await?,
            seen_at: self.now(),
            job,
        })
    }
}
