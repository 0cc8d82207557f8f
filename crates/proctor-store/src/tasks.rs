//! Tasks as their authors have them, and the benchmarks they are in.

use std::collections::BTreeMap;

use proctor_core::{
    definition::{ClockPolicy, Requirements, Seconds, Validation},
    devbox::DevboxDefinition,
    document::Document,
    id::kinds::{BenchmarkId, OrganizationId, TaskId, TaskKind},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Store, StoreError,
    benchmarks::BenchmarkRecord,
    drafts::{Authored, Column, Draft},
    links::Links,
    names,
    page::{Page, PageRequest},
};
use proctor_macros::boxed_futures;

/// A task as its author has it. Its criteria are drafts of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskDraft {
    /// What people call it.
    pub name: String,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
    /// The author's own labels, for choosing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What the taker is told.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub brief: Value,
    /// What happens in the benchmark's environment when the task starts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenario: Vec<Value>,
    /// Whether the taker may advance the clock of its world.
    #[serde(default, skip_serializing_if = "ClockPolicy::is_advanceable")]
    pub clock: ClockPolicy,
    /// Values of the finished world that criteria may name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, Value>,
    /// What the task says of its box, if it is done in one and not in the benchmark's environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devbox: Option<Document<DevboxDefinition>>,
    /// How the task is solved.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub reference: Value,
    /// What the reference proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// How long judging may take in a box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scoring_timeout: Option<Seconds>,
    /// What a taker must bring.
    #[serde(default)]
    pub requires: Requirements,
    /// The author's own labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// A task that was read.
pub type TaskRecord = Draft<TaskKind, TaskDraft>;

impl Authored for TaskDraft {
    type Kind = TaskKind;
    const TABLE: &'static str = "tasks";

    fn columns(&self) -> Vec<Column> {
        let mut columns = names::columns(Some(&self.name));
        columns.push(("metadata", names::labels(&self.metadata)));
        let validation = self.validation.map(|one| one.as_str().to_owned());
        columns.push(("validation", validation.into()));
        columns.push(("in_box", self.devbox.is_some().into()));
        columns
    }
}

pub(crate) const BENCHMARK_TASKS: Links = Links {
    table: "benchmark_tasks",
    owner: "benchmark",
    item: "task",
};

#[boxed_futures]
impl Store {
    /// Makes a task, the last of a benchmark or of none.
    pub async fn create_task(
        &self,
        organization: OrganizationId,
        benchmark: Option<&BenchmarkRecord>,
        draft: TaskDraft,
    ) -> Result<TaskRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let record = self
            .insert_draft(&mut transaction, organization, draft, Vec::new())
            .await?;
        if let Some(benchmark) = benchmark {
            BENCHMARK_TASKS
                .append(&mut transaction, benchmark.id, record.id)
                .await?;
        }
        transaction.commit().await?;
        Ok(record)
    }

    /// One of the organization's tasks.
    pub async fn task(
        &self,
        organization: OrganizationId,
        id: TaskId,
    ) -> Result<Option<TaskRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The organization's tasks, of one benchmark or all.
    pub async fn tasks(
        &self,
        organization: OrganizationId,
        benchmark: Option<BenchmarkId>,
        page: PageRequest<TaskKind>,
    ) -> Result<Page<TaskRecord>, StoreError> {
        let mut listing = TaskDraft::listing(organization);
        if let Some(benchmark) = benchmark {
            listing = listing.among(
                "SELECT task FROM benchmark_tasks WHERE benchmark",
                benchmark,
            );
        }
        listing.page(self.database(), page, TaskDraft::read).await
    }

    /// For each of these tasks the oldest benchmark that it is in, if it is in one.
    pub async fn benchmarks_of(
        &self,
        tasks: &[TaskId],
    ) -> Result<BTreeMap<TaskId, BenchmarkId>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT task, MIN(benchmark) AS benchmark FROM benchmark_tasks \
                 WHERE task IN ({list}) GROUP BY task"
            )
        };
        let rows = self.database().read_for(tasks, &[], text).await?;
        rows.iter()
            .map(|row| Ok((row.id("task")?, row.id("benchmark")?)))
            .collect()
    }

    /// Writes a changed draft over `read`; [`StoreError::Stale`] if it has changed since.
    pub async fn update_task(
        &self,
        read: &TaskRecord,
        draft: TaskDraft,
    ) -> Result<TaskRecord, StoreError> {
        self.update_draft(read, draft).await
    }

    /// Deletes a task with its criteria; `false` when there is none.
    pub async fn delete_task(
        &self,
        organization: OrganizationId,
        id: TaskId,
    ) -> Result<bool, StoreError> {
        self.delete_draft::<TaskDraft>(organization, id).await
    }

    /// Puts a task behind those that the benchmark has, unless it has it.
    pub async fn add_task(
        &self,
        benchmark: &BenchmarkRecord,
        task: &TaskRecord,
    ) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        BENCHMARK_TASKS
            .append(&mut transaction, benchmark.id, task.id)
            .await?;
        transaction.commit().await
    }

    /// Takes a task out of a benchmark; `false` when it was not in it.
    pub async fn remove_task(
        &self,
        benchmark: &BenchmarkRecord,
        task: TaskId,
    ) -> Result<bool, StoreError> {
        BENCHMARK_TASKS
            .remove(self.database(), benchmark.id, task)
            .await
    }
}
