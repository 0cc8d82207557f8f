//! What organizations have of everything that may be limited, and the check before they get more.

use proctor_core::{
    id::kinds::OrganizationId,
    limits::{LimitReached, Limits, Resource, Usage},
    time::Timestamp,
};
use proctor_macros::boxed_futures;

use crate::{
    Store, StoreError,
    database::{Query, Transaction},
};

/// How much an organization may store and stores, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageRoom {
    limit: u64,
    used: u64,
}

impl StorageRoom {
    /// How much more it may store.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// The refusal of more than that.
    pub fn refusal(&self) -> LimitReached {
        LimitReached {
            resource: Resource::Storage,
            limit: self.limit,
            used: self.used,
        }
    }
}

#[boxed_futures]
impl Store {
    /// What an organization has.
    pub async fn usage(&self, organization: OrganizationId) -> Result<Usage, StoreError> {
        let mut snapshot = self.database().snapshot().await?;
        let now = self.now();
        let usage = Usage {
            devboxes: used(&mut snapshot, organization, Resource::Devboxes, now).await?,
            runs: used(&mut snapshot, organization, Resource::Runs, now).await?,
            storage_bytes: used(&mut snapshot, organization, Resource::Storage, now).await?,
        };
        snapshot.commit().await?;
        Ok(usage)
    }

    /// How much an organization may store and stores; none if that is not limited.
    pub async fn storage_room(
        &self,
        organization: OrganizationId,
    ) -> Result<Option<StorageRoom>, StoreError> {
        let known = self.organization(organization).await?;
        match known.and_then(|known| known.limits.storage_bytes) {
            None => Ok(None),
            Some(limit) => Ok(Some(StorageRoom {
                limit,
                used: self.usage(organization).await?.storage_bytes,
            })),
        }
    }

    /// Refuses `more` of a resource that the organization may not have; whoever asks at the same moment waits for the end of
    /// this transaction.
    pub(crate) async fn check_room(
        &self,
        transaction: &mut Transaction,
        organization: OrganizationId,
        resource: Resource,
        more: u64,
    ) -> Result<(), StoreError> {
        let query =
            Query::new("SELECT limits FROM organizations WHERE id = $1 AND limits IS NOT NULL")
                .bind(organization);
        let Some(row) = transaction.read_optional(query).await? else {
            return Ok(());
        };
        let limits: Limits = row.json("limits")?;
        if limits.of(resource).is_none() {
            return Ok(());
        }
        // Changes nothing, and lets nobody else count before this is written.
        let lock =
            Query::new("UPDATE organizations SET limits = limits WHERE id = $1").bind(organization);
        transaction.execute(lock).await?;
        let used = used(transaction, organization, resource, self.now()).await?;
        Ok(LimitReached::check(&limits, resource, used, more)?)
    }
}

/// How much of a resource an organization has.
async fn used(
    transaction: &mut Transaction,
    organization: OrganizationId,
    resource: Resource,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let query = match resource {
        Resource::Devboxes => Query::new(
            "SELECT COUNT(*) AS used FROM devboxes \
             WHERE organization = $1 AND status NOT IN ('shutdown', 'failure')",
        )
        .bind(organization),
        Resource::Runs => Query::new(
            "SELECT (SELECT COUNT(*) FROM runs WHERE organization = $1 AND status IN ('created', 'started')) \
             + (SELECT COUNT(*) FROM task_runs WHERE organization = $1 AND run IS NULL \
                AND status IN ('created', 'started', 'scoring', 'scored')) AS used",
        )
        .bind(organization),
        Resource::Storage => Query::new(
            "SELECT CAST((SELECT COALESCE(SUM(size_bytes), 0) FROM objects WHERE organization = $1 \
                AND status <> 'DELETED' AND (delete_after IS NULL OR delete_after > $2)) \
             + (SELECT COALESCE(SUM(size_bytes), 0) FROM disk_snapshots WHERE organization = $1 \
                AND status IN ('in_progress', 'complete')) AS BIGINT) AS used",
        )
        .bind(organization)
        .bind(now),
    };
    let row = transaction.read_optional(query).await?;
    let used = row.map_or(Ok(0), |row| row.int("used"))?;
    Ok(u64::try_from(used).unwrap_or(0))
}
