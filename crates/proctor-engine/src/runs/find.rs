//! Looking at runs, and finding the world that an agent means.

use std::sync::Arc;

use proctor_core::{
    canonical::Digest,
    definition::{BenchmarkVersion, Slug, Visibility},
    id::kinds::{BenchmarkId, OrganizationId, RunId, TaskRunId, WorldId},
    refused::Refused,
    run::{Pinned, Run},
    task_run::TaskRun,
};
use proctor_macros::boxed_futures;
use proctor_playground::{
    environment::Blueprint,
    world::{Contents, Origin, Scenario, World},
};
use proctor_simulation::seed::Seed;
use proctor_store::playgrounds::{Place, Sandbox};

use serde_json::Value;
use uuid::Uuid;

use super::{Asked, start::playground_of};
use crate::{catalog::Prepared, engine::Engine, error::EngineError};

/// A run with everything around it.
pub struct RunDetails {
    /// The run.
    pub run: Run,
    /// Its task runs, in the order of the tasks.
    pub task_runs: Vec<TaskRun>,
    /// Its doors.
    pub doors: Vec<Sandbox>,
    /// The definition.
    pub prepared: Arc<Prepared>,
}

/// A task run with what it was started from.
pub struct TaskRunDetails {
    /// The task run.
    pub task_run: TaskRun,
    /// The definition.
    pub prepared: Arc<Prepared>,
}

/// What a run of a version is pinned to, unless no new run of it may begin.
pub(crate) fn pin(version: &BenchmarkVersion) -> Result<Pinned, EngineError> {
    match version.stopped_at {
        Some(_) => Err(Refused::NoNewRuns.into()),
        None => Ok(Pinned {
            benchmark: version.benchmark,
            version: Some(version.version),
            digest: version.digest,
        }),
    }
}

#[boxed_futures]
impl Engine {
    /// A run as it stands now.
    pub async fn run_details(&self, id: RunId) -> Result<RunDetails, EngineError> {
        let whole = self.whole_run(id).await?;
        Ok(RunDetails {
            doors: self.store().sandboxes_of(Place::Run(id)).await?,
            run: whole.run.value,
            task_runs: whole.task_runs.into_iter().map(|one| one.value).collect(),
            prepared: whole.prepared,
        })
    }

    /// A task run of a run as it stands now.
    pub async fn task_run_details(
        &self,
        run: RunId,
        id: TaskRunId,
    ) -> Result<TaskRunDetails, EngineError> {
        let found = self.current_task_run(Asked::InRun(run), id).await?;
        Ok(TaskRunDetails {
            task_run: found.task_run.value,
            prepared: found.prepared,
        })
    }

    /// One of the organization's task runs in boxes as it stands now.
    pub async fn scenario_run_details(
        &self,
        organization: OrganizationId,
        id: TaskRunId,
    ) -> Result<TaskRunDetails, EngineError> {
        let asked = Asked::InBoxOf(organization);
        let found = self.current_task_run(asked, id).await?;
        Ok(TaskRunDetails {
            task_run: found.task_run.value,
            prepared: found.prepared,
        })
    }

    /// The definition of a run.
    pub async fn definition_of(&self, run: &Run) -> Result<Arc<Prepared>, EngineError> {
        self.definition(&run.pinned.digest).await
    }

    /// What was frozen under this digest.
    pub async fn definition(&self, digest: &Digest) -> Result<Arc<Prepared>, EngineError> {
        self.inner.catalog.benchmark(self.store(), digest).await
    }

    /// What a member of an organization takes who asks for `slug@version`, whether or not it can still be taken.
    pub async fn version_to_take(
        &self,
        organization: OrganizationId,
        slug: &Slug,
        version: u32,
    ) -> Result<BenchmarkVersion, EngineError> {
        let found = self.store().find_version(organization, slug, version);
        found.await?.ok_or(EngineError::NotFound("benchmark"))
    }

