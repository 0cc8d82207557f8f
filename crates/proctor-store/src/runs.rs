//! Runs, task runs and criterion runs.
//!
//! The state machines of `proctor-core` decide; this keeps what they decided. A change is written
//! only over the state it was decided on, so two deciders cannot both win.

use std::{collections::BTreeMap, num::NonZeroU32};

use proctor_core::{
    criterion_run::CriterionRun,
    id::kinds::{BenchmarkId, CriterionRunId, OrganizationId, RunId, RunKind, TaskRunId},
    profile::Particulars,
    run::{Pinned, Run},
    scoring::Score,
    task_run::TaskRun,
    time::Timestamp,
};
use serde::Serialize;

use crate::{
    Store, StoreError,
    credentials::{IssuedKey, NewKey, PlainKey, Who},
    database::{Query, Row, Transaction},
    page::{Listing, Page, PageRequest},
    playgrounds::{self, Playground, Sandbox},
};

/// Something as it was read: a change to it is written only if it still stands like this.
#[derive(Clone, Debug, PartialEq)]
pub struct Revised<T> {
    /// What was read.
    pub value: T,
    pub(crate) revision: i64,
}

impl<T> Revised<T> {
    /// What was stored for the first time.
    pub(crate) fn first(value: T) -> Self {
        Self { value, revision: 1 }
    }

    /// What was written over this.
    pub(crate) fn next(&self, value: T) -> Self {
        Self {
            value,
            revision: self.revision + 1,
        }
    }
}

/// What one decision changes: all of it is written, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The run before and after.
    pub run: Option<(Revised<Run>, Run)>,
    /// Task runs before and after.
    pub task_runs: Vec<(Revised<TaskRun>, TaskRun)>,
    /// A task run that joins the run now, which must not be over by then.
    pub joins: Option<TaskRun>,
    /// Criterion runs that came of it.
    pub criterion_runs: Vec<CriterionRun>,
    /// The playground that comes to be with it.
    pub playground: Option<(Playground, Vec<Sandbox>)>,
    /// Whether the run's tokens end with it.
    pub ends_tokens: bool,
}

pub(crate) const RUN_COLUMNS: &str = "id, organization, solver, job, benchmark, version, digest, scored, agent, concurrency, \
                                      particulars, state, created_at, expires_at, ranked_at, revision";
pub(crate) const TASK_RUN_COLUMNS: &str =
    "id, run, task, definition, devbox, particulars, state, created_at, revision";
const CRITERION_RUN_COLUMNS: &str =
    "id, task_run, criterion, passed, score, details, evidence, started_at, completed_at";

impl Store {
    /// Stores a new run with its task runs and its doors, and makes its token if it is to have one.
    pub async fn create_run(
        &self,
        run: &Run,
        task_runs: &[TaskRun],
        doors: &[Sandbox],
    ) -> Result<Option<IssuedKey>, StoreError> {
        let mut transaction = self.database().begin().await?;
        let query = Query::new(
            "INSERT INTO runs (id, organization, solver, benchmark, version, digest, scored, agent, concurrency, \
             status, state, created_at, expires_at, name, folded_name, particulars, job, revision) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 1)",
        )
        .bind(run.id)
        .bind(run.organization)
        .bind(run.solver)
        .bind(run.pinned.benchmark)
        .bind(run.pinned.version)
        .bind(run.pinned.digest.to_string())
        .bind(run.scored)
        .bind(run.agent.clone())
        .bind(run.concurrency.get())
        .bind(run.status())
        .bind(document(&run.state)?)
        .bind(run.created_at)
        .bind(run.expires_at)
        .bind(run.particulars.name.clone())
        .bind(run.particulars.name.as_ref().map(|name| name.to_lowercase()))
        .bind(document(&run.particulars)?)
        .bind(run.job);
        transaction.execute(query).await?;
        for task_run in task_runs {
            insert_task_run(&mut transaction, run.organization, task_run).await?;
        }
        playgrounds::insert_sandboxes(&mut transaction, doors).await?;
        let token = run
            .expires_at
            .map(|end| self.new_key(Who::Run(run.id), None, Some(end), PlainKey::Random));
        if let Some(token) = &token {
            transaction.execute(token.insert(run.organization)).await?;
        }
        transaction.commit().await?;
        Ok(token.map(NewKey::into_issued))
    }

