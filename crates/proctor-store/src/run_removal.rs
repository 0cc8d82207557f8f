//! Removing runs that are over, with everything that belongs to them alone.

use proctor_core::id::kinds::{RunId, TaskRunId};
use proctor_macros::boxed_futures;

use crate::{
    Store, StoreError,
    database::{Query, Transaction},
};

/// Why a run was not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRemoved {
    /// There is none.
    Unknown,
    /// It is not over.
    Open,
    /// It belongs to a job.
    OfJob,
    /// It is on a leaderboard.
    Ranked,
}

#[boxed_futures]
impl Store {
    /// Removes a run that is over: its task runs with what was found, their worlds with their journals, and its tokens. Disks that
    /// were kept are given up; comparisons and gates that named the run stay as they were. Answers the task runs that it had.
    pub async fn remove_run(
        &self,
        run: RunId,
    ) -> Result<Result<Vec<TaskRunId>, NotRemoved>, StoreError> {
        let mut transaction = self.database().begin().await?;
        let query = Query::new("SELECT status, job, ranked_at FROM runs WHERE id = $1").bind(run);
        let Some(row) = transaction.read_optional(query).await? else {
            return Ok(Err(NotRemoved::Unknown));
        };
        if matches!(row.text("status")?.as_str(), "created" | "started") {
            return Ok(Err(NotRemoved::Open));
        }
        if row.opt_text("job")?.is_some() {
            return Ok(Err(NotRemoved::OfJob));
        }
        if row.opt_time("ranked_at")?.is_some() {
            return Ok(Err(NotRemoved::Ranked));
        }
        let query = Query::new("SELECT id FROM task_runs WHERE run = $1 ORDER BY id").bind(run);
        let rows = transaction.read_all(query).await?;
        let task_runs = rows
            .iter()
            .map(|row| row.id("id"))
            .collect::<Result<Vec<TaskRunId>, StoreError>>()?;
        for task_run in &task_runs {
            remove_task_run(&mut transaction, *task_run).await?;
        }
        transaction
            .execute(Query::new("DELETE FROM sandboxes WHERE run = $1").bind(run))
            .await?;
        let tokens = Query::new(
            "DELETE FROM credentials WHERE (kind = 'run' AND subject = $1) OR (kind = 'attempt' AND subject LIKE $2)",
        )
        .bind(run)
        .bind(format!("{}.%", run.bare()));
        transaction.execute(tokens).await?;
        transaction
            .execute(Query::new("DELETE FROM runs WHERE id = $1").bind(run))
            .await?;
        transaction.commit().await?;
        self.credential_cache().forget_all();
        Ok(Ok(task_runs))
    }
}

/// Removes a task run and its world. Whatever names it by a foreign key goes first.
async fn remove_task_run(
    transaction: &mut Transaction,
    task_run: TaskRunId,
) -> Result<(), StoreError> {
    for text in [
        // The world of a task run has the task run's bits, and its journal is found by following its links.
        "WITH RECURSIVE chain (follows, place, seq) AS ( \
           SELECT e.follows, e.place, e.seq FROM journal_marks m JOIN journal_events e ON e.follows = m.follows \
           WHERE m.world = $1 AND m.seq = (SELECT MIN(seq) FROM journal_marks WHERE world = $1) \
           UNION ALL \
           SELECT e.follows, e.place, e.seq FROM chain JOIN journal_events e ON e.follows = chain.place AND e.seq = chain.seq + 1 \
         ) DELETE FROM journal_events WHERE follows IN (SELECT follows FROM chain)",
        "DELETE FROM journal_marks WHERE world = $1",
        "DELETE FROM sandboxes WHERE playground = $1",
        "DELETE FROM playgrounds WHERE id = $1",
        "DELETE FROM criterion_runs WHERE task_run = $1",
        "UPDATE frozen_disks SET status = 'dropped' WHERE task_run = $1",
        "DELETE FROM task_runs WHERE id = $1",
    ] {
        transaction.execute(Query::new(text).bind(task_run)).await?;
    }
    Ok(())
}
