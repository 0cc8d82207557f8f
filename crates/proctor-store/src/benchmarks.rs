//! Benchmarks as their authors have them.

use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    definition::{Requirements, Seconds},
    id::kinds::{BenchmarkId, BenchmarkKind, EnvironmentId, OrganizationId},
};
use serde::{Deserialize, Serialize};

use crate::{
    Store, StoreError,
    database::{Query, Row, Transaction},
    drafts::{Authored, Column, Draft},
    names,
    page::{Listing, Page, PageRequest},
    tasks::{BENCHMARK_TASKS, TaskDraft},
};
use proctor_macros::boxed_futures;

/// A benchmark as its author has it. Its tasks are drafts of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchmarkDraft {
    /// What people call it.
    pub name: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whom it comes from, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// Where its tasks are done that bring no world of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentId>,
    /// How long a task may take that has no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
    /// How many of a run's tasks may be active at once.
    pub concurrency: NonZeroU32,
    /// The author's own labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What a taker must bring.
    #[serde(default)]
    pub requires: Requirements,
}

/// A benchmark that was read.
pub type BenchmarkRecord = Draft<BenchmarkKind, BenchmarkDraft>;

impl Authored for BenchmarkDraft {
    type Kind = BenchmarkKind;
    const TABLE: &'static str = "benchmarks";
    const LIVE: &'static str = "deleted_at IS NULL";

    fn columns(&self) -> Vec<Column> {
        let mut columns = names::columns(Some(&self.name));
        columns.push(("metadata", names::labels(&self.metadata)));
        columns.push(("environment", self.environment.into()));
        columns
    }
}

const OWNED_COLUMNS: &str = "id, organization, body, created_at, updated_at";
/// Which benchmarks an organization sees in lists: its own, and what others show to everybody.
const VISIBLE: &str = "(organization = ? OR id IN (SELECT benchmark FROM benchmark_versions \
                       WHERE visibility = 'Public' AND unpublished_at IS NULL))";
/// Why a benchmark that was published cannot be deleted.
const PUBLISHED: &str =
    "it was published, and its versions are for ever; unpublish it to hide them from lists";

#[boxed_futures]
impl Store {
    /// Makes a benchmark without tasks.
    pub async fn create_benchmark(
        &self,
        organization: OrganizationId,
        draft: BenchmarkDraft,
    ) -> Result<BenchmarkRecord, StoreError> {
        self.create_draft(organization, draft).await
    }

    /// One of the organization's benchmarks, put away or not.
    pub async fn benchmark(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
    ) -> Result<Option<BenchmarkRecord>, StoreError> {
        self.find_draft(organization, id).await
    }

    /// The organization's benchmarks that are not put away.
    pub async fn benchmarks(
        &self,
        organization: OrganizationId,
        page: PageRequest<BenchmarkKind>,
    ) -> Result<Page<BenchmarkRecord>, StoreError> {
        BenchmarkDraft::listing(organization)
            .only("archived_at IS NULL")
            .page(self.database(), page, BenchmarkDraft::read)
            .await
    }

    /// The organization's benchmarks that are not put away, and those of others that lists show to everybody; each with whose
    /// it is.
    pub async fn visible_benchmarks(
        &self,
        organization: OrganizationId,
        page: PageRequest<BenchmarkKind>,
    ) -> Result<Page<(OrganizationId, BenchmarkRecord)>, StoreError> {
        let read = |row: &Row| Ok((row.id("organization")?, BenchmarkDraft::read(row)?));
        Listing::new(OWNED_COLUMNS, "benchmarks")
            .when(VISIBLE, vec![organization.into()])
            .only("archived_at IS NULL AND deleted_at IS NULL")
            .page(self.database(), page, read)
            .await
    }

    /// A benchmark that is the organization's own or that lists show to everybody, with whose it is.
    pub async fn visible_benchmark(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
    ) -> Result<Option<(OrganizationId, BenchmarkRecord)>, StoreError> {
        let text = format!(
            "SELECT {OWNED_COLUMNS} FROM benchmarks WHERE id = $2 AND deleted_at IS NULL AND {}",
            VISIBLE.replace('?', "$1")
        );
        let query = Query::assembled(text, vec![organization.into(), id.into()]);
        let row = self.database().read_optional(query).await?;
        row.map(|row| Ok((row.id("organization")?, BenchmarkDraft::read(&row)?)))
            .transpose()
    }

    /// Writes a changed draft over `read`; [`StoreError::Stale`] if it has changed since.
    pub async fn update_benchmark(
        &self,
        read: &BenchmarkRecord,
        draft: BenchmarkDraft,
    ) -> Result<BenchmarkRecord, StoreError> {
        self.update_draft(read, draft).await
    }

    /// Puts a benchmark away, or takes it out again; `false` when there is none.
    pub async fn archive_benchmark(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
        archived: bool,
    ) -> Result<bool, StoreError> {
        let query = self.archive(organization, id, archived);
        Ok(self.database().execute(query).await? > 0)
    }

    /// Puts a benchmark away, or takes it out again.
    pub(crate) fn archive(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
        archived: bool,
    ) -> Query {
        Query::new(
            "UPDATE benchmarks SET archived_at = $1 WHERE organization = $2 AND id = $3 AND deleted_at IS NULL",
        )
        .bind(archived.then(|| self.now()))
        .bind(organization)
        .bind(id)
    }

    /// Deletes a benchmark's draft with the tasks that nothing else needs; `false` when there is none,
    /// [`StoreError::InUse`] when it was ever published. Runs and the definitions they took stay readable.
    pub async fn delete_benchmark(
        &self,
        organization: OrganizationId,
        id: BenchmarkId,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database().begin().await?;
        let query = Query::new(
            "UPDATE benchmarks SET deleted_at = $1, environment = NULL \
             WHERE organization = $2 AND id = $3 AND deleted_at IS NULL",
        )
        .bind(self.now())
        .bind(organization)
        .bind(id);
        if transaction.execute(query).await? == 0 {
            return Ok(false);
        }
        let query =
            Query::new("SELECT version FROM benchmark_versions WHERE benchmark = $1 LIMIT 1")
                .bind(id);
        if transaction.read_optional(query).await?.is_some() {
            return Err(StoreError::InUse(PUBLISHED));
        }
        delete_own_tasks(&mut transaction, id).await?;
        BENCHMARK_TASKS.clear(&mut transaction, id).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

/// Deletes the tasks that are in no other benchmark. One with a devbox stands by itself and stays.
async fn delete_own_tasks(
    transaction: &mut Transaction,
    benchmark: BenchmarkId,
) -> Result<(), StoreError> {
    let query = Query::new(
        "SELECT id, body, created_at, updated_at FROM tasks \
         WHERE id IN (SELECT task FROM benchmark_tasks WHERE benchmark = $1) \
         AND id NOT IN (SELECT task FROM benchmark_tasks WHERE benchmark <> $1)",
    )
    .bind(benchmark);
    for row in transaction.read_all(query).await? {
        let task = TaskDraft::read(&row)?;
        if task.content.devbox.is_none() {
            let query = Query::new("DELETE FROM tasks WHERE id = $1").bind(task.id);
            transaction.execute(query).await?;
        }
    }
    Ok(())
}