    /// Stores a task run that belongs to no run, or joins one later than its start.
    pub async fn create_task_run(
        &self,
        organization: OrganizationId,
        task_run: &TaskRun,
    ) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        insert_task_run(&mut transaction, organization, task_run).await?;
        transaction.commit().await
    }

    /// Finds a run.
    pub async fn run(&self, id: RunId) -> Result<Option<Revised<Run>>, StoreError> {
        let text = format!("SELECT {RUN_COLUMNS} FROM runs WHERE id = $1");
        let row = self
            .database()
            .read_optional(Query::assembled(text, vec![id.into()]))
            .await?;
        row.map(|row| read_run(&row)).transpose()
    }

    /// The organization's runs, of one benchmark or of all.
    pub async fn runs(
        &self,
        organization: OrganizationId,
        benchmark: Option<BenchmarkId>,
        page: PageRequest<RunKind>,
    ) -> Result<Page<Run>, StoreError> {
        let mut listing = Listing::new(RUN_COLUMNS, "runs").filter("organization", organization);
        if let Some(benchmark) = benchmark {
            listing = listing.filter("benchmark", benchmark);
        }
        listing
            .page(self.database(), page, |row| {
                read_run(row).map(|run| run.value)
            })
            .await
    }

    /// Finds a task run.
    pub async fn task_run(&self, id: TaskRunId) -> Result<Option<Revised<TaskRun>>, StoreError> {
        let text = format!("SELECT {TASK_RUN_COLUMNS} FROM task_runs WHERE id = $1");
        let row = self
            .database()
            .read_optional(Query::assembled(text, vec![id.into()]))
            .await?;
        row.map(|row| read_task_run(&row)).transpose()
    }

    /// The task runs of a run, in the order of its tasks.
    pub async fn task_runs(&self, run: RunId) -> Result<Vec<Revised<TaskRun>>, StoreError> {
        let text = format!("SELECT {TASK_RUN_COLUMNS} FROM task_runs WHERE run = $1 ORDER BY id");
        let rows = self
            .database()
            .read_all(Query::assembled(text, vec![run.into()]))
            .await?;
        rows.iter().map(read_task_run).collect()
    }

    /// Task runs whose clock has run out at `now`, the most overdue first.
    pub async fn due_task_runs(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<Revised<TaskRun>>, StoreError> {
        let text = format!(
            "SELECT {TASK_RUN_COLUMNS} FROM task_runs WHERE deadline <= $1 ORDER BY deadline LIMIT $2"
        );
        let rows = self
            .database()
            .read_all(Query::assembled(text, vec![now.into(), limit.into()]))
            .await?;
        rows.iter().map(read_task_run).collect()
    }

    /// When the clocks of task runs that are at work run out, the next first.
    pub async fn deadlines(&self) -> Result<Vec<(TaskRunId, Timestamp)>, StoreError> {
        let query = Query::new(
            "SELECT id, deadline FROM task_runs WHERE deadline IS NOT NULL ORDER BY deadline",
        );
        let rows = self.database().read_all(query).await?;
        rows.iter()
            .map(|row| Ok((row.id("id")?, row.time("deadline")?)))
            .collect()
    }

    /// Runs that are not over although their token ended at `now`, the most overdue first.
    pub async fn expired_runs(&self, now: Timestamp, limit: u32) -> Result<Vec<RunId>, StoreError> {
        let query = Query::new(
            "SELECT id FROM runs WHERE expires_at <= $1 AND status IN ('created', 'started') \
             ORDER BY expires_at LIMIT $2",
        )
        .bind(now)
        .bind(limit);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// Runs that are not over although every task run that they have is, and one of these was in a box: they may have nothing left to do.
    pub async fn runs_to_settle(&self) -> Result<Vec<RunId>, StoreError> {
        let query = Query::new(
            "SELECT id FROM runs WHERE status IN ('created', 'started') \
             AND EXISTS (SELECT 1 FROM task_runs WHERE run = runs.id AND devbox IS NOT NULL) \
             AND NOT EXISTS (SELECT 1 FROM task_runs WHERE run = runs.id \
             AND status IN ('created', 'started', 'scoring', 'scored')) ORDER BY id",
        );
        let rows = self.database().read_all(query).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// The runs of a benchmark that are on the leaderboard, newest first.
    pub async fn ranked_runs(
        &self,
        benchmark: BenchmarkId,
        page: PageRequest<RunKind>,
    ) -> Result<Page<Run>, StoreError> {
        Listing::new(RUN_COLUMNS, "runs")
            .filter("benchmark", benchmark)
            .only("ranked_at IS NOT NULL")
            .page(self.database(), page, |row| {
                read_run(row).map(|run| run.value)
            })
            .await
    }

    /// Finds a criterion run.
    pub async fn criterion_run(
        &self,
        id: CriterionRunId,
    ) -> Result<Option<CriterionRun>, StoreError> {
        let text = format!("SELECT {CRITERION_RUN_COLUMNS} FROM criterion_runs WHERE id = $1");
        let row = self
            .database()
            .read_optional(Query::assembled(text, vec![id.into()]))
            .await?;
        row.map(|row| read_criterion_run(&row)).transpose()
    }

    /// The criterion runs of a task run, in the order in which they were made.
    pub async fn criterion_runs(
        &self,
        task_run: TaskRunId,
    ) -> Result<Vec<CriterionRun>, StoreError> {
        let mut all = self.criterion_runs_of(&[task_run]).await?;
        Ok(all.remove(&task_run).unwrap_or_default())
    }

    /// The criterion runs of each of these task runs that has any, in their order.
    pub async fn criterion_runs_of(
        &self,
        task_runs: &[TaskRunId],
    ) -> Result<BTreeMap<TaskRunId, Vec<CriterionRun>>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT {CRITERION_RUN_COLUMNS} FROM criterion_runs \
                 WHERE task_run IN ({list}) ORDER BY id"
            )
        };
        let mut all: BTreeMap<TaskRunId, Vec<CriterionRun>> = BTreeMap::new();
        for row in self.database().read_for(task_runs, &[], text).await? {
            let criterion_run = read_criterion_run(&row)?;
            let of_task_run = all.entry(criterion_run.task_run).or_default();
            of_task_run.push(criterion_run);
        }
        Ok(all)
    }

    /// Writes what one decision changes; [`StoreError::Stale`] if anything it was decided on has
    /// changed since, and then nothing is written.
    pub async fn record(&self, progress: &Progress) -> Result<(), StoreError> {
        let mut transaction = self.database().begin().await?;
        if let Some((before, after)) = &progress.run {
            let query = Query::new(
                "UPDATE runs SET status = $1, state = $2, ranked_at = $3, revision = revision + 1 \
                 WHERE id = $4 AND revision = $5",
            )
            .bind(after.status())
            .bind(document(&after.state)?)
            .bind(after.ranked_at)
            .bind(before.value.id)
            .bind(before.revision);
            change_one(&mut transaction, query).await?;
        }
        for (before, after) in &progress.task_runs {
            let query = Query::new(
                "UPDATE task_runs SET status = $1, state = $2, deadline = $3, devbox = $4, revision = revision + 1 \
                 WHERE id = $5 AND revision = $6",
            )
            .bind(after.status())
            .bind(document(&after.state)?)
            .bind(after.deadline())
            .bind(after.devbox)
            .bind(before.value.id)
            .bind(before.revision);
            change_one(&mut transaction, query).await?;
        }
        if let Some(task_run) = &progress.joins {
            join_run(&mut transaction, task_run).await?;
        }
        for criterion_run in &progress.criterion_runs {
            let query = Query::new(
                "INSERT INTO criterion_runs (id, task_run, criterion, passed, score, details, evidence, started_at, \
                 completed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            )
            .bind(criterion_run.id)
            .bind(criterion_run.task_run)
            .bind(criterion_run.criterion)
            .bind(criterion_run.passed)
            .bind(criterion_run.score.value())
            .bind(criterion_run.details.as_str())
            .bind(document(&criterion_run.evidence)?)
            .bind(criterion_run.started_at)
            .bind(criterion_run.completed_at);
            transaction.execute(query).await?;
        }
        if let Some((playground, sandboxes)) = &progress.playground {
            playgrounds::insert_playground(&mut transaction, playground).await?;
            playgrounds::insert_sandboxes(&mut transaction, sandboxes).await?;
        }
        if progress.ends_tokens
            && let Some((run, _)) = &progress.run
        {
            transaction.execute(self.end_tokens(run.value.id)).await?;
        }
        transaction.commit().await?;
        if progress.ends_tokens {
            self.credential_cache().forget_all();
        }
        Ok(())
    }
}

