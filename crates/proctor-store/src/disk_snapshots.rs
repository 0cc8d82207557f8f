//! Disk snapshots: which there are, what they were taken of, and whether they can be used.

use std::collections::BTreeMap;

use proctor_core::{
    id::kinds::{BlueprintId, DevboxId, OrganizationId, SnapshotId, SnapshotKind},
    limits::Resource,
    time::Timestamp,
};

use crate::{
    Store, StoreError,
    database::{Query, Row},
    page::{Listing, Page, PageRequest},
    runs::document,
};
use proctor_macros::boxed_futures;

/// A disk snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSnapshot {
    /// Its name for programs.
    pub id: SnapshotId,
    /// Whose it is.
    pub organization: OrganizationId,
    /// The machine it is on.
    pub node: String,
    /// The devbox it was taken of.
    pub devbox: DevboxId,
    /// The blueprint that devbox was made from, if it was.
    pub blueprint: Option<BlueprintId>,
    /// What people call it.
    pub name: Option<String>,
    /// What its owner says about it.
    pub commit_message: Option<String>,
    /// Notes of its owner.
    pub metadata: BTreeMap<String, String>,
    /// Whether it can be used.
    pub status: SnapshotStatus,
    /// What went wrong, if something did.
    pub error: Option<String>,
    /// How much it added to what it is based on, if that is known.
    pub size_bytes: Option<u64>,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// Whether a snapshot can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotStatus {
    /// It is being taken.
    InProgress,
    /// It can be used.
    Complete,
    /// It could not be taken.
    Error,
    /// It was deleted; its layer goes when nothing needs it.
    Deleted,
    /// It was deleted and its layer is gone.
    Gone,
}

impl SnapshotStatus {
    const ALL: [Self; 5] = [
        Self::InProgress,
        Self::Complete,
        Self::Error,
        Self::Deleted,
        Self::Gone,
    ];

    const fn stored(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Deleted => "deleted",
            Self::Gone => "gone",
        }
    }
}

/// Which snapshots are wanted.
#[derive(Clone, Debug, Default)]
pub struct SnapshotFilter {
    /// Those of this devbox.
    pub devbox: Option<DevboxId>,
    /// Those of devboxes that were made from this blueprint.
    pub blueprint: Option<BlueprintId>,
    /// Those whose notes have one of these values under each of these names.
    pub metadata: BTreeMap<String, Vec<String>>,
}

const COLUMNS: &str = "id, organization, node, devbox, blueprint, name, commit_message, metadata, status, error, \
                       size_bytes, created_at";

#[boxed_futures]
impl Store {
    /// Stores a new snapshot; [`StoreError::Limit`] when its organization stores as much as it may.
    pub async fn create_disk_snapshot(&self, snapshot: &DiskSnapshot) -> Result<(), StoreError> {
        let query = Query::new(
            "INSERT INTO disk_snapshots (id, organization, node, devbox, blueprint, name, commit_message, metadata, \
             status, error, size_bytes, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(snapshot.id)
        .bind(snapshot.organization)
        .bind(snapshot.node.as_str())
        .bind(snapshot.devbox)
        .bind(snapshot.blueprint)
        .bind(snapshot.name.clone())
        .bind(snapshot.commit_message.clone())
        .bind(document(&snapshot.metadata)?)
        .bind(snapshot.status.stored())
        .bind(snapshot.error.clone())
        .bind(snapshot.size_bytes.and_then(|bytes| i64::try_from(bytes).ok()))
        .bind(snapshot.created_at);
        let mut transaction = self.database().begin().await?;
        // How large it becomes is not known yet: it needs room for one byte.
        self.check_room(
            &mut transaction,
            snapshot.organization,
            Resource::Storage,
            1,
        )
        .await?;
        transaction.execute(query).await?;
        transaction.commit().await
    }

    /// Finds a snapshot, also a deleted one.
    pub async fn disk_snapshot(&self, id: SnapshotId) -> Result<Option<DiskSnapshot>, StoreError> {
        let text = format!("SELECT {COLUMNS} FROM disk_snapshots WHERE id = $1");
        let row = self
            .database()
            .read_optional(Query::assembled(text, vec![id.into()]))
            .await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The organization's snapshots that can be used or will be.
    pub async fn disk_snapshots(
        &self,
        organization: OrganizationId,
        filter: &SnapshotFilter,
        page: PageRequest<SnapshotKind>,
    ) -> Result<Page<DiskSnapshot>, StoreError> {
        let mut listing = Listing::new(COLUMNS, "disk_snapshots")
            .filter("organization", organization)
            .only("status IN ('in_progress', 'complete')");
        if let Some(devbox) = filter.devbox {
            listing = listing.filter("devbox", devbox);
        }
        if let Some(blueprint) = filter.blueprint {
            listing = listing.filter("blueprint", blueprint);
        }
        for (name, values) in &filter.metadata {
            listing = listing.labelled("metadata", name, values)?;
        }
        listing.page(self.database(), page, read).await
    }

    /// The snapshots on `node` with this status, the oldest first.
    pub async fn disk_snapshots_with(
        &self,
        node: &str,
        status: SnapshotStatus,
    ) -> Result<Vec<DiskSnapshot>, StoreError> {
        let text = format!(
            "SELECT {COLUMNS} FROM disk_snapshots WHERE node = $1 AND status = $2 ORDER BY id"
        );
        let rows = self
            .database()
            .read_all(Query::assembled(
                text,
                vec![node.into(), status.stored().into()],
            ))
            .await?;
        rows.iter().map(read).collect()
    }

    /// Writes what a snapshot has become, unless its status is another than `from` by now; whether it was written.
    pub async fn change_disk_snapshot(
        &self,
        from: SnapshotStatus,
        snapshot: &DiskSnapshot,
    ) -> Result<bool, StoreError> {
        let query = Query::new(
            "UPDATE disk_snapshots SET name = $1, commit_message = $2, metadata = $3, status = $4, error = $5, \
             size_bytes = $6 WHERE id = $7 AND status = $8",
        )
        .bind(snapshot.name.clone())
        .bind(snapshot.commit_message.clone())
        .bind(document(&snapshot.metadata)?)
        .bind(snapshot.status.stored())
        .bind(snapshot.error.clone())
        .bind(snapshot.size_bytes.and_then(|bytes| i64::try_from(bytes).ok()))
        .bind(snapshot.id)
        .bind(from.stored());
        Ok(self.database().execute(query).await? > 0)
    }
}

fn read(row: &Row) -> Result<DiskSnapshot, StoreError> {
    let status = row.text("status")?;
    Ok(DiskSnapshot {
        id: row.id("id")?,
        organization: row.id("organization")?,
        node: row.text("node")?,
        devbox: row.id("devbox")?,
        blueprint: row.opt_id("blueprint")?,
        name: row.opt_text("name")?,
        commit_message: row.opt_text("commit_message")?,
        metadata: row.json("metadata")?,
        status: SnapshotStatus::ALL
            .into_iter()
            .find(|known| known.stored() == status)
            .ok_or_else(|| StoreError::Corrupt(format!("a snapshot that is '{status}'")))?,
        error: row.opt_text("error")?,
        size_bytes: row
            .opt_int("size_bytes")?
            .and_then(|bytes| u64::try_from(bytes).ok()),
        created_at: row.time("created_at")?,
    })
}
