//! What one decision about runs or jobs changes, written in one transaction.
//!
//! The only way in which a run, a task run, a job or their results change. A change is written over the revision it was decided on, so
//! two deciders cannot both win; and every task run that begins or ends is counted in its run, in the same transaction.

use proctor_core::{
    canonical::Digest,
    criterion_run::CriterionRun,
    id::kinds::{CriterionId, JobId, OrganizationId, RunId, TaskRunId},
    job::{Job, Try},
    limits::Resource,
    run::{Run, Tally},
    task_run::TaskRun,
};

use crate::{
    Store, StoreError,
    database::{OnDisk, Query, Transaction},
    jobs::update_of_try,
    leaderboard_log,
    playgrounds::{self, Playground, Sandbox},
    run_figures::RunFigures,
    runs::{Revised, document, insert_task_runs},
};
use proctor_macros::boxed_futures;

/// What one decision changes: all of it is written, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The run before and after.
    pub run: Option<(Revised<Run>, Run)>,
    /// Task runs before and after.
    pub task_runs: Vec<(Revised<TaskRun>, TaskRun)>,
    /// After how many tasks the run ends with its last task run; none if it does not end by itself. A decision that ends the
    /// last task run without ending such a run was made on old facts.
    pub ends_after: Option<u32>,
    /// A task run that joins the run now, which must not be over by then.
    pub joins: Option<TaskRun>,
    /// A task run that belongs to no run.
    pub begins: Option<(OrganizationId, TaskRun)>,
    /// Criterion runs that came of it.
    pub criterion_runs: Vec<CriterionRun>,
    /// The playground that comes to be with it.
    pub playground: Option<(Playground, Vec<Sandbox>)>,
    /// Whether the run's tokens end with it.
    pub ends_tokens: bool,
    /// A job before and after.
    pub job: Option<(Revised<Job>, Job)>,
    /// Tries of jobs as they are now; what has ended stays as it is.
    pub tries: Vec<(JobId, Try)>,
    /// Why the run is put on its leaderboard or taken off, in words.
    pub rank_reason: Option<String>,
    /// The digest of a frozen task and the task run that shows that its scorers take too long on the reference too.
    pub slow_reference: Option<(Digest, TaskRunId)>,
    /// What a reference shows about scorers that could not be started there.
    pub unrun_reference: Option<UnrunReference>,
    /// How soon it must be on disk.
    pub on_disk: OnDisk,
}

/// Which scorers of a frozen task could not be started on its reference. It replaces what an earlier reference showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrunReference {
    /// The digest of the frozen task.
    pub task: Digest,
    /// The task run that shows it.
    pub task_run: TaskRunId,
    /// The scorers; none if all of them could be started.
    pub scorers: Vec<CriterionId>,
}

impl Progress {
    /// The run whose task runs end, and how many do.
    fn ended(&self) -> Option<(RunId, u32)> {
        let mut ended = self
            .task_runs
            .iter()
            .filter(|(before, after)| !before.value.is_over() && after.is_over())
            .filter_map(|(_, after)| after.run);
        let run = ended.next()?;
        Some((run, 1 + u32::try_from(ended.count()).unwrap_or(u32::MAX)))
    }
}

