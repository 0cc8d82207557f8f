//! A job is asked for: what cannot be is refused at once, with everything that is wrong; the rest becomes a plan.

use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Requirements, World},
    id::kinds::{AgentId, BenchmarkId, OrganizationId, TaskId},
    job::{Job, JobAgent, JobPlan, JobSource, JobState, Orchestration, PlannedScenario},
    profile::RunProfile,
    run::Pinned,
};
use proctor_fleet::references::{self, Readiness};
use proctor_macros::boxed_futures;
use proctor_store::{benchmarks::BenchmarkDraft, repeatable::Made};

use super::{JobDetails, NewRounds, agents, drive::JOB};

use crate::{
    authoring,
    engine::Engine,
    error::EngineError,
    problems::{AgentProblem, JobProblem},
    runs::{Taken, pin},
};

/// Why a benchmark was made for a job.
const WHY_MADE: &str = "The scenarios of a benchmark job that named them one by one.";

/// A job that is to be made.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The organization that wants it.
    pub organization: OrganizationId,
    /// What people call it; made up without it.
    pub name: Option<String>,
    /// What is taken.
    pub of: JobOf,
    /// Who takes it.
    pub agents: Vec<NewJobAgent>,
    /// How the work is organized.
    pub orchestration: Orchestration,
    /// The rounds in which it is done, if it is to stop by itself.
    pub rounds: Option<NewRounds>,
    /// Labels of its runs.
    pub labels: BTreeMap<String, String>,
}

/// What a job's agents take.
#[derive(Clone, Debug)]
pub enum JobOf {
    /// The tasks of a benchmark as its draft stands.
    Benchmark(BenchmarkId),
    /// The tasks of a published version, or of a draft that its owner has not published.
    Taken(Taken),
    /// These scenarios.
    Scenarios(Vec<TaskId>),
}

/// An agent that is to take scenarios.
#[derive(Clone, Debug)]
pub struct NewJobAgent {
    /// What it is called.
    pub name: String,
    /// Which registered agent it is, if that is said by id.
    pub agent: Option<AgentId>,
    /// The model it shall use.
    pub model: Option<String>,
    /// How long it may take for a scenario, in seconds.
    pub timeout: Option<f64>,
    /// What else is said about it.
    pub kwargs: BTreeMap<String, String>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// Environment variables whose values are secrets, by the secrets' names.
    pub secrets: BTreeMap<String, String>,
}

/// What is taken, frozen.
struct Ground {
    source: JobSource,
    definition: Benchmark,
    digest: Digest,
    /// The published version; none for a draft.
    version: Option<u32>,
    /// The benchmark that the definition is of; none if one is to be made for the job.
    benchmark: Option<BenchmarkId>,
}

#[boxed_futures]
impl Engine {
    /// Makes a job. It begins by itself.
    pub async fn create_job(&self, new: NewJob) -> Result<JobDetails, EngineError> {
        let id = match self.store().make_once(|id| self.store().job(id)).await? {
            Made::Before(job) => {
                self.drive_in_background(job.value.id);
                return self.job(new.organization, job.value.id).await;
            }
            Made::New(id) => id,
        };
        let machine = self.machine();
        let ground = self.ground_of_job(&new).await?;
        let scenarios = planned(&ground.definition);
        if scenarios.is_empty() {
            return Err(refused(match new.of {
                JobOf::Benchmark(_) | JobOf::Taken(_) => JobProblem::EmptyBenchmark,
                JobOf::Scenarios(_) => JobProblem::NoScenarios,
            }));
        }
        let agents = self.agents_of_job(&new, &ground.definition).await?;
        let (agents, rounds) = match &new.rounds {
            None => (agents, None),
            Some(rounds) => {
                let (agents, planned) = self.plan_rounds(rounds, &agents);
                (agents, Some(planned))
            }
        };
        let name = new.name.clone().unwrap_or_else(|| match &ground.source {
            JobSource::Benchmark { name, .. } => name.clone(),
            JobSource::Scenarios if scenarios.len() == 1 => scenarios[0].name.clone(),
            JobSource::Scenarios | JobSource::Harbor { .. } => {
                format!("{} scenarios", scenarios.len())
            }
        });
        let benchmark = match ground.benchmark {
            Some(benchmark) => benchmark,
            None => self.benchmark_for_job(&new, &name, &scenarios).await?,
        };
        let job = Job {
            id,
            organization: new.organization,
            name,
            machine,
            plan: JobPlan {
                source: ground.source,
                pinned: Pinned {
                    benchmark,
                    version: ground.version,
                    digest: ground.digest,
                },
                scenarios,
                agents,
                orchestration: new.orchestration,
                rounds,
                labels: new.labels,
            },
            created_at: self.now(),
            state: JobState::Initializing,
        };
        self.store().create_job(&job).await?;
        let details = self.job(new.organization, job.id).await?;
        self.drive_in_background(job.id);
        Ok(details)
    }

