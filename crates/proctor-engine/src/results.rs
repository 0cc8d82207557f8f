//! Our own numbers of runs and of jobs (`proctor_core::results`), whole: a report that reads the run it is about.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{Benchmark, Task},
    id::kinds::{JobId, OrganizationId, RunId, TaskId},
    job::JobAgent,
    results::{AttemptResult, Summary, TryResult},
    run::{Ending, Run, RunState, never_started},
    task_run::{Cause, TaskRun},
    usage::Usage,
};

use crate::{
    engine::Engine,
    error::EngineError,
    harbor::{AgentMetrics, HarborRules},
    jobs::{JobDetails, RoundsResults},
};
use proctor_macros::boxed_futures;

/// What came of a run or a job.
pub struct Results {
    /// One for each agent, its attempts pooled.
    pub agents: Vec<AgentResults>,
    /// What whoever reads this should know.
    pub warnings: Vec<ResultWarning>,
    /// How far the planned rounds of a job came, if it has any.
    pub rounds: Option<RoundsResults>,
    /// What agents say they used up, by run and task; all tries of an attempt together.
    pub usage: BTreeMap<(RunId, TaskId), Usage>,
}

/// What whoever reads results should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultWarning {
    /// Tasks of the benchmark are not taken: they are done in playgrounds, for which a run must have a token.
    LeftOut {
        /// What these are called.
        names: Vec<String>,
        /// How many tasks the benchmark has.
        all: usize,
    },
    /// Something in its Harbor job file, or in the tasks that it names.
    Harbor(proctor_harbor::Warning),
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
    /// The metrics of its trials, in a Harbor job.
    pub metrics: Option<AgentMetrics>,
}

impl AgentResults {
    fn of(name: Option<String>, runs: Vec<RunId>, attempts: Vec<AttemptResult>) -> Self {
        Self {
            name,
            runs,
            summary: Summary::of(&attempts),
            attempts,
            shows_criteria: true,
            metrics: None,
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
        let digest = &details.job.plan.pinned.digest;
        let prepared = self.inner.catalog.benchmark(self.store(), digest).await?;
        let planned = &details.job.plan.scenarios;
        let is_planned = |task: &Task| planned.iter().any(|one| one.id == task.id);
        let mut warnings = left_out(&prepared.benchmark, is_planned);
        if let Some(rules) = HarborRules::of(&details.job.plan.source) {
            warnings.extend(rules.warnings.into_iter().map(ResultWarning::Harbor));
        }
        let mut agents = agents_of(&details);
        let of_agents: Vec<Vec<RunId>> = agents.iter().map(|agent| agent.runs.clone()).collect();
        if let Some(metrics) = self.harbor_metrics(&details, &of_agents).await? {
            for (agent, metrics) in agents.iter_mut().zip(metrics) {
                agent.metrics = Some(metrics);
            }
        }
        let runs: Vec<RunId> = agents.iter().flat_map(|agent| agent.runs.clone()).collect();
        Ok(Results {
            usage: self.store().usage_of_runs(&runs).await?,
            agents,
            warnings,
            rounds: details.rounds(),
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
        let prepared = self.definition_of(&run).await?;
        // Whoever chose some of the tasks knows that the others are left out.
        let is_wanted = |task: &Task| run.wants(task) || !run.plan.takes(task.id);
        Ok(Results {
            agents: vec![agent],
            warnings: left_out(&prepared.benchmark, is_wanted),
            rounds: None,
            usage: self.store().usage_of_runs(&[id]).await?,
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
            Some(job) => attempts_in_job(&self.job(organization, job).await?, run),
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

/// Which tasks of a benchmark are not among those that count: only a run with a token can take what is done in playgrounds.
fn left_out(benchmark: &Benchmark, counts: impl Fn(&Task) -> bool) -> Vec<ResultWarning> {
    let tasks = benchmark.tasks.iter().filter(|task| !counts(task));
    let names: Vec<String> = tasks.map(|task| task.name.clone()).collect();
    let all = benchmark.tasks.len();
    match names.is_empty() {
        true => Vec::new(),
        false => vec![ResultWarning::LeftOut { names, all }],
    }
}

/// What came of each attempt of the agent whose run of a job this is.
pub(crate) fn attempts_in_job(
    job: &JobDetails,
    run: &Run,
) -> Result<Vec<AttemptResult>, EngineError> {
    let missing = || EngineError::Fault(format!("the job {} has no such run", job.job.id));
    job.attempts_of(run.id).ok_or_else(missing)
}

/// What is known of a task that was never begun in a run.
pub(crate) fn untried(run: &Run) -> TryResult {
    match &run.state {
        RunState::Created | RunState::Started { .. } => TryResult::Pending,
        RunState::Ended { ending, .. } => TryResult::faulted(match ending {
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
    // Rounds that have not come are no attempts.
    for place in board.open_agents() {
        let agent = &job.plan.agents[place];
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
