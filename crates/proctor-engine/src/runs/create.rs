//! A benchmark is about to be taken: by an agent with a token, or scenario by scenario.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use proctor_core::{
    definition::{Benchmark, BenchmarkVersion, Requirements, Task},
    devbox::DevboxDefinition,
    id::{
        Dialect,
        kinds::{BenchmarkId, OrganizationId, RunId, SolverId},
    },
    profile::{Particulars, RunProfile},
    run::{Pinned, Run, RunPlan, RunState, token_lifetime},
    task_run::TaskRun,
};
use proctor_fleet::references::{self, Readiness};
use proctor_macros::boxed_futures;
use proctor_playground::environment::Blueprint;
use proctor_store::{
    credentials::IssuedKey,
    playgrounds::{Place, Sandbox},
    repeatable::Made,
};

use super::find::pin;
use crate::{
    authoring, catalog::Prepared, engine::Engine, error::EngineError, problems::NotBrought,
};

/// How many tasks are named to somebody whose pattern matches none.
const NAMED_TASKS: usize = 20;

/// What is to be taken, by whom.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The organization that starts it.
    pub organization: OrganizationId,
    /// The Solver that takes it.
    pub solver: Option<SolverId>,
    /// What is taken.
    pub taken: Taken,
    /// Whether the taker sees only scores.
    pub scored: bool,
    /// The taker's own words for what takes it.
    pub agent: Option<String>,
    /// The taker's own labels.
    pub labels: BTreeMap<String, String>,
    /// Which of its tasks are taken, by ids, names or patterns such as `fax-*`; all of them if empty.
    pub tasks: Vec<String>,
    /// How many may be taken at once, if not as many as the benchmark says.
    pub concurrency: Option<NonZeroU32>,
    /// Whether the run stays open until somebody completes it.
    pub held: bool,
}

/// What is taken.
#[derive(Clone, Debug)]
pub enum Taken {
    /// A published version.
    Version(Box<BenchmarkVersion>),
    /// The draft as it stands.
    Draft(BenchmarkId),
}

/// A run that was just made.
pub struct Created {
    /// The run.
    pub run: Run,
    /// Its task runs, in the order of the tasks.
    pub task_runs: Vec<TaskRun>,
    /// Its doors.
    pub doors: Vec<Sandbox>,
    /// Its token.
    pub token: IssuedKey,
    /// The definition.
    pub prepared: Arc<Prepared>,
    /// The published version; none for a draft.
    pub version: Option<Box<BenchmarkVersion>>,
}

/// A benchmark of scenarios that is to be taken.
#[derive(Clone, Debug)]
pub struct NewBenchmarkRun {
    /// The organization that starts it.
    pub organization: OrganizationId,
    /// What is taken.
    pub benchmark: BenchmarkId,
    /// What was said about it.
    pub particulars: Particulars,
}

#[boxed_futures]
impl Engine {
    /// Makes a run with its task runs and its token.
    pub async fn create_run(&self, new: NewRun) -> Result<Created, EngineError> {
        let (pinned, version) = match new.taken {
            Taken::Version(version) => (pin(&version)?, Some(version)),
            Taken::Draft(benchmark) => {
                let frozen = self.freeze(new.organization, benchmark).await?;
                let pinned = Pinned {
                    benchmark,
                    version: None,
                    digest: frozen.digest,
                };
                (pinned, None)
            }
        };
        let prepared = self
            .inner
            .catalog
            .benchmark(self.store(), &pinned.digest)
            .await?;
        let benchmark = &prepared.benchmark;
        let tasks = chosen(benchmark, &new.tasks)?;
        let limits: Vec<Duration> = tasks
            .iter()
            .filter_map(|task| benchmark.limit(task))
            .collect();
        let concurrency = new.concurrency.unwrap_or(benchmark.concurrency);
        let now = self.now();
        let run = Run {
            solver: new.solver,
            scored: new.scored,
            agent: new.agent,
            particulars: Particulars {
                metadata: new.labels,
                ..Particulars::default()
            },
            concurrency,
            plan: RunPlan {
                tasks: (!new.tasks.is_empty()).then(|| tasks.iter().map(|task| task.id).collect()),
                held: new.held,
            },
            expires_at: Some(now.plus(token_lifetime(&limits, concurrency))),
            ..self.new_run(self.store().fresh_id(), new.organization, pinned)
        };
        let task_runs: Vec<TaskRun> = tasks
            .iter()
            .map(|task| TaskRun::new(self.store().fresh_id(), Some(run.id), task.id, now))
            .collect();
        let doors = match prepared.blueprint() {
            Some(blueprint) => self.sandboxes(run.organization, Place::Run(run.id), blueprint),
            None => Vec::new(),
        };
        let token = self
            .store()
            .create_run(&run, &task_runs, &doors)
            .await?
            .ok_or_else(|| EngineError::Fault("a run was made without its token".to_owned()))?;
        Ok(Created {
            run,
            task_runs,
            doors,
            token,
            prepared,
            version,
        })
    }

    /// A run that nobody has begun, without a token: any number of its tasks may be taken at once, and task runs join it as
    /// they start.
    pub(crate) fn new_run(&self, id: RunId, organization: OrganizationId, pinned: Pinned) -> Run {
        Run {
            id,
            organization,
            solver: None,
            job: None,
            pinned,
            scored: false,
            agent: None,
            concurrency: NonZeroU32::MAX,
            particulars: Particulars::default(),
            created_at: self.now(),
            expires_at: None,
            ranked_at: None,
            plan: RunPlan::default(),
            state: RunState::Created,
        }
    }

