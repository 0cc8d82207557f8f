//! What tells a page that it is out of date: a short text that differs whenever what the page shows has changed.

use proctor_core::id::kinds::{OrganizationId, RunId, TaskRunId};
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
}
