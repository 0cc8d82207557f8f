//! Jobs.

use proctor_core::{
    id::kinds::{JobId, JobKind, OrganizationId},
    job::Job,
};

use crate::{
    Store, StoreError,
    database::{Query, Row},
    page::{Listing, Page, PageRequest},
    runs::document,
};

const COLUMNS: &str = "id, organization, state, created_at";

fn read(row: &Row) -> Result<Job, StoreError> {
    Ok(Job {
        id: row.id("id")?,
        organization: row.id("organization")?,
        created_at: row.time("created_at")?,
        state: row.json("state")?,
    })
}

impl Store {
    /// Stores a new job.
    pub async fn create_job(&self, job: &Job) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO jobs (id, organization, status, state, created_at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(job.id)
        .bind(job.organization)
        .bind(job.status())
        .bind(document(&job.state)?)
        .bind(job.created_at);
        self.database().execute(query).await?;
        Ok(())
    }

    /// One of the organization's jobs.
    pub async fn job(
        &self,
        organization: OrganizationId,
        id: JobId,
    ) -> Result<Option<Job>, StoreError> {
        let query =
            Query::new("SELECT id, organization, state, created_at FROM jobs WHERE organization = $1 AND id = $2")
                .bind(organization)
                .bind(id);
        self.database()
            .read_optional(query)
            .await?
            .map(|row| read(&row))
            .transpose()
    }

    /// The organization's jobs.
    pub async fn jobs(
        &self,
        organization: OrganizationId,
        page: PageRequest<JobKind>,
    ) -> Result<Page<Job>, StoreError> {
        Listing::new(COLUMNS, "jobs")
            .filter("organization", organization)
            .page(self.database(), page, read)
            .await
    }

    /// Writes `after` over `before`; [`StoreError::Stale`] if it stands differently by now.
    pub async fn update_job(&self, before: &Job, after: &Job) -> Result<(), StoreError> {
        let query =
            Query::new("UPDATE jobs SET status = $1, state = $2 WHERE id = $3 AND state = $4")
                .bind(after.status())
                .bind(document(&after.state)?)
                .bind(before.id)
                .bind(document(&before.state)?);
        match self.database().execute(query).await? {
            0 => Err(StoreError::Stale),
            _ => Ok(()),
        }
    }
}