/// Carries out an update that must find its row as it was read.
async fn change_one(transaction: &mut Transaction, query: Query) -> Result<(), StoreError> {
    match transaction.execute(query).await? {
        0 => Err(StoreError::Stale),
        _ => Ok(()),
    }
}

/// Adds a task run to its run. The run's revision rises, so that whoever is about to end the run looks again.
async fn join_run(transaction: &mut Transaction, task_run: &TaskRun) -> Result<(), StoreError> {
    let query = Query::new(
        "UPDATE runs SET revision = revision + 1 WHERE id = $1 AND status IN ('created', 'started') \
         RETURNING organization",
    )
    .bind(task_run.run);
    let Some(run) = transaction.read_optional(query).await? else {
        return Err(StoreError::Stale);
    };
    insert_task_run(transaction, run.id("organization")?, task_run).await
}

async fn insert_task_run(
    transaction: &mut Transaction,
    organization: OrganizationId,
    task_run: &TaskRun,
) -> Result<(), StoreError> {
    let query = Query::new(
        "INSERT INTO task_runs (id, organization, run, task, status, state, deadline, created_at, definition, devbox, \
         name, folded_name, particulars, revision) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 1)",
    )
    .bind(task_run.id)
    .bind(organization)
    .bind(task_run.run)
    .bind(task_run.task)
    .bind(task_run.status())
    .bind(document(&task_run.state)?)
    .bind(task_run.deadline())
    .bind(task_run.created_at)
    .bind(task_run.definition.map(|digest| digest.to_string()))
    .bind(task_run.devbox)
    .bind(task_run.particulars.name.clone())
    .bind(
        task_run
            .particulars
            .name
            .as_ref()
            .map(|name| name.to_lowercase()),
    )
    .bind(document(&task_run.particulars)?);
    transaction.execute(query).await?;
    Ok(())
}

