//! Jobs and their tries.

use proctor_core::{
    id::kinds::{JobId, JobKind, OrganizationId},
    job::{Job, Look, Try},
    limits::Resource,
    run::Run,
};

use crate::{
    Store, StoreError,
    comparisons::{NewGateResult, insert_of_gate},
    database::{OnDisk, Query, Row},
    names::Sought,
    page::{Listing, Page, PageRequest},
    runs::{RUN_COLUMNS, Revised, document, read_run},
    sealed,
};
use proctor_macros::boxed_futures;

const COLUMNS: &str = "id, organization, name, machine, plan, state, created_at, revision";
const TRY_COLUMNS: &str =
    "run, task, number, task_run, began_at, agent_began_at, agent_failure, ending";

fn read(row: &Row) -> Result<Revised<Job>, StoreError> {
    let id = row.id("id")?;
    let value = Job {
        id,
        organization: row.id("organization")?,
        name: row.text("name")?,
        machine: row.text("machine")?,
        plan: row.confidential("plan", || sealed::job(id))?,
        created_at: row.time("created_at")?,
        state: row.json("state")?,
    };
    Ok(Revised {
        value,
        revision: row.int("revision")?,
    })
}

fn read_try(row: &Row) -> Result<Try, StoreError> {
    Ok(Try {
        run: row.id("run")?,
        task: row.id("task")?,
        number: row.number("number")?,
        task_run: row.opt_id("task_run")?,
        began_at: row.time("began_at")?,
        agent_began_at: row.opt_time("agent_began_at")?,
        agent_failure: match row.opt_text("agent_failure")? {
            None => None,
            Some(_) => Some(row.json("agent_failure")?),
        },
        end: match row.opt_text("ending")? {
            None => None,
            Some(_) => Some(row.json("ending")?),
        },
    })
}

