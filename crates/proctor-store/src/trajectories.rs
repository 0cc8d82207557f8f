//! What agents tell of their task runs: what they did, and what they used up.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{RunId, TaskId, TaskRunId},
    trajectory::Trajectory,
    usage::{ModelUsage, Usage},
};
use proctor_macros::boxed_futures;
use serde_json::Value;

use crate::{
    Store, StoreError,
    database::{Query, Row},
    runs::document,
};

#[boxed_futures]
impl Store {
    /// Keeps the trajectory of a task run, in place of the one before.
    pub async fn keep_trajectory(
        &self,
        task_run: TaskRunId,
        trajectory: &Trajectory,
    ) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO trajectories (task_run, document, created_at) VALUES ($1, $2, $3) \
             ON CONFLICT (task_run) DO UPDATE SET document = excluded.document, created_at = excluded.created_at",
        )
        .bind(task_run)
        .bind(document(&trajectory.document)?)
        .bind(self.now());
        self.database().execute(query).await.map(drop)
    }

    /// The trajectory of a task run, if its agent sent one.
    pub async fn trajectory(&self, task_run: TaskRunId) -> Result<Option<Value>, StoreError> {
        let query =
            Query::new("SELECT document FROM trajectories WHERE task_run = $1").bind(task_run);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.json("document")).transpose()
    }

    /// Adds to what a task run used up.
    pub async fn add_usage(
        &self,
        task_run: TaskRunId,
        reports: &[ModelUsage],
    ) -> Result<(), StoreError> {
        let mut by_model: BTreeMap<&str, Usage> = BTreeMap::new();
        for report in reports {
            let model = report.model.as_deref().unwrap_or_default();
            by_model
                .entry(model)
                .and_modify(|usage| *usage = usage.plus(report.usage))
                .or_insert(report.usage);
        }
        let mut transaction = self.database().begin().await?;
        for (model, usage) in by_model {
            let query = Query::new(
                "INSERT INTO task_run_usage (task_run, model, input_tokens, cached_tokens, output_tokens, cost_usd) \
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (task_run, model) DO UPDATE SET \
                 input_tokens = task_run_usage.input_tokens + excluded.input_tokens, \
                 cached_tokens = task_run_usage.cached_tokens + excluded.cached_tokens, \
                 output_tokens = task_run_usage.output_tokens + excluded.output_tokens, \
                 cost_usd = task_run_usage.cost_usd + excluded.cost_usd",
            )
            .bind(task_run)
            .bind(model)
            .bind(stored(usage.input_tokens))
            .bind(stored(usage.cached_tokens))
            .bind(stored(usage.output_tokens))
            .bind(usage.cost_usd);
            transaction.execute(query).await?;
        }
        transaction.commit().await
    }

    /// What a task run used up, by model; nothing if nothing was reported.
    pub async fn usage_of_task_run(
        &self,
        task_run: TaskRunId,
    ) -> Result<Vec<ModelUsage>, StoreError> {
        let query = Query::new(
            "SELECT model, input_tokens, cached_tokens, output_tokens, cost_usd FROM task_run_usage \
             WHERE task_run = $1 ORDER BY model",
        )
        .bind(task_run);
        let rows = self.database().read_all(query).await?;
        let read = |row: &Row| {
            Ok(ModelUsage {
                model: Some(row.text("model")?).filter(|model| !model.is_empty()),
                usage: read_usage(row)?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// What the task runs of these runs used up, by run and task. Tasks for which nothing was reported are not there.
    pub async fn usage_of_runs(
        &self,
        runs: &[RunId],
    ) -> Result<BTreeMap<(RunId, TaskId), Usage>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT t.run AS run, t.task AS task, u.input_tokens AS input_tokens, u.cached_tokens AS cached_tokens, \
                 u.output_tokens AS output_tokens, u.cost_usd AS cost_usd \
                 FROM task_run_usage u JOIN task_runs t ON t.id = u.task_run WHERE t.run IN ({list})"
            )
        };
        let rows = self.database().read_for(runs, &[], text).await?;
        let mut found: BTreeMap<(RunId, TaskId), Usage> = BTreeMap::new();
        for row in &rows {
            let usage = read_usage(row)?;
            found
                .entry((row.id("run")?, row.id("task")?))
                .and_modify(|sum| *sum = sum.plus(usage))
                .or_insert(usage);
        }
        Ok(found)
    }
}

/// A number of tokens as databases count.
fn stored(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn read_usage(row: &Row) -> Result<Usage, StoreError> {
    let tokens =
        |column| Ok::<u64, StoreError>(u64::try_from(row.int(column)?).unwrap_or_default());
    Ok(Usage {
        input_tokens: tokens("input_tokens")?,
        cached_tokens: tokens("cached_tokens")?,
        output_tokens: tokens("output_tokens")?,
        cost_usd: row.opt_real("cost_usd")?,
    })
}
