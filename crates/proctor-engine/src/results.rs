//! Our own numbers of runs and of jobs (`proctor_core::results`), whole: a report that reads the run it is about.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{JobId, OrganizationId, RunId},
    job::JobAgent,
    results::{AttemptResult, Summary, TryResult},
    run::{Ending, Run, RunState, never_started},
    task_run::{Cause, TaskRun},
};

use crate::{engine::Engine, error::EngineError, jobs::JobDetails};
use proctor_macros::boxed_futures;

/// What came of a run or a job.
pub struct Results {
    /// One for each agent, its attempts pooled.
    pub agents: Vec<AgentResults>,
    /// What whoever reads this should know, in sentences.
    pub warnings: Vec<String>,
}

/// What came of an agent.
pub struct AgentResults {
    /// What it is called, if anybody said.
    pub name: Option<String>,
    /// Its runs.
    pub runs: Vec<RunId>,
    /// Its numbers.
    pub summary: Summary,
    /// What came of each attempt, in the order of tasks.
    pub attempts: Vec<AttemptResult>,
    /// Whether the caller may see what was found about single criteria.
    pub shows_criteria: bool,
}

impl AgentResults {
    fn of(name: Option<String>, runs: Vec<RunId>, attempts: Vec<AttemptResult>) -> Self {
        Self {
            name,
            runs,
            summary: Summary::of(&attempts),
            attempts,
            shows_criteria: true,
        }
    }
}

#[boxed_futures]
impl Engine {
    /// What came of one of the organization's jobs so far.
    pub async fn job_results(
        &self,
        organization: OrganizationId,
        id: JobId,
    ) -> Result<Results, EngineError> {
        let details = self.job(organization, id).await?;
        Ok(Results {
            agents: agents_of(&details),
            warnings: Vec::new(),
        })
    }

    /// What came of one of the organization's runs so far.
    pub async fn run_results(
        &self,
        organization: OrganizationId,
        id: RunId,
    ) -> Result<Results, EngineError> {
        let found = self.store().run(id).await?.map(|run| run.value);
        let own = found.filter(|run| run.organization == organization);
        let run = own.ok_or(EngineError::NotFound("benchmark run"))?;
        let (run, task_runs) = match run.is_over() {
            true => {
                let task_runs = self.store().judged_task_runs(id).await?;
                (run, task_runs)
            }
            // Whoever looks at a run that goes on sees clocks that ran out.
            false => {
                let details = self.run_details(id).await?;
                (details.run, details.task_runs)
            }
        };
        let attempts = self.attempts_of(organization, &run, &task_runs).await?;
        let agent = AgentResults {
            shows_criteria: self.shows_criteria(organization, &run).await?,
            ..AgentResults::of(self.taker(&run).await?, vec![id], attempts)
        };
        Ok(Results {
            agents: vec![agent],
            warnings: Vec::new(),
        })
    }

    /// What came of each attempt of a run whose task runs are these.
    pub(crate) async fn attempts_of(
        &self,
        organization: OrganizationId,
        run: &Run,
        task_runs: &[TaskRun],
    ) -> Result<Vec<AttemptResult>, EngineError> {
        match run.job {
            Some(job) => self.attempts_of_job(organization, job, run).await,
            None => {
                let prepared = self.definition_of(run).await?;
                let wanted = run.wanted(&prepared.benchmark);
                Ok(run.attempts(task_runs, wanted, &untried(run)))
            }
        }
    }

    /// Whether an organization may see what was found about single criteria of its run.
    pub(crate) async fn shows_criteria(
        &self,
        organization: OrganizationId,
        run: &Run,
    ) -> Result<bool, EngineError> {
        if !run.scored {
            return Ok(true);
        }
        let benchmark = run.pinned.benchmark;
        Ok(self.store().owner_of_benchmark(benchmark).await? == Some(organization))
    }

    /// The attempts of the agent whose run of a job this is.
    async fn attempts_of_job(
        &self,
        organization: OrganizationId,
        job: JobId,
        run: &Run,
    ) -> Result<Vec<AttemptResult>, EngineError> {
        let details = self.job(organization, job).await?;
        let agents = details.job.plan.agents.iter();
        let place = agents.enumerate().find(|(_, agent)| agent.run == run.id);
        let (place, _) =
            place.ok_or_else(|| EngineError::Fault(format!("the job {job} has no such run")))?;
        Ok(details.board().attempts(place, &details.untried(place)))
    }

    /// Who takes a run: in its own words, or by its Solver's name.
    pub(crate) async fn taker(&self, run: &Run) -> Result<Option<String>, EngineError> {
        if run.agent.is_some() {
            return Ok(run.agent.clone());
        }
        let Some(solver) = run.solver else {
            return Ok(None);
        };
        let solver = self.store().solver(run.organization, solver).await?;
        Ok(solver.map(|solver| solver.profile.alias))
    }
}

/// What is known of a task that was never begun in a run.
pub(crate) fn untried(run: &Run) -> TryResult {
    match &run.state {
        RunState::Created | RunState::Started { .. } => TryResult::Pending,
        RunState::Ended { ending, .. } => TryResult::Faulted(match ending {
            Ending::Completed { .. } => never_started(),
            Ending::Cancelled { .. } => Cause::Cancelled.into(),
            Ending::Failed { cause } => (*cause).into(),
        }),
    }
}

/// The agents of a job. One that was asked for twice, all of it the same, is one agent with two attempts at each scenario.
fn agents_of(details: &JobDetails) -> Vec<AgentResults> {
    let (job, board) = (&details.job, details.board());
    let mut pooled: Vec<(&JobAgent, Vec<RunId>, Vec<AttemptResult>)> = Vec::new();
    for (place, agent) in job.plan.agents.iter().enumerate() {
        let attempts = board.attempts(place, &details.untried(place));
        match pooled
            .iter_mut()
            .find(|(other, ..)| agent.is_same_agent(other))
        {
            Some((_, runs, all)) => {
                runs.push(agent.run);
                all.extend(attempts);
            }
            None => pooled.push((agent, vec![agent.run], attempts)),
        }
    }
    let places: BTreeMap<_, usize> = (job.plan.scenarios.iter().zip(0..))
        .map(|(scenario, place)| (scenario.id, place))
        .collect();
    let results = pooled.into_iter().map(|(agent, runs, mut attempts)| {
        attempts.sort_by_key(|one| (places.get(&one.task).copied(), one.attempt));
        AgentResults::of(Some(agent.name.clone()), runs, attempts)
    });
    results.collect()
}