    /// Freezes what is taken as its drafts stand.
    async fn ground_of_job(&self, new: &NewJob) -> Result<Ground, EngineError> {
        match &new.of {
            JobOf::Benchmark(id) => {
                let benchmark = self.store().suite(new.organization, *id).await?;
                let benchmark = benchmark.ok_or_else(|| refused(JobProblem::NoBenchmark(*id)))?;
                if benchmark.archived {
                    return Err(refused(JobProblem::BenchmarkArchived(*id)));
                }
                let archived = self.store().archived_scenarios_in(*id).await?;
                if !archived.is_empty() {
                    return Err(refused(JobProblem::ScenariosArchived(archived)));
                }
                let frozen =
                    authoring::freeze_suite(self.store(), self.extensions(), benchmark.owner, *id)
                        .await?;
                Ok(Ground {
                    source: JobSource::Benchmark {
                        id: *id,
                        name: benchmark.draft.content.name.clone(),
                    },
                    definition: frozen.definition,
                    digest: frozen.digest,
                    version: None,
                    benchmark: Some(*id),
                })
            }
            JobOf::Taken(taken) => {
                let pinned = match taken {
                    Taken::Version(version) => pin(version)?,
                    Taken::Draft(benchmark) => Pinned {
                        benchmark: *benchmark,
                        version: None,
                        digest: self.freeze(new.organization, *benchmark).await?.digest,
                    },
                };
                let digest = pinned.digest;
                let prepared = self.inner.catalog.benchmark(self.store(), &digest).await?;
                let definition = prepared.benchmark.clone();
                Ok(Ground {
                    source: JobSource::Benchmark {
                        id: pinned.benchmark,
                        name: definition.name.clone(),
                    },
                    definition,
                    digest,
                    version: pinned.version,
                    benchmark: Some(pinned.benchmark),
                })
            }
            JobOf::Scenarios(ids) => {
                let unknown = self.store().not_scenarios(new.organization, ids).await?;
                if !unknown.is_empty() {
                    let problems = unknown.into_iter().map(JobProblem::NoScenario);
                    return Err(EngineError::Job(problems.collect()));
                }
                let name = new.name.as_deref().unwrap_or("scenarios");
                let frozen = authoring::freeze_scenarios(self.store(), name, ids).await?;
                Ok(Ground {
                    source: JobSource::Scenarios,
                    definition: frozen.definition,
                    digest: frozen.digest,
                    version: None,
                    benchmark: None,
                })
            }
        }
    }

    /// The agents with what they run, checked against what the scenarios ask for.
    async fn agents_of_job(
        &self,
        new: &NewJob,
        definition: &Benchmark,
    ) -> Result<Vec<JobAgent>, EngineError> {
        let required = required(definition);
        let mut agents = Vec::with_capacity(new.agents.len());
        let mut problems = match &new.rounds {
            None => Vec::new(),
            Some(rounds) => rounds.problems(&new.agents, definition),
        };
        for (number, agent) in new.agents.iter().enumerate() {
            let chosen = match self.program_of(new.organization, agent).await? {
                Ok(chosen) => chosen,
                Err(problem) => {
                    problems.push(JobProblem::Agent { number, problem });
                    continue;
                }
            };
            let mut agent = agent.clone();
            let lacking = self.give_secrets(new.organization, &mut agent, chosen.secrets());
            let lacking = lacking.await?.into_iter();
            problems.extend(lacking.map(|problem| JobProblem::Agent { number, problem }));
            let agent = JobAgent {
                run: self.store().fresh_id(),
                name: agent.name,
                agent: agent.agent,
                model: agent.model,
                timeout: agent.timeout,
                kwargs: agent.kwargs,
                environment: agent.environment,
                secrets: agent.secrets,
                program: chosen.program,
                manifest: chosen.manifest,
                version: chosen.version,
                attempt: 1,
                // Here an agent that is named twice is one agent with two attempts.
                entry: 0,
                at_once: None,
            };
            let brought = RunProfile {
                environment: agent.environment.clone(),
                secrets: agent.secrets.clone(),
                ..RunProfile::default()
            };
            let lacking = self.not_brought(new.organization, &required, &brought);
            problems.extend(lacking.await?.into_iter().map(|lacking| JobProblem::Agent {
                number,
                problem: AgentProblem::NotBrought(lacking),
            }));
            // What a box needs is looked for again when one is made.
            let mounts = agents::profile(&agent).mounts;
            let store = self.store();
            let faults =
                references::check_mounts(store, new.organization, &mounts, Readiness::Usable);
            problems.extend(faults.await?.into_iter().map(|fault| JobProblem::Agent {
                number,
                problem: AgentProblem::Mount(fault),
            }));
            agents.push(agent);
        }
        match problems.is_empty() {
            true => Ok(agents),
            false => Err(EngineError::Job(problems)),
        }
    }

    /// Makes the benchmark of a job that names its scenarios one by one. It is put away at once: no list shows it.
    async fn benchmark_for_job(
        &self,
        new: &NewJob,
        name: &str,
        scenarios: &[PlannedScenario],
    ) -> Result<BenchmarkId, EngineError> {
        let draft = BenchmarkDraft {
            name: name.to_owned(),
            description: Some(WHY_MADE.to_owned()),
            attribution: None,
            environment: None,
            timeout: None,
            concurrency: NonZeroU32::MIN,
            metadata: [(JOB.to_owned(), "scenarios".to_owned())].into(),
            requires: Requirements::default(),
        };
        let ids: Vec<TaskId> = scenarios.iter().map(|scenario| scenario.id).collect();
        let organization = new.organization;
        let made = self
            .store()
            .create_archived_suite(organization, draft, &ids)
            .await?;
        Ok(made.id)
    }
}

fn refused(problem: JobProblem) -> EngineError {
    EngineError::Job(vec![problem])
}

/// The tasks of a definition, all of which agents of jobs can take.
fn planned(definition: &Benchmark) -> Vec<PlannedScenario> {
    let tasks = definition.tasks.iter();
    tasks
        .map(|task| PlannedScenario {
            id: task.id,
            name: task.name.clone(),
        })
        .collect()
}

/// What a definition and all of its scenarios ask for.
fn required(definition: &Benchmark) -> Requirements {
    let tasks = definition.tasks.iter();
    tasks
        .filter(|task| matches!(task.world, World::Devbox { .. }))
        .fold(definition.requires.clone(), |all, task| {
            all.and(&task.requires)
        })
}