pub(crate) fn document(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::corrupt("document", error))
}

pub(crate) fn read_run(row: &Row) -> Result<Revised<Run>, StoreError> {
    let concurrency = NonZeroU32::new(row.number("concurrency")?)
        .ok_or_else(|| StoreError::Corrupt("a run with a concurrency of zero".to_owned()))?;
    let value = Run {
        id: row.id("id")?,
        organization: row.id("organization")?,
        solver: row.opt_id("solver")?,
        job: row.opt_id("job")?,
        pinned: Pinned {
            benchmark: row.id("benchmark")?,
            version: row.opt_number("version")?,
            digest: row.parsed("digest")?,
        },
        scored: row.flag("scored")?,
        agent: row.opt_text("agent")?,
        concurrency,
        particulars: particulars(row)?,
        created_at: row.time("created_at")?,
        expires_at: row.opt_time("expires_at")?,
        ranked_at: row.opt_time("ranked_at")?,
        state: row.json("state")?,
    };
    Ok(Revised {
        value,
        revision: row.int("revision")?,
    })
}

pub(crate) fn read_task_run(row: &Row) -> Result<Revised<TaskRun>, StoreError> {
    let value = TaskRun {
        id: row.id("id")?,
        run: row.opt_id("run")?,
        task: row.id("task")?,
        definition: match row.opt_text("definition")? {
            None => None,
            Some(_) => Some(row.parsed("definition")?),
        },
        devbox: row.opt_id("devbox")?,
        particulars: particulars(row)?,
        created_at: row.time("created_at")?,
        state: row.json("state")?,
    };
    Ok(Revised {
        value,
        revision: row.int("revision")?,
    })
}

/// What was said at the start; nothing for rows that are older than the column.
fn particulars(row: &Row) -> Result<Particulars, StoreError> {
    match row.opt_text("particulars")? {
        None => Ok(Particulars::default()),
        Some(_) => row.json("particulars"),
    }
}

fn read_criterion_run(row: &Row) -> Result<CriterionRun, StoreError> {
    Ok(CriterionRun {
        id: row.id("id")?,
        task_run: row.id("task_run")?,
        criterion: row.id("criterion")?,
        passed: row.flag("passed")?,
        score: Score::new(row.real("score")?)
            .map_err(|error| StoreError::corrupt("score", error))?,
        details: row.text("details")?,
        evidence: row.json("evidence")?,
        started_at: row.time("started_at")?,
        completed_at: row.time("completed_at")?,
    })
}
