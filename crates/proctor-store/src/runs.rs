//! Runs, task runs and criterion runs: how they come to be, and how they are read. How they change is in
//! [`crate::progress`].

use std::{collections::BTreeMap, num::NonZeroU32, sync::LazyLock};

use proctor_core::{
    criterion_run::CriterionRun,
    id::kinds::{BenchmarkId, CriterionRunId, OrganizationId, RunId, RunKind, TaskRunId},
    limits::Resource,
    profile::Particulars,
    run::{Pinned, Run, RunPlan, Tally},
    scoring::Score,
    task_run::TaskRun,
    time::Timestamp,
};
use serde::Serialize;

use crate::{
    Store, StoreError,
    credentials::{IssuedKey, NewKey, PlainKey, Who},
    database::{Inserts, Query, Row, Transaction},
    page::{Listing, Page, PageRequest},
    playgrounds::{self, Sandbox},
    sealed,
};
use proctor_macros::boxed_futures;

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
    pub fn next(&self, value: T) -> Self {
        Self {
            value,
            revision: self.revision + 1,
        }
    }
}

/// A run with how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct TalliedRun {
    /// The run.
    pub run: Revised<Run>,
    /// How far it is.
    pub tally: Tally,
}

/// A task run with whose it is, and its run.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRunInRun {
    /// Who pays for it.
    pub organization: OrganizationId,
    /// The task run.
    pub task_run: Revised<TaskRun>,
    /// Its run, if it belongs to one.
    pub run: Option<TalliedRun>,
}

pub(crate) const RUN_COLUMNS: &str = "id, organization, solver, job, benchmark, version, digest, scored, agent, concurrency, \
                                      plan, particulars, state, created_at, expires_at, ranked_at, revision";
pub(crate) const TASK_RUN_COLUMNS: &str =
    "id, run, task, definition, devbox, particulars, state, created_at, revision";
const CRITERION_RUN_COLUMNS: &str =
    "id, task_run, criterion, passed, score, details, evidence, started_at, completed_at";

