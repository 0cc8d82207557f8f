//! Frozen disks: what boxes held when they were scored, which of it is kept, and which is about to go.

use std::collections::BTreeSet;

use proctor_core::{
    id::kinds::{DevboxId, TaskRunId},
    time::Timestamp,
};
use serde_json::Value;

use crate::{
    OnDisk, Store, StoreError,
    database::{Param, Query, Row},
    runs::document,
};
use proctor_macros::boxed_futures;

/// A disk as it was when a task run was scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenDisk {
    /// The layer that it is.
    pub layer: String,
    /// The machine it is on.
    pub node: String,
    /// The task run that was scored.
    pub task_run: TaskRunId,
    /// The devbox whose disk it was.
    pub devbox: DevboxId,
    /// Whether it is kept.
    pub status: FrozenStatus,
    /// How much it takes, once that was counted.
    pub size_bytes: Option<u64>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Whether it is kept however many newer ones there are.
    pub is_pinned: bool,
}

/// Whether a frozen disk is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrozenStatus {
    /// The scoring that asked for it goes on.
    Taking,
    /// It can be scored again.
    Kept,
    /// Nobody wants it; it goes when nothing stands on it.
    Dropped,
}

impl FrozenStatus {
    const ALL: [Self; 3] = [Self::Taking, Self::Kept, Self::Dropped];

    const fn stored(self) -> &'static str {
        match self {
            Self::Taking => "taking",
            Self::Kept => "kept",
            Self::Dropped => "dropped",
        }
    }
}

/// How much is frozen on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrozenTotal {
    /// How many disks are kept.
    pub kept: u64,
    /// How many bytes all disks take, as far as they were counted, also those that are about to go.
    pub bytes: u64,
    /// How many of those that are kept must stay.
    pub pinned: u64,
}

const COLUMNS: &str = "layer, node, task_run, devbox, status, size_bytes, created_at, pinned";