    /// The newest version of a benchmark that the organization can take, its own or one that others show to everybody; none
    /// if it is its own and nothing of it is published.
    pub async fn newest_version(
        &self,
        organization: OrganizationId,
        benchmark: BenchmarkId,
    ) -> Result<Option<BenchmarkVersion>, EngineError> {
        let known = self
            .store()
            .visible_benchmark(organization, benchmark)
            .await?;
        let versions = self.store().benchmark_versions(benchmark).await?;
        let Some((owner, _)) = known else {
            // Everybody could see it once, so everybody may learn why it cannot be taken any more.
            let was_stopped = |version: &BenchmarkVersion| {
                version.visibility == Visibility::Public && version.stopped_at.is_some()
            };
            return Err(match versions.iter().any(was_stopped) {
                true => Refused::NoNewRuns.into(),
                false => EngineError::NotFound("benchmark"),
            });
        };
        let is_listed = |version: &&BenchmarkVersion| {
            let is_open = owner == organization || version.visibility == Visibility::Public;
            is_open && version.unpublished_at.is_none()
        };
        match versions.iter().find(is_listed) {
            Some(newest) => Ok(Some(newest.clone())),
            None if versions.iter().any(|one| one.stopped_at.is_some()) => {
                Err(Refused::NoNewRuns.into())
            }
            None => Ok(None),
        }
    }

    /// What an agent needs to use each door of a run; addresses begin with `prefix`.
    pub fn run_credentials(
        &self,
        run: RunId,
        blueprint: &Arc<Blueprint>,
        prefix: &str,
    ) -> Vec<Value> {
        self.credentials(blueprint, self.seed_of_run(run), prefix)
    }

    pub(crate) fn credentials(
        &self,
        blueprint: &Arc<Blueprint>,
        seed: Seed,
        prefix: &str,
    ) -> Vec<Value> {
        let origin = Origin {
            id: WorldId::from_uuid(Uuid::nil()),
            blueprint: Arc::clone(blueprint),
            seed,
            base_url: String::new(),
            scenario: Scenario::default(),
        };
        Contents::credentials(&origin, prefix)
    }

    /// The world that requests of a run go to: that of the task run at work, or of the chosen one
    /// where several are.
    pub async fn world_of_run(
        &self,
        run: RunId,
        chosen: Option<TaskRunId>,
    ) -> Result<World, EngineError> {
        if let Some(world) = self.known_route(run, chosen) {
            return Ok(world);
        }
        let current = self.active_run(run).await?;
        let mut at_work = current.active.iter().map(|one| &one.value);
        let task_run = match chosen {
            Some(id) => match at_work.find(|one| one.id == id) {
                Some(one) => one,
                None => return Err(self.not_at_work(run, id).await?),
            },
            None => match (at_work.next(), at_work.next()) {
                (Some(one), None) => one,
                (None, _) => {
                    return Err(EngineError::Unclear(
                        "no task run of this benchmark run is started; start one first".to_owned(),
                    ));
                }
                (Some(_), Some(_)) => {
                    return Err(EngineError::SeveralStarted);
                }
            },
        };
        let world = self.world_of_task(task_run, &current.prepared).await?;
        let is_only_one = current.active.len() == 1;
        self.inner.routes.keep(run, task_run, is_only_one);
        Ok(world)
    }

    /// Why nothing can be done in the world of a task run that is not at work.
    async fn not_at_work(&self, run: RunId, id: TaskRunId) -> Result<EngineError, EngineError> {
        let found = self.task_run_snapshot(Asked::InRun(run), id).await?;
        Ok(match found.value().is_over() {
            true => Refused::TaskRunOver(found.value().status()).into(),
            false => Refused::TaskRunNotStarted.into(),
        })
    }

    /// The world that the same request went to before, without asking the database. It may have been
    /// frozen by another node since; then the journal refuses what would change it.
    fn known_route(&self, run: RunId, chosen: Option<TaskRunId>) -> Option<World> {
        let task_run = self.inner.routes.find(run, chosen, self.now())?;
        let world = self.inner.worlds.get(playground_of(task_run))?;
        world.frozen_at().is_none().then_some(world)
    }
}
