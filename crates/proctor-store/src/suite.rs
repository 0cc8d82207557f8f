//! Benchmarks as ordered sets of scenarios.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::id::kinds::{BenchmarkId, BenchmarkKind, OrganizationId, TaskId};

use crate::{
    Store, StoreError,
    benchmarks::{BenchmarkDraft, BenchmarkRecord},
    database::{Query, Transaction},
    names::Sought,
    page::{Page, PageRequest},
    placed::{Placed, Whose},
    repeatable::Made,
    tasks::{BENCHMARK_TASKS, TaskDraft},
};
use proctor_macros::boxed_futures;

#[boxed_futures]
impl Store {
    /// Makes a benchmark of these scenarios, in this order.
    pub async fn create_suite(
        &self,
        organization: OrganizationId,
        draft: BenchmarkDraft,
        scenarios: &[TaskId],
    ) -> Result<BenchmarkRecord, StoreError> {
        self.insert_suite(organization, draft, scenarios, false)
            .await
    }

    /// The same, put away from the beginning: no list ever shows it.
    pub async fn create_archived_suite(
        &self,
        organization: OrganizationId,
        draft: BenchmarkDraft,
        scenarios: &[TaskId],
    ) -> Result<BenchmarkRecord, StoreError> {
        self.insert_suite(organization, draft, scenarios, true)
            .await
    }

    async fn insert_suite(
        &self,
        organization: OrganizationId,
        draft: BenchmarkDraft,
        scenarios: &[TaskId],
        is_archived: bool,
    ) -> Result<BenchmarkRecord, StoreError> {
        let made = self.make_once(|id| self.suite(organization, id));
        let id = match made.await? {
            Made::Before(benchmark) => return Ok(benchmark.draft),
            Made::New(id) => id,
        };
        let mut transaction = self.database().begin().await?;
        let record = self
            .insert_draft_as(id, &mut transaction, organization, draft, Vec::new())
            .await?;
        append(&mut transaction, record.id, scenarios).await?;
        if is_archived {
            let archive = self.archive(organization, record.id, true);
            transaction.execute(archive).await?;
        }
        transaction.commit().await?;
        Ok(record)
    }

    /// A benchmark that is the organization's own or open to all.
    pub async fn suite(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
    ) -> Result<Option<Placed<BenchmarkRecord>>, StoreError> {
        self.find_placed::<BenchmarkDraft>(organization, id).await
    }

    /// Benchmarks that are not put away, newest first.
    pub async fn suites(
        &self,
        whose: Whose,
        sought: &Sought,
        page: PageRequest<BenchmarkKind>,
    ) -> Result<Page<Placed<BenchmarkRecord>>, StoreError> {
        let listing = whose.listing::<BenchmarkDraft>();
        self.list_placed::<BenchmarkDraft>(listing, sought, page)
            .await
    }

    /// Writes a changed benchmark over `read`; [`StoreError::Stale`] if it has changed since. With `scenarios` it
    /// has these and no others afterwards, in this order.
    pub async fn update_suite(
        &self,
        read: &BenchmarkRecord,
        draft: BenchmarkDraft,
        scenarios: Option<&[TaskId]>,
    ) -> Result<BenchmarkRecord, StoreError> {
        let mut transaction = self.database().begin().await?;
        let record = self
            .write_draft(&mut transaction, read, draft, Vec::new())
            .await?;
        if let Some(scenarios) = scenarios {
            BENCHMARK_TASKS.clear(&mut transaction, read.id).await?;
            append(&mut transaction, read.id, scenarios).await?;
        }
        transaction.commit().await?;
        Ok(record)
    }

    /// The tasks of each of these benchmarks, in order.
    pub async fn tasks_in(
        &self,
        benchmarks: &[BenchmarkId],
    ) -> Result<BTreeMap<BenchmarkId, Vec<TaskId>>, StoreError> {
        BENCHMARK_TASKS.items_of(self.database(), benchmarks).await
    }

    /// Those tasks of each of these benchmarks that are scenarios, in order.
    pub async fn scenarios_in(
        &self,
        benchmarks: &[BenchmarkId],
    ) -> Result<BTreeMap<BenchmarkId, Vec<TaskId>>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT l.benchmark, l.task FROM benchmark_tasks l JOIN tasks t ON t.id = l.task \
                 WHERE l.benchmark IN ({list}) AND t.in_box = 1 \
                 ORDER BY l.benchmark, l.position, l.task"
            )
        };
        let mut all: BTreeMap<BenchmarkId, Vec<TaskId>> = BTreeMap::new();
        for row in self.database().read_for(benchmarks, &[], text).await? {
            let of = all.entry(row.id("benchmark")?).or_default();
            of.push(row.id("task")?);
        }
        Ok(all)
    }

    /// The scenarios of a benchmark that were put away by themselves, in order.
    pub async fn archived_scenarios_in(
        &self,
        benchmark: BenchmarkId,
    ) -> Result<Vec<TaskId>, StoreError> {
        let query = Query::new(
            "SELECT l.task FROM benchmark_tasks l JOIN tasks t ON t.id = l.task \
             WHERE l.benchmark = $1 AND t.in_box = 1 AND t.archived_at IS NOT NULL \
             ORDER BY l.position, l.task",
        )
        .bind(benchmark);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.id("task")).collect()
    }

    /// Opens a benchmark with its scenarios to everybody, for good.
    pub async fn publish_suite(&self, id: BenchmarkId) -> Result<(), StoreError> {
        let mut tasks = self.tasks_in(&[id]).await?;
        let tasks = tasks.remove(&id).unwrap_or_default();
        let mut transaction = self.database().begin().await?;
        self.open_to_all::<BenchmarkDraft>(&mut transaction, &[id])
            .await?;
        self.open_to_all::<TaskDraft>(&mut transaction, &tasks)
            .await?;
        transaction.commit().await
    }

    /// The labels of the organization's benchmarks: keys with their values.
    pub async fn benchmark_labels(
        &self,
        organization: OrganizationId,
    ) -> Result<BTreeMap<String, BTreeSet<String>>, StoreError> {
        self.labels::<BenchmarkDraft>(organization).await
    }
}

async fn append(
    transaction: &mut Transaction,
    benchmark: BenchmarkId,
    scenarios: &[TaskId],
) -> Result<(), StoreError> {
    for scenario in scenarios {
        BENCHMARK_TASKS
            .append(transaction, benchmark, *scenario)
            .await?;
    }
    Ok(())
}
