//! A benchmark's draft with everything that it is made of, as it stood at one moment.

use std::collections::BTreeMap;

use proctor_core::{
    environment::Dataset,
    id::kinds::{BenchmarkId, DatasetId, EnvironmentId, OrganizationId, TaskId},
};

use crate::{
    Store, StoreError,
    benchmarks::{BenchmarkDraft, BenchmarkRecord},
    criteria::{CriterionDraft, CriterionRecord},
    database::{Query, Transaction},
    datasets::DatasetDraft,
    drafts::Authored as _,
    entities::{EntityDraft, EntityRecord},
    environments::{EnvironmentDraft, EnvironmentRecord},
    simulators::{SimulatorDraft, SimulatorRecord},
    tasks::{TaskDraft, TaskRecord},
};
use proctor_macros::boxed_futures;

/// A benchmark's draft and all drafts that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeBenchmark {
    /// The benchmark itself.
    pub benchmark: BenchmarkRecord,
    /// Where its tasks are done.
    pub environment: Option<WholeEnvironment>,
    /// Its tasks, in order.
    pub tasks: Vec<WholeTask>,
}

/// An environment's draft and all drafts that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeEnvironment {
    /// The environment itself.
    pub environment: EnvironmentRecord,
    /// Its simulators, in order.
    pub simulators: Vec<SimulatorRecord>,
    /// The data sets that they begin with.
    pub datasets: BTreeMap<DatasetId, Dataset>,
}

/// A task's draft and all drafts that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeTask {
    /// The task itself.
    pub task: TaskRecord,
    /// What it is about, in order.
    pub entities: Vec<EntityRecord>,
    /// What is checked, in order.
    pub criteria: Vec<CriterionRecord>,
}

#[boxed_futures]
impl Store {
    /// One of the organization's benchmarks with all of it.
    pub async fn whole_benchmark(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
    ) -> Result<Option<WholeBenchmark>, StoreError> {
        let mut moment = self.database().snapshot().await?;
        let query = BenchmarkDraft::query(organization, id);
        let Some(row) = moment.read_optional(query).await? else {
            return Ok(None);
        };
        let benchmark = BenchmarkDraft::read(&row)?;
        let environment = match benchmark.content.environment {
            Some(environment) => read_environment(&mut moment, organization, environment).await?,
            None => None,
        };
        let tasks = read_tasks(&mut moment, id).await?;
        Ok(Some(WholeBenchmark {
            benchmark,
            environment,
            tasks,
        }))
    }

    /// One of the organization's environments with all of it.
    pub async fn whole_environment(
        &self,
        organization: OrganizationId,
        id: EnvironmentId,
    ) -> Result<Option<WholeEnvironment>, StoreError> {
        let mut moment = self.database().snapshot().await?;
        read_environment(&mut moment, organization, id).await
    }
}

async fn read_environment(
    moment: &mut Transaction,
    organization: OrganizationId,
    id: EnvironmentId,
) -> Result<Option<WholeEnvironment>, StoreError> {
    let query = EnvironmentDraft::query(organization, id);
    let Some(row) = moment.read_optional(query).await? else {
        return Ok(None);
    };
    let environment = EnvironmentDraft::read(&row)?;
    let query = Query::new(
        "SELECT s.id, s.body, s.created_at, s.updated_at FROM simulators s \
         JOIN environment_simulators l ON l.simulator = s.id WHERE l.environment = $1 \
         ORDER BY l.position, s.id",
    )
    .bind(id);
    let rows = moment.read_all(query).await?;
    let simulators = rows
        .iter()
        .map(SimulatorDraft::read)
        .collect::<Result<_, _>>()?;
    let query = Query::new(
        "SELECT id, body, data, created_at, updated_at FROM datasets WHERE id IN ( \
         SELECT d.dataset FROM simulator_datasets d \
         JOIN environment_simulators l ON l.simulator = d.simulator WHERE l.environment = $1)",
    )
    .bind(id);
    let mut datasets = BTreeMap::new();
    for row in moment.read_all(query).await? {
        let record = DatasetDraft::read(&row)?;
        let dataset = Dataset {
            id: record.id,
            name: record.content.name,
            kind: record.content.kind,
            data: row.json("data")?,
        };
        datasets.insert(record.id, dataset);
    }
    Ok(Some(WholeEnvironment {
        environment,
        simulators,
        datasets,
    }))
}

async fn read_tasks(
    moment: &mut Transaction,
    benchmark: BenchmarkId,
) -> Result<Vec<WholeTask>, StoreError> {
    let query = Query::new(
        "SELECT t.id, t.body, t.created_at, t.updated_at FROM tasks t \
         JOIN benchmark_tasks l ON l.task = t.id WHERE l.benchmark = $1 ORDER BY l.position, t.id",
    )
    .bind(benchmark);
    let tasks = moment.read_all(query).await?;

    let query = Query::new(
        "SELECT e.id, e.body, e.created_at, e.updated_at, m.task FROM entities e \
         JOIN task_entities m ON m.entity = e.id JOIN benchmark_tasks l ON l.task = m.task \
         WHERE l.benchmark = $1 ORDER BY m.task, m.position, e.id",
    )
    .bind(benchmark);
    let mut entities: BTreeMap<TaskId, Vec<EntityRecord>> = BTreeMap::new();
    for row in moment.read_all(query).await? {
        let of = entities.entry(row.id("task")?).or_default();
        of.push(EntityDraft::read(&row)?);
    }

    let query = Query::new(
        "SELECT c.id, c.body, c.created_at, c.updated_at FROM criteria c \
         JOIN benchmark_tasks l ON l.task = c.task WHERE l.benchmark = $1 ORDER BY c.id",
    )
    .bind(benchmark);
    let mut criteria: BTreeMap<TaskId, Vec<CriterionRecord>> = BTreeMap::new();
    for row in moment.read_all(query).await? {
        let criterion = CriterionDraft::read(&row)?;
        let of = criteria.entry(criterion.content.task).or_default();
        of.push(criterion);
    }

    tasks
        .iter()
        .map(|row| {
            let task = TaskDraft::read(row)?;
            Ok(WholeTask {
                entities: entities.remove(&task.id).unwrap_or_default(),
                criteria: criteria.remove(&task.id).unwrap_or_default(),
                task,
            })
        })
        .collect()
}