#[boxed_futures]
impl Store {
    /// Writes what one decision changes; [`StoreError::Stale`] if anything it was decided on has
    /// changed since, and then nothing is written.
    pub async fn record(&self, progress: &Progress) -> Result<(), StoreError> {
        let mut transaction = self.database().begin_when(progress.on_disk).await?;
        // The run goes first, always: two transactions that hold one row each and want the other's would wait for ever.
        write_run(&mut transaction, progress).await?;
        if let Some((before, after)) = &progress.run
            && before.value.ranked_at.is_some() != after.ranked_at.is_some()
        {
            let reason = progress.rank_reason.as_deref();
            let change = leaderboard_log::change_of(self.fresh_id(), after, reason, self.now());
            transaction.execute(change).await?;
        }
        for (before, after) in &progress.task_runs {
            let query = Query::new(
                "UPDATE task_runs SET status = $1, state = $2, deadline = $3, devbox = $4, revision = revision + 1 \
                 WHERE id = $5 AND revision = $6",
            )
            .bind(after.status().as_str())
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
        if let Some((organization, task_run)) = &progress.begins {
            self.check_room(&mut transaction, *organization, Resource::Runs, 1)
                .await?;
            insert_task_runs(
                &mut transaction,
                *organization,
                std::slice::from_ref(task_run),
            )
            .await?;
        }
        for criterion_run in &progress.criterion_runs {
            insert_criterion_run(&mut transaction, criterion_run).await?;
        }
        if let Some((playground, sandboxes)) = &progress.playground {
            playgrounds::insert_playground(&mut transaction, playground).await?;
            playgrounds::insert_sandboxes(&mut transaction, sandboxes).await?;
        }
        if let Some((before, after)) = &progress.job {
            let query = Query::new(
                "UPDATE jobs SET status = $1, state = $2, revision = revision + 1 WHERE id = $3 AND revision = $4",
            )
            .bind(after.status().as_str())
            .bind(document(&after.state)?)
            .bind(before.value.id)
            .bind(before.revision);
            change_one(&mut transaction, query).await?;
        }
        for (job, this_try) in &progress.tries {
            transaction.execute(update_of_try(*job, this_try)?).await?;
        }
        if let Some((task, task_run)) = &progress.slow_reference {
            let query = crate::run_lists::note_of_reference(task, *task_run);
            transaction.execute(query).await?;
        }
        if let Some(shown) = &progress.unrun_reference {
            write_unrun_reference(&mut transaction, shown).await?;
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

/// Writes what the newest reference of a task shows.
async fn write_unrun_reference(
    transaction: &mut Transaction,
    shown: &UnrunReference,
) -> Result<(), StoreError> {
    let forget = Query::new("DELETE FROM unrun_references WHERE task_digest = $1")
        .bind(shown.task.to_string());
    transaction.execute(forget).await?;
    for scorer in &shown.scorers {
        let query = Query::new(
            "INSERT INTO unrun_references (task_digest, criterion, task_run) VALUES ($1, $2, $3)",
        )
        .bind(shown.task.to_string())
        .bind(*scorer)
        .bind(shown.task_run);
        transaction.execute(query).await?;
    }
    Ok(())
}

/// Writes what becomes of the run, and how many of its task runs end.
async fn write_run(transaction: &mut Transaction, progress: &Progress) -> Result<(), StoreError> {
    let ended = progress.ended();
    if let Some((before, after)) = &progress.run {
        let query = Query::new(
            "UPDATE runs SET status = $1, state = $2, ranked_at = $3, open_task_runs = open_task_runs - $4, verdict = $5, \
             score = $6, score_low = $7, score_high = $8, scored_attempts = $9, void_attempts = $10, \
             critical_misses = $11, started_at = $12, ended_at = $13, revision = revision + 1 \
             WHERE id = $14 AND revision = $15",
        )
        .bind(after.status().as_str())
        .bind(document(&after.state)?)
        .bind(after.ranked_at)
        .bind(ended.map_or(0, |(_, count)| count));
        let query = RunFigures::of(after)
            .bind(query)
            .bind(before.value.id)
            .bind(before.revision);
        return change_one(transaction, query).await;
    }
    let Some((run, count)) = ended else {
        return Ok(());
    };
    let query = Query::new(
        "UPDATE runs SET open_task_runs = open_task_runs - $1 WHERE id = $2 \
         RETURNING open_task_runs, tasks_taken",
    )
    .bind(count)
    .bind(run);
    let row = transaction.read_optional(query).await?;
    let row = row.ok_or_else(|| StoreError::Corrupt(format!("the run {run} is missing")))?;
    // Fewer than none: somebody else ended what this decision would end.
    let open = u32::try_from(row.int("open_task_runs")?).map_err(|_| StoreError::Stale)?;
    let tally = Tally {
        open,
        taken: row.number("tasks_taken")?,
    };
    match progress.ends_after {
        Some(wanted) if tally.is_complete(wanted) => Err(StoreError::Stale),
        _ => Ok(()),
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
        "UPDATE runs SET revision = revision + 1, open_task_runs = open_task_runs + 1, tasks_taken = tasks_taken + \
         CASE WHEN EXISTS (SELECT 1 FROM task_runs WHERE run = $1 AND task = $2) THEN 0 ELSE 1 END \
         WHERE id = $1 AND status IN ('created', 'started') RETURNING organization",
    )
    .bind(task_run.run)
    .bind(task_run.task);
    let Some(run) = transaction.read_optional(query).await? else {
        return Err(StoreError::Stale);
    };
    let organization = run.id("organization")?;
    insert_task_runs(transaction, organization, std::slice::from_ref(task_run)).await
}

async fn insert_criterion_run(
    transaction: &mut Transaction,
    criterion_run: &CriterionRun,
) -> Result<(), StoreError> {
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
    Ok(())
}
