//! A scenario or a benchmark of scenarios begins.

use std::{collections::BTreeSet, num::NonZeroU32, sync::Arc};

use proctor_core::{
    canonical::Digest,
    definition::{Benchmark, Requirements, Task, World},
    devbox::{DevboxDefinition, DevboxRequest},
    document::Document,
    id::{
        Dialect,
        kinds::{BenchmarkId, DevboxId, OrganizationId, RunId, TaskId, TaskRunId},
    },
    profile::{Particulars, RunProfile},
    refused::Refused,
    run::{Pinned, Run, RunState},
    task_run::TaskRun,
};
use proctor_store::{StoreError, repeatable::Made, runs::Progress};

use super::{BoxError, BoxOrder, TRIES};
use crate::{
    authoring, catalog::Prepared, engine::Engine, error::EngineError, problems::NotBrought,
};

/// A scenario that is to be taken.
#[derive(Clone, Debug)]
pub struct NewScenarioRun {
    /// The organization that starts it.
    pub organization: OrganizationId,
    /// What is taken.
    pub scenario: TaskId,
    /// The benchmark run that it belongs to, if it belongs to one.
    pub run: Option<RunId>,
    /// What was said about it.
    pub particulars: Particulars,
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

/// What a scenario run is started from.
struct Ground {
    prepared: Arc<Prepared>,
    /// The definition of a scenario that is taken by itself.
    definition: Option<Digest>,
    /// What the benchmark run brings along.
    general: RunProfile,
}

/// What the box of a task run is made from.
pub(crate) struct BoxFor<'a> {
    /// Who pays for it.
    pub(crate) organization: OrganizationId,
    /// The frozen benchmark that the task is of.
    pub(crate) benchmark: &'a Benchmark,
    /// The frozen task.
    pub(crate) task: &'a Task,
    /// What the task says of its box.
    pub(crate) parameters: &'a Document<DevboxDefinition>,
    /// What was brought along, all levels taken together.
    pub(crate) profile: &'a RunProfile,
}