#[boxed_futures]
impl Store {
    /// Notes that a disk is about to be frozen: before it is, so that no end of the process leaves a layer without an owner. `origin` is what is
    /// needed to work on it as its devbox did.
    ///
    /// Until its task run has a score, a power cut may take this: the box, and with it the scoring, goes then too. The layer may be there
    /// all the same; the fleet removes at its next start what nobody owns (`settle_frozen`).
    pub async fn create_frozen_disk(
        &self,
        disk: &FrozenDisk,
        origin: &Value,
    ) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO frozen_disks (layer, node, task_run, devbox, status, origin, size_bytes, created_at, pinned) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(disk.layer.as_str())
        .bind(disk.node.as_str())
        .bind(disk.task_run)
        .bind(disk.devbox)
        .bind(disk.status.stored())
        .bind(document(origin)?)
        .bind(disk.size_bytes.map(stored_size))
        .bind(disk.created_at)
        .bind(i64::from(disk.is_pinned));
        self.database()
            .execute_when(query, OnDisk::WithTheNext)
            .await?;
        Ok(())
    }

    /// The disks that were frozen for a task run and are still there, the oldest first.
    pub async fn frozen_disks_of(
        &self,
        task_run: TaskRunId,
    ) -> Result<Vec<FrozenDisk>, StoreError> {
        self.frozen_disks("task_run = $1", task_run.into()).await
    }

    /// What is needed to work on a frozen disk as its devbox did.
    pub async fn origin_of_frozen_disk(&self, layer: &str) -> Result<Option<Value>, StoreError> {
        let query = Query::new("SELECT origin FROM frozen_disks WHERE layer = $1").bind(layer);
        let row = self.database().read_optional(query).await?;
        row.map(|row| row.json("origin")).transpose()
    }

    /// How much is frozen on `node`.
    pub async fn frozen_total(&self, node: &str) -> Result<FrozenTotal, StoreError> {
        let query = Query::new(
            "SELECT COUNT(CASE WHEN status = 'kept' THEN 1 END) AS kept, \
             COUNT(CASE WHEN status = 'kept' AND pinned = 1 THEN 1 END) AS pinned, \
             CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT) AS bytes FROM frozen_disks WHERE node = $1",
        );
        let row = self.database().read_one(query.bind(node)).await?;
        let number = |column| Ok::<u64, StoreError>(row.int(column)?.try_into().unwrap_or(0));
        Ok(FrozenTotal {
            kept: number("kept")?,
            bytes: number("bytes")?,
            pinned: number("pinned")?,
        })
    }

    /// The disk that a task run can be scored again on, if one is kept.
    pub async fn kept_disk_of(
        &self,
        task_run: TaskRunId,
    ) -> Result<Option<FrozenDisk>, StoreError> {
        let kept = "task_run = $1 AND status = 'kept'";
        Ok(self.frozen_disks(kept, task_run.into()).await?.pop())
    }

    /// Those of some task runs that can be scored again because their disk is kept.
    pub async fn task_runs_with_kept_disks(
        &self,
        task_runs: &[TaskRunId],
    ) -> Result<BTreeSet<TaskRunId>, StoreError> {
        let text = |list: &str| {
            format!(
                "SELECT task_run FROM frozen_disks WHERE status = 'kept' AND task_run IN ({list})"
            )
        };
        let rows = self.database().read_for(task_runs, &[], text).await?;
        rows.iter().map(|row| row.id("task_run")).collect()
    }

    /// All frozen disks on `node`, the oldest first.
    pub async fn frozen_disks_on(&self, node: &str) -> Result<Vec<FrozenDisk>, StoreError> {
        self.frozen_disks("node = $1", node.into()).await
    }

    /// The frozen disks on `node` that nobody wants, the oldest first.
    pub async fn dropped_disks_on(&self, node: &str) -> Result<Vec<FrozenDisk>, StoreError> {
        let dropped = "node = $1 AND status = 'dropped'";
        self.frozen_disks(dropped, node.into()).await
    }

    async fn frozen_disks(
        &self,
        condition: &'static str,
        value: Param,
    ) -> Result<Vec<FrozenDisk>, StoreError> {
        let text = format!(
            "SELECT {COLUMNS} FROM frozen_disks WHERE {condition} ORDER BY created_at, layer"
        );
        let query = Query::assembled(text, vec![value]);
        let rows = self.database().read_all(query).await?;
        rows.iter().map(read).collect()
    }

    /// Keeps a disk that was being frozen, in place of those that its task run had before; with its size, if that is known. It is on disk
    /// with the score that is written next.
    pub async fn keep_frozen_disk(
        &self,
        layer: &str,
        bytes: Option<u64>,
    ) -> Result<(), StoreError> {
        let query = Query::new(
            "UPDATE frozen_disks SET \
             status = CASE WHEN layer = $1 THEN 'kept' ELSE 'dropped' END, \
             size_bytes = CASE WHEN layer = $1 THEN $2 ELSE size_bytes END \
             WHERE task_run = (SELECT task_run FROM frozen_disks WHERE layer = $1) \
             AND ((layer = $1 AND status = 'taking') OR (layer <> $1 AND status = 'kept'))",
        );
        let query = query.bind(layer).bind(bytes.map(stored_size));
        self.database()
            .execute_when(query, OnDisk::WithTheNext)
            .await?;
        Ok(())
    }

    /// Notes how much a frozen disk takes.
    pub async fn measure_frozen_disk(&self, layer: &str, bytes: u64) -> Result<(), StoreError> {
        let query = Query::new("UPDATE frozen_disks SET size_bytes = $1 WHERE layer = $2")
            .bind(stored_size(bytes))
            .bind(layer);
        self.database().execute(query).await?;
        Ok(())
    }

    /// Gives frozen disks up: they go when nothing stands on them.
    pub async fn drop_frozen_disks(&self, layers: &[String]) -> Result<(), StoreError> {
        let text = "UPDATE frozen_disks SET status = 'dropped' WHERE layer = $1";
        self.for_each_layer(text, layers).await
    }

    /// Carries a statement out for every one of some layers, all together. A power cut may undo it: what is written of a layer that is gone is forgotten at the
    /// next start, and what was given up and is there is given up again.
    async fn for_each_layer(
        &self,
        text: &'static str,
        layers: &[String],
    ) -> Result<(), StoreError> {
        let mut transaction = self.database().begin_when(OnDisk::WithTheNext).await?;
        for layer in layers {
            let query = Query::new(text).bind(layer.as_str());
            transaction.execute(query).await?;
        }
        transaction.commit().await
    }

    /// Gives up the disks on `node` that were being frozen for scorings that do not go on.
    pub async fn drop_unfinished_disks(&self, node: &str) -> Result<(), StoreError> {
        let query = Query::new(
            "UPDATE frozen_disks SET status = 'dropped' WHERE node = $1 AND status = 'taking' \
             AND task_run NOT IN (SELECT id FROM task_runs WHERE status = 'scoring')",
        );
        self.database().execute(query.bind(node)).await?;
        Ok(())
    }

    /// Forgets frozen disks whose layers are gone.
    pub async fn forget_frozen_disks(&self, layers: &[String]) -> Result<(), StoreError> {
        let text = "DELETE FROM frozen_disks WHERE layer = $1";
        self.for_each_layer(text, layers).await
    }
}

fn stored_size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn read(row: &Row) -> Result<FrozenDisk, StoreError> {
    let status = row.text("status")?;
    Ok(FrozenDisk {
        layer: row.text("layer")?,
        node: row.text("node")?,
        task_run: row.id("task_run")?,
        devbox: row.id("devbox")?,
        status: FrozenStatus::ALL
            .into_iter()
            .find(|known| known.stored() == status)
            .ok_or_else(|| StoreError::Corrupt(format!("a frozen disk that is '{status}'")))?,
        size_bytes: row
            .opt_int("size_bytes")?
            .and_then(|bytes| u64::try_from(bytes).ok()),
        created_at: row.time("created_at")?,
        is_pinned: row.int("pinned")? != 0,
    })
}