    /// Makes a run of a benchmark of scenarios as its draft stands. Scenarios join it as they are started.
    pub async fn start_benchmark_run(&self, new: NewBenchmarkRun) -> Result<Run, EngineError> {
        let id = match self.store().make_once(|id| self.store().run(id)).await? {
            Made::Before(run) => return Ok(run.value),
            Made::New(id) => id,
        };
        let benchmark = self
            .store()
            .suite(new.organization, new.benchmark)
            .await?
            .ok_or(EngineError::NotFound("benchmark"))?;
        if benchmark.archived {
            let message = "the benchmark is archived; unarchive it before it is run";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let archived = self.store().archived_scenarios_in(new.benchmark).await?;
        if !archived.is_empty() {
            return Err(EngineError::ScenariosArchived(archived));
        }
        let profile = &new.particulars.profile;
        let required = &benchmark.draft.content.requires;
        self.check_brought(new.organization, required, profile)
            .await?;
        let frozen = authoring::freeze_suite(
            self.store(),
            self.extensions(),
            benchmark.owner,
            new.benchmark,
        )
        .await?;
        let run = Run {
            particulars: new.particulars,
            ..self.new_run(
                id,
                new.organization,
                Pinned {
                    benchmark: new.benchmark,
                    version: None,
                    digest: frozen.digest,
                },
            )
        };
        self.store().create_run(&run, &[], &[]).await?;
        Ok(run)
    }

    /// Names everything that should have been brought along and was not.
    pub(crate) async fn check_brought(
        &self,
        organization: OrganizationId,
        required: &Requirements,
        profile: &RunProfile,
    ) -> Result<(), EngineError> {
        let lacking = self.not_brought(organization, required, profile).await?;
        if !lacking.is_empty() {
            return Err(EngineError::NotBrought(lacking));
        }
        // What a box needs is looked for again when one is made.
        let store = self.store();
        let box_of_profile = DevboxDefinition {
            launch: Some(profile.launch.clone()),
            ..DevboxDefinition::default()
        };
        let mut missing =
            references::check_definition(store, organization, &box_of_profile).await?;
        let mounts = &profile.mounts;
        missing
            .extend(references::check_mounts(store, organization, mounts, Readiness::Known).await?);
        match missing.is_empty() {
            true => Ok(()),
            false => Err(EngineError::DevboxRequest(missing)),
        }
    }

    /// Everything that should have been brought along and was not.
    pub(crate) async fn not_brought(
        &self,
        organization: OrganizationId,
        required: &Requirements,
        profile: &RunProfile,
    ) -> Result<Vec<NotBrought>, EngineError> {
        let missing = required.missing_from(profile);
        let variables = missing.environment_variables.into_iter();
        let secrets = missing.secrets.into_iter();
        let mut lacking: Vec<NotBrought> = variables
            .map(NotBrought::Variable)
            .chain(secrets.map(NotBrought::Secret))
            .collect();
        let named: BTreeSet<&String> = profile.secrets.values().collect();
        for name in named {
            if self.store().secret(organization, name).await?.is_none() {
                lacking.push(NotBrought::NoSuchSecret(name.clone()));
            }
        }
        Ok(lacking)
    }

    /// Sandboxes for the doors of a playground or a run.
    pub(crate) fn sandboxes(
        &self,
        organization: OrganizationId,
        place: Place,
        blueprint: &Blueprint,
    ) -> Vec<Sandbox> {
        let now = self.now();
        blueprint
            .doors()
            .iter()
            .zip(0..)
            .map(|(door, number)| Sandbox {
                id: self.store().fresh_id(),
                organization,
                place,
                door: number,
                simulator: door.simulator,
                kind: door.kind(),
                name: door.name.clone(),
                created_at: now,
            })
            .collect()
    }
}

/// The tasks of a benchmark that are chosen by ids, names or patterns, in their order; all of them if nothing is chosen.
fn chosen<'a>(benchmark: &'a Benchmark, patterns: &[String]) -> Result<Vec<&'a Task>, EngineError> {
    let is_chosen = |task: &&Task, pattern: &str| {
        [Dialect::Verial, Dialect::Runloop]
            .map(|dialect| task.id.wire(dialect))
            .iter()
            .any(|id| id == pattern)
            || proctor_harbor::pattern::matches(pattern, &task.name)
    };
    let tasks = || benchmark.tasks.iter();
    if let Some(pattern) = patterns
        .iter()
        .find(|pattern| !tasks().any(|task| is_chosen(&task, pattern)))
    {
        let names: Vec<String> = tasks()
            .take(NAMED_TASKS)
            .map(|task| format!("'{}'", task.name))
            .collect();
        let more = match benchmark.tasks.len().saturating_sub(NAMED_TASKS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return Err(EngineError::Unclear(format!(
            "no task matches '{pattern}'; the tasks are {}{more}",
            names.join(", ")
        )));
    }
    let is_taken = |task: &&Task| {
        patterns.is_empty() || patterns.iter().any(|pattern| is_chosen(task, pattern))
    };
    Ok(tasks().filter(is_taken).collect())
}