#[boxed_futures]
impl Store {
    /// Stores a new job; [`StoreError::Limit`] when its organization may not have the runs that it needs.
    pub async fn create_job(&self, job: &Job) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO jobs (id, organization, name, folded_name, machine, plan, status, state, created_at, revision) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)",
        )
        .bind(job.id)
        .bind(job.organization)
        .bind(job.name.as_str())
        .bind(job.name.to_lowercase())
        .bind(job.machine.as_str())
        .bind(sealed::seal(
            self.vault(),
            &sealed::job(job.id),
            &job.plan,
        )?)
        .bind(job.status().as_str())
        .bind(document(&job.state)?)
        .bind(job.created_at);
        let runs = u64::try_from(job.plan.runs_at_once()).unwrap_or(u64::MAX);
        let mut transaction = self.database().begin().await?;
        self.check_room(&mut transaction, job.organization, Resource::Runs, runs)
            .await?;
        transaction.execute(query).await?;
        transaction.commit().await
    }

    /// A job, whosever it is.
    pub async fn job(&self, id: JobId) -> Result<Option<Revised<Job>>, StoreError> {
        let text = format!("SELECT {COLUMNS} FROM jobs WHERE id = $1");
        let query = Query::assembled(text, vec![id.into()]);
        let row = self.database().read_optional(query).await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The organization's jobs, newest first.
    pub async fn jobs(
        &self,
        organization: OrganizationId,
        sought: &Sought,
        page: PageRequest<JobKind>,
    ) -> Result<Page<Job>, StoreError> {
        let listing = Listing::new(COLUMNS, "jobs").filter("organization", organization);
        let listing = listing.sought::<JobKind>(self.database(), sought).await?;
        let read = |row: &Row| read(row).map(|job| job.value);
        listing.page(self.database(), page, read).await
    }

    /// The jobs that a machine has to carry out, oldest first.
    pub async fn live_jobs(&self, machine: &str) -> Result<Vec<JobId>, StoreError> {
        let query = Query::new(
            "SELECT id FROM jobs WHERE machine = $1 AND status IN ('initializing', 'queued', 'running') ORDER BY id",
        )
        .bind(machine);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// The jobs of a machine that are over although runs of theirs are not.
    pub async fn jobs_with_remains(&self, machine: &str) -> Result<Vec<JobId>, StoreError> {
        let query = Query::new(
            "SELECT DISTINCT j.id AS id FROM jobs j JOIN runs r ON r.job = j.id WHERE j.machine = $1 \
             AND j.status NOT IN ('initializing', 'queued', 'running') AND r.status IN ('created', 'started')",
        )
        .bind(machine);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// The runs of a job.
    pub async fn runs_of_job(&self, job: JobId) -> Result<Vec<Run>, StoreError> {
        let text = format!("SELECT {RUN_COLUMNS} FROM runs WHERE job = $1 ORDER BY id");
        let query = Query::assembled(text, vec![job.into()]);
        let rows = self.database().read_all(query).await?;
        let runs = rows.iter().map(|row| read_run(row).map(|run| run.value));
        runs.collect()
    }

    /// The tries of a job, in the order in which they began.
    pub async fn tries(&self, job: JobId) -> Result<Vec<Try>, StoreError> {
        let text = format!(
            "SELECT {TRY_COLUMNS} FROM job_tries WHERE job = $1 ORDER BY began_at, run, task, number"
        );
        let query = Query::assembled(text, vec![job.into()]);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(read_try).collect()
    }

    /// Writes that a try begins; `false` if its job is over, and then nothing is written. [`StoreError::Taken`] if somebody else began it. It means
    /// nothing before there is more to tell of it, and is on disk with that.
    pub async fn begin_try(&self, job: JobId, this_try: &Try) -> Result<bool, StoreError> {
        let query = Query::new(
            "INSERT INTO job_tries (job, run, task, number, task_run, began_at, agent_began_at, agent_failure, ending) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 FROM jobs \
             WHERE id = $1 AND status IN ('initializing', 'queued', 'running')",
        )
        .bind(job)
        .bind(this_try.run)
        .bind(this_try.task)
        .bind(this_try.number)
        .bind(this_try.task_run)
        .bind(this_try.began_at)
        .bind(this_try.agent_began_at)
        .bind(this_try.agent_failure.as_ref().map(document).transpose()?)
        .bind(this_try.end.as_ref().map(document).transpose()?);
        let written = self
            .database()
            .execute_when(query, OnDisk::WithTheNext)
            .await;
        let written = written.map_err(|error| error.or_taken("a try of this number"))?;
        Ok(written > 0)
    }

    /// What was seen after the rounds of a job, in their order.
    pub async fn looks(&self, job: JobId) -> Result<Vec<Look>, StoreError> {
        let query =
            Query::new("SELECT look FROM job_looks WHERE job = $1 ORDER BY round").bind(job);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.json("look")).collect()
    }

    /// Keeps what was seen after a round, and the gates that it settled; [`StoreError::Taken`] if the round was looked at before, and then nothing
    /// is written.
    pub async fn create_look(
        &self,
        organization: OrganizationId,
        job: JobId,
        look: &Look,
        gates: &[NewGateResult],
    ) -> Result<(), StoreError> {
        let query = Query::new("INSERT INTO job_looks (job, round, look) VALUES ($1, $2, $3)")
            .bind(job)
            .bind(look.round)
            .bind(document(look)?);
        let mut transaction = self.database().begin().await?;
        let written = transaction.execute(query).await;
        written.map_err(|error| error.or_taken("a look after this round"))?;
        for gate in gates {
            transaction
                .execute(insert_of_gate(organization, gate)?)
                .await?;
        }
        transaction.commit().await
    }

    /// Writes how far a try is; [`StoreError::Stale`] if it has ended already.
    pub async fn update_try(&self, job: JobId, this_try: &Try) -> Result<(), StoreError> {
        match self
            .database()
            .execute(update_of_try(job, this_try)?)
            .await?
        {
            0 => Err(StoreError::Stale),
            _ => Ok(()),
        }
    }
}

/// Writes how far a try is, unless it has ended.
pub(crate) fn update_of_try(job: JobId, this_try: &Try) -> Result<Query, StoreError> {
    let query = Query::new(
        "UPDATE job_tries SET task_run = $1, agent_began_at = $2, agent_failure = $3, ending = $4 \
         WHERE job = $5 AND run = $6 AND task = $7 AND number = $8 AND ending IS NULL",
    );
    Ok(query
        .bind(this_try.task_run)
        .bind(this_try.agent_began_at)
        .bind(this_try.agent_failure.as_ref().map(document).transpose()?)
        .bind(this_try.end.as_ref().map(document).transpose()?)
        .bind(job)
        .bind(this_try.run)
        .bind(this_try.task)
        .bind(this_try.number))
}
