//! Drafts as the engine needs them: frozen on the way into a world.

use std::collections::BTreeMap;

use proctor_core::{
    canonical::Digest,
    definition::Task,
    environment::{Dataset, Environment},
    id::kinds::{BenchmarkId, DatasetId, EnvironmentId, OrganizationId, SimulatorId},
};

use crate::{
    authoring::{self, Frozen, compose},
    engine::Engine,
    error::EngineError,
};
use proctor_macros::boxed_futures;

#[boxed_futures]
impl Engine {
    /// Freezes a benchmark as its drafts stand.
    pub(crate) async fn freeze(
        &self,
        organization: OrganizationId,
        benchmark: BenchmarkId,
    ) -> Result<Frozen, EngineError> {
        Ok(authoring::freeze(self.store(), self.extensions(), organization, benchmark).await?)
    }

    /// Freezes an environment as it stands.
    pub(crate) async fn freeze_environment(
        &self,
        organization: OrganizationId,
        id: EnvironmentId,
    ) -> Result<Digest, EngineError> {
        let whole = self
            .store()
            .whole_environment(organization, id)
            .await?
            .ok_or(EngineError::NotFound("environment"))?;
        let environment = compose::environment(&whole);
        Ok(self
            .store()
            .put_environment_definition(&environment)
            .await?)
    }

    /// Freezes an environment of one simulator as it stands.
    pub(crate) async fn freeze_simulator(
        &self,
        organization: OrganizationId,
        id: SimulatorId,
    ) -> Result<Digest, EngineError> {
        let simulator = self
            .store()
            .simulator(organization, id)
            .await?
            .ok_or(EngineError::NotFound("simulator"))?;
        let mut datasets = BTreeMap::new();
        for id in &simulator.content.datasets {
            if let Some(dataset) = self.dataset(organization, *id).await? {
                datasets.insert(*id, dataset);
            }
        }
        let environment = Environment {
            name: simulator.content.name.clone(),
            simulators: vec![compose::simulator(&simulator, &datasets)],
        };
        Ok(self
            .store()
            .put_environment_definition(&environment)
            .await?)
    }

    /// One of the organization's data sets with its data.
    pub async fn dataset(
        &self,
        organization: OrganizationId,
        id: DatasetId,
    ) -> Result<Option<Dataset>, EngineError> {
        let Some(record) = self.store().dataset(organization, id).await? else {
            return Ok(None);
        };
        let data = self.store().dataset_data(organization, id).await?;
        Ok(data.map(|data| Dataset {
            id,
            name: record.content.name,
            kind: record.content.kind,
            data,
        }))
    }

    /// A frozen task with the criteria and entities that its draft has now.
    pub(crate) async fn with_draft_criteria(
        &self,
        organization: OrganizationId,
        benchmark: BenchmarkId,
        frozen: &Task,
    ) -> Result<Task, EngineError> {
        let whole = self
            .store()
            .whole_benchmark(organization, benchmark)
            .await?
            .ok_or(EngineError::NotFound("benchmark"))?;
        let draft = whole
            .tasks
            .iter()
            .find(|whole| whole.task.id == frozen.id)
            .ok_or_else(|| {
                EngineError::Unclear("the draft of this task no longer exists".to_owned())
            })?;
        let (entities, criteria) = compose::rubric(draft);
        Ok(Task {
            entities,
            capture: draft.task.content.capture.clone(),
            criteria,
            ..frozen.clone()
        })
    }
}