impl Engine {
    /// Starts a run of a benchmark as its draft stands. Scenarios join it as they are started.
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
        if let Some(why) = self.put_away_in(new.benchmark).await? {
            return Err(EngineError::Unclear(why));
        }
        let profile = &new.particulars.profile;
        let required = &benchmark.draft.content.requires;
        self.check_brought(new.organization, required, profile)
            .await?;
        let frozen = authoring::freeze_suite(self.store(), benchmark.owner, new.benchmark).await?;
        let run = Run {
            id,
            organization: new.organization,
            solver: None,
            job: None,
            pinned: Pinned {
                benchmark: new.benchmark,
                version: None,
                digest: frozen.digest,
            },
            scored: false,
            agent: None,
            concurrency: NonZeroU32::MAX,
            particulars: new.particulars,
            created_at: self.now(),
            expires_at: None,
            ranked_at: None,
            state: RunState::Created,
        };
        self.store().create_run(&run, &[], &[]).await?;
        Ok(run)
    }

    /// Why a benchmark cannot be run as long as scenarios of it are put away, if any are.
    pub(crate) async fn put_away_in(
        &self,
        benchmark: BenchmarkId,
    ) -> Result<Option<String>, EngineError> {
        let archived = self.store().archived_scenarios_in(benchmark).await?;
        let named: Vec<String> = archived
            .iter()
            .map(|scenario| scenario.wire(Dialect::Runloop))
            .collect();
        Ok((!named.is_empty()).then(|| {
            format!(
                "scenarios of this benchmark are archived: {}; unarchive them or take them out of it before it is run",
                named.join(", ")
            )
        }))
    }

    /// Starts a scenario: its box is asked for, and comes to be in the background.
    pub async fn start_scenario(&self, new: NewScenarioRun) -> Result<TaskRun, EngineError> {
        let made = self.store().make_once(|id| self.store().boxed_task_run(id));
        match made.await? {
            Made::Before(owned) => Ok(owned.task_run.value),
            Made::New(id) => self.start_scenario_as(id, new).await,
        }
    }

    /// The same under an id that was chosen before.
    pub(crate) async fn start_scenario_as(
        &self,
        id: TaskRunId,
        new: NewScenarioRun,
    ) -> Result<TaskRun, EngineError> {
        self.workshop()?;
        let ground = match new.run {
            Some(run) => self.ground_of_run(&new, run).await?,
            None => self.ground_of_draft(&new).await?,
        };
        let (task, _) = ground.prepared.task(new.scenario)?;
        let World::Devbox { parameters } = &task.world else {
            let message = "this task is done in a playground, not in a devbox";
            return Err(EngineError::Unclear(message.to_owned()));
        };
        let profile = new.particulars.profile.over(&ground.general);
        let mut task_run = TaskRun {
            definition: ground.definition,
            particulars: Particulars {
                profile: profile.clone(),
                ..new.particulars.clone()
            },
            ..TaskRun::new(id, new.run, new.scenario, self.now())
        };
        let wanted = BoxFor {
            organization: new.organization,
            benchmark: &ground.prepared.benchmark,
            task,
            parameters,
            profile: &profile,
        };
        let devbox = self.box_for(&task_run, wanted).await?;
        task_run.devbox = Some(devbox);
        match self
            .begin_scenario(&new, &ground.prepared, task, task_run)
            .await
        {
            Ok(task_run) => {
                self.watch(new.organization, task_run.id, devbox);
                Ok(task_run)
            }
            Err(error) => {
                self.give_back(new.organization, devbox).await;
                Err(error)
            }
        }
    }

    /// Asks for the box of a task run, if everything was brought along that the task and its benchmark require.
    pub(crate) async fn box_for(
        &self,
        task_run: &TaskRun,
        wanted: BoxFor<'_>,
    ) -> Result<DevboxId, EngineError> {
        let required = wanted.benchmark.requires.and(&wanted.task.requires);
        self.check_brought(wanted.organization, &required, wanted.profile)
            .await?;
        let definition = wanted.parameters.get();
        let definition =
            definition.map_err(|problem| EngineError::UnreadableDevbox(problem.clone()))?;
        let profile = wanted.profile;
        let name = task_run.particulars.name.clone();
        let order = BoxOrder {
            organization: wanted.organization,
            task_run: task_run.id,
            name: name.unwrap_or_else(|| wanted.task.name.clone()),
            request: DevboxRequest {
                base: definition.base.clone(),
                launch: match &definition.launch {
                    Some(general) => profile.launch.over(general),
                    None => profile.launch.clone(),
                },
                environment: profile.environment.clone(),
                secrets: profile.secrets.clone(),
                mounts: profile.mounts.clone(),
                entrypoint: None,
            },
        };
        Ok(self.workshop()?.boxes.create(order).await?)
    }

    /// Writes that a scenario has begun.
    async fn begin_scenario(
        &self,
        new: &NewScenarioRun,
        prepared: &Prepared,
        task: &Task,
        task_run: TaskRun,
    ) -> Result<TaskRun, EngineError> {
        for _ in 0..TRIES {
            let now = self.now();
            let limit = prepared.benchmark.limit(task);
            let task_run = task_run.clone().start(now, limit)?.into_inner();
            let written = match new.run {
                None => {
                    let organization = new.organization;
                    self.store().create_task_run(organization, &task_run).await
                }
                Some(run) => {
                    let standing = self.current(run).await?;
                    let others = standing.values();
                    let admitted = standing.run.value.clone().admit(now, &others)?;
                    let progress = Progress {
                        // Hundreds may join a run at once: whether it goes on is looked at as they do.
                        run: standing.change_of_run(admitted.into_inner()),
                        joins: Some(task_run.clone()),
                        ..Progress::default()
                    };
                    self.store().record(&progress).await
                }
            };
            match written {
                Ok(()) => {
                    if let Some(deadline) = task_run.deadline() {
                        self.inner.deadlines.keep(task_run.id, deadline);
                    }
                    return Ok(task_run);
                }
                Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Stale.into())
    }

    /// A scenario of a benchmark run: as the run's definition has it.
    async fn ground_of_run(&self, new: &NewScenarioRun, run: RunId) -> Result<Ground, EngineError> {
        let standing = self.current(run).await?;
        if standing.run.value.organization != new.organization {
            return Err(EngineError::NotFound("benchmark run"));
        }
        if standing.run.value.is_over() {
            return Err(Refused::RunOver(standing.run.value.status()).into());
        }
        let benchmark = &standing.prepared.benchmark;
        if !benchmark.tasks.iter().any(|task| task.id == new.scenario) {
            let message = "the scenario is not part of the benchmark that this benchmark run takes";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        Ok(Ground {
            definition: None,
            general: standing.run.value.particulars.profile.clone(),
            prepared: standing.prepared,
        })
    }

    /// A scenario by itself: as its draft stands.
    async fn ground_of_draft(&self, new: &NewScenarioRun) -> Result<Ground, EngineError> {
        let scenario = self
            .store()
            .scenario(new.organization, new.scenario)
            .await?
            .ok_or(EngineError::NotFound("scenario"))?;
        if scenario.placed.archived {
            let message = "the scenario is archived; unarchive it before it is run";
            return Err(EngineError::Unclear(message.to_owned()));
        }
        let frozen = authoring::freeze_scenario(self.store(), new.scenario).await?;
        let prepared = self
            .inner
            .catalog
            .benchmark(self.store(), &frozen.digest)
            .await?;
        Ok(Ground {
            prepared,
            definition: Some(frozen.digest),
            general: RunProfile::default(),
        })
    }

    /// Names everything that should have been brought along and was not.
    async fn check_brought(
        &self,
        organization: OrganizationId,
        required: &Requirements,
        profile: &RunProfile,
    ) -> Result<(), EngineError> {
        let lacking = self.not_brought(organization, required, profile).await?;
        match lacking.is_empty() {
            true => Ok(()),
            false => Err(EngineError::NotBrought(lacking)),
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

    /// Ends a box that no task run came to own.
    pub(crate) async fn give_back(&self, organization: OrganizationId, devbox: DevboxId) {
        let Ok(workshop) = self.workshop() else {
            return;
        };
        if let Err(error) = workshop.boxes.shut_down(organization, devbox).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, %devbox, "a devbox that nobody needs could not be ended");
        }
    }
}

impl From<BoxError> for EngineError {
    fn from(error: BoxError) -> Self {
        match error {
            BoxError::Invalid(problems) => Self::DevboxRequest(problems),
            BoxError::Impossible(why) => Self::Unclear(why),
            BoxError::Ended => Self::Unclear(error.to_string()),
            BoxError::Failed(_) => Self::Box(error),
        }
    }
}
