//! What tells a page that it is out of date: a short text that differs whenever what the page shows has changed.

use proctor_core::id::kinds::{DevboxId, JobId, OrganizationId, RunId, TaskRunId};
use proctor_macros::boxed_futures;

use crate::{Store, StoreError, database::Query};

#[boxed_futures]
impl Store {
    /// The version of the organization's list of runs.
    pub async fn runs_version(&self, organization: OrganizationId) -> Result<String, StoreError> {
        let query = Query::new(
            "SELECT COUNT(*) AS count, COALESCE(CAST(SUM(revision) AS BIGINT), 0) AS sum FROM runs WHERE organization = $1",
        )
        .bind(organization);
        let row = self.database().read_one(query).await?;
        Ok(format!("{}.{}", row.int("count")?, row.int("sum")?))
    }

    /// The version of a run with its task runs.
    pub async fn run_version(&self, run: RunId) -> Result<String, StoreError> {
        let query = Query::new(
            "SELECT COUNT(*) AS count, COALESCE(CAST(SUM(revision) AS BIGINT), 0) AS sum, \
             (SELECT COALESCE(MAX(revision), 0) FROM runs WHERE id = $1) AS own FROM task_runs WHERE run = $1",
        )
        .bind(run);
        let row = self.database().read_one(query).await?;
        Ok(format!(
            "{}.{}.{}",
            row.int("own")?,
            row.int("count")?,
            row.int("sum")?
        ))
    }

    /// The version of a task run. The events of its world are in its journal.
    pub async fn task_run_version(&self, task_run: TaskRunId) -> Result<String, StoreError> {
        let query =
            Query::new("SELECT COALESCE(MAX(revision), 0) AS own FROM task_runs WHERE id = $1")
                .bind(task_run);
        let row = self.database().read_one(query).await?;
        Ok(row.int("own")?.to_string())
    }

    /// The version of the organization's jobs with their tries.
    pub async fn jobs_version(&self, organization: OrganizationId) -> Result<String, StoreError> {
        let query = Query::new(
            "SELECT COUNT(*) AS count, COALESCE(CAST(SUM(revision) AS BIGINT), 0) AS sum, \
             (SELECT COUNT(*) FROM job_tries t JOIN jobs j ON j.id = t.job WHERE j.organization = $1) AS tries, \
             (SELECT COUNT(ending) FROM job_tries t JOIN jobs j ON j.id = t.job WHERE j.organization = $1) AS ended \
             FROM jobs WHERE organization = $1",
        )
        .bind(organization);
        self.numbers(query, &["count", "sum", "tries", "ended"])
            .await
    }

    /// The version of a job with its tries.
    pub async fn job_version(&self, job: JobId) -> Result<String, StoreError> {
        let query = Query::new(
            "SELECT COUNT(*) AS count, COUNT(ending) AS ended, COUNT(agent_began_at) AS began, COUNT(agent_failure) AS failed, \
             (SELECT COALESCE(MAX(revision), 0) FROM jobs WHERE id = $1) AS own FROM job_tries WHERE job = $1",
        )
        .bind(job);
        self.numbers(query, &["own", "count", "ended", "began", "failed"])
            .await
    }

    /// The version of the organization's list of devboxes.
    pub async fn devboxes_version(
        &self,
        organization: OrganizationId,
    ) -> Result<String, StoreError> {
        let query = Query::new(
            "SELECT COUNT(*) AS count, COALESCE(CAST(SUM(revision) AS BIGINT), 0) AS sum FROM devboxes WHERE organization = $1",
        )
        .bind(organization);
        self.numbers(query, &["count", "sum"]).await
    }

    /// The version of a devbox's record. Its log is a file.
    pub async fn devbox_version(&self, devbox: DevboxId) -> Result<String, StoreError> {
        let query =
            Query::new("SELECT COALESCE(MAX(revision), 0) AS own FROM devboxes WHERE id = $1")
                .bind(devbox);
        self.numbers(query, &["own"]).await
    }

    async fn numbers(&self, query: Query, columns: &[&str]) -> Result<String, StoreError> {
        let row = self.database().read_one(query).await?;
        let numbers: Result<Vec<String>, StoreError> = columns
            .iter()
            .map(|column| Ok(row.int(column)?.to_string()))
            .collect();
        Ok(numbers?.join("."))
    }
}