#[boxed_futures]
impl Store {
    /// Stores a new run with its task runs and its doors, and makes its token if it is to have one; [`StoreError::Limit`] when
    /// its organization has as many as it may.
    pub async fn create_run(
        &self,
        run: &Run,
        task_runs: &[TaskRun],
        doors: &[Sandbox],
    ) -> Result<Option<IssuedKey>, StoreError> {
        let mut transaction = self.database().begin().await?;
        // The runs of a job were counted when the job was made.
        if run.job.is_none() {
            self.check_room(&mut transaction, run.organization, Resource::Runs, 1)
                .await?;
        }
        let query = Query::new(
            "INSERT INTO runs (id, organization, solver, benchmark, version, digest, scored, agent, concurrency, \
             status, state, created_at, expires_at, name, folded_name, particulars, metadata, job, open_task_runs, \
             tasks_taken, plan, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
             $18, $19, $19, $20, 1)",
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
        .bind(run.status().as_str())
        .bind(document(&run.state)?)
        .bind(run.created_at)
        .bind(run.expires_at)
        .bind(run.particulars.name.clone())
        .bind(run.particulars.name.as_ref().map(|name| name.to_lowercase()))
        .bind(sealed::seal(
            self.vault(),
            &sealed::run(run.id),
            &run.particulars,
        )?)
        .bind(document(&run.particulars.metadata)?)
        .bind(run.job)
        .bind(u32::try_from(task_runs.len()).unwrap_or(u32::MAX))
        .bind(match run.plan == RunPlan::default() {
            true => None,
            false => Some(document(&run.plan)?),
        });
        transaction.execute(query).await?;
        insert_task_runs(&mut transaction, run.organization, task_runs).await?;
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

    /// A run with how far it is.
    pub async fn tallied_run(&self, id: RunId) -> Result<Option<TalliedRun>, StoreError> {
        let text =
            format!("SELECT {RUN_COLUMNS}, open_task_runs, tasks_taken FROM runs WHERE id = $1");
        let query = Query::assembled(text, vec![id.into()]);
        let row = self.database().read_optional(query).await?;
        let read = |row: Row| {
            Ok(TalliedRun {
                run: read_run(&row)?,
                tally: Tally {
                    open: row.number("open_task_runs")?,
                    taken: row.number("tasks_taken")?,
                },
            })
        };
        row.map(read).transpose()
    }

    /// A task run with its run.
    pub async fn task_run_in_run(&self, id: TaskRunId) -> Result<Option<TaskRunInRun>, StoreError> {
        let text = format!("SELECT organization, {TASK_RUN_COLUMNS} FROM task_runs WHERE id = $1");
        let query = Query::assembled(text, vec![id.into()]);
        let Some(row) = self.database().read_optional(query).await? else {
            return Ok(None);
        };
        let task_run = read_task_run(&row)?;
        let run = match task_run.value.run {
            None => None,
            Some(run) => self.tallied_run(run).await?,
        };
        Ok(Some(TaskRunInRun {
            organization: row.id("organization")?,
            task_run,
            run,
        }))
    }

    /// The task runs of a run that are at work or being judged, in the order of its tasks.
    pub async fn active_task_runs(&self, run: RunId) -> Result<Vec<Revised<TaskRun>>, StoreError> {
        let text = format!(
            "SELECT {TASK_RUN_COLUMNS} FROM task_runs WHERE run = $1 \
             AND status IN ('started', 'scoring', 'scored') ORDER BY id"
        );
        let query = Query::assembled(text, vec![run.into()]);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(read_task_run).collect()
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

    /// Runs that are not over although every task run that they have is: they may have nothing left to do. A run ends in the
    /// transaction that ends its last task run; these are of versions that did it in another.
    pub async fn runs_to_settle(&self) -> Result<Vec<RunId>, StoreError> {
        let query = Query::new(
            "SELECT id FROM runs WHERE status IN ('created', 'started') \
             AND open_task_runs = 0 AND tasks_taken > 0 AND job IS NULL ORDER BY id",
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
}

static TASK_RUNS: LazyLock<Inserts> = LazyLock::new(|| {
    let columns = [
        "id",
        "organization",
        "run",
        "task",
        "status",
        "state",
        "deadline",
        "created_at",
        "definition",
        "devbox",
        "name",
        "folded_name",
        "particulars",
        "metadata",
        "revision",
    ];
    Inserts::into_table("task_runs", &columns)
});

/// Stores new task runs.
pub(crate) async fn insert_task_runs(
    transaction: &mut Transaction,
    organization: OrganizationId,
    task_runs: &[TaskRun],
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(task_runs.len());
    for task_run in task_runs {
        let name = &task_run.particulars.name;
        rows.push([
            task_run.id.into(),
            organization.into(),
            task_run.run.into(),
            task_run.task.into(),
            task_run.status().as_str().into(),
            document(&task_run.state)?.into(),
            task_run.deadline().into(),
            task_run.created_at.into(),
            task_run.definition.map(|digest| digest.to_string()).into(),
            task_run.devbox.into(),
            name.clone().into(),
            name.as_ref().map(|name| name.to_lowercase()).into(),
            sealed::seal(
                transaction.vault(),
                &sealed::task_run(task_run.id),
                &task_run.particulars,
            )?
            .into(),
            document(&task_run.particulars.metadata)?.into(),
            1i64.into(),
        ]);
    }
    for query in TASK_RUNS.of(rows.into_iter()) {
        transaction.execute(query).await?;
    }
    Ok(())
}

pub(crate) fn document(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::corrupt("document", error))
}

pub(crate) fn read_run(row: &Row) -> Result<Revised<Run>, StoreError> {
    let concurrency = NonZeroU32::new(row.number("concurrency")?)
        .ok_or_else(|| StoreError::Corrupt("a run with a concurrency of zero".to_owned()))?;
    let id = row.id("id")?;
    let value = Run {
        id,
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
        plan: match row.opt_text("plan")? {
            None => RunPlan::default(),
            Some(_) => row.json("plan")?,
        },
        particulars: particulars(row, || sealed::run(id))?,
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
    let id = row.id("id")?;
    let value = TaskRun {
        id,
        run: row.opt_id("run")?,
        task: row.id("task")?,
        definition: match row.opt_text("definition")? {
            None => None,
            Some(_) => Some(row.parsed("definition")?),
        },
        devbox: row.opt_id("devbox")?,
        particulars: particulars(row, || sealed::task_run(id))?,
        created_at: row.time("created_at")?,
        state: row.json("state")?,
    };
    Ok(Revised {
        value,
        revision: row.int("revision")?,
    })
}

/// What was said at the start; nothing for rows that are older than the column.
fn particulars(row: &Row, owner: impl FnOnce() -> String) -> Result<Particulars, StoreError> {
    match row.opt_text("particulars")? {
        None => Ok(Particulars::default()),
        Some(_) => row.confidential("particulars", owner),
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
