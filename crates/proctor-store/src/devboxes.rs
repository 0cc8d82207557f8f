//! Devboxes: what they were asked to be and how far their lives have come.
//!
//! The state machine of `proctor-core` decides; this keeps what it decided. A change is written only over the
//! revision it was decided on.

use std::collections::BTreeMap;

use proctor_core::{
    devbox::{DevboxLife, DevboxSetup, DevboxStatus, Initiator},
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
    time::Timestamp,
};

use crate::{
    OnDisk, Store, StoreError,
    database::{Query, Row},
    page::{Listing, Page, PageRequest},
    runs::{Revised, document},
};

/// What is known of a devbox.
#[derive(Clone, Debug, PartialEq)]
pub struct DevboxRecord {
    /// Its name for programs.
    pub id: DevboxId,
    /// Whose it is.
    pub organization: OrganizationId,
    /// The machine it is on.
    pub node: String,
    /// What people call it.
    pub name: Option<String>,
    /// Notes of its owner.
    pub metadata: BTreeMap<String, String>,
    /// Who had it made.
    pub initiator: Initiator,
    /// What it was asked to be.
    pub setup: DevboxSetup,
    /// Its life so far.
    pub life: DevboxLife,
    /// What it could not have of what it should have, in words.
    pub caveats: Vec<String>,
    /// When it ends if nobody asks for more time; none while it has no such clock.
    pub deadline: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl DevboxRecord {
    /// Where it is in its life.
    pub fn status(&self) -> DevboxStatus {
        self.life.status()
    }
}

const COLUMNS: &str = "id, organization, node, name, metadata, initiator, setup, life, caveats, deadline, created_at, \
                       revision";

impl Store {
    /// Stores a new devbox.
    pub async fn create_devbox(
        &self,
        devbox: DevboxRecord,
        when: OnDisk,
    ) -> Result<Revised<DevboxRecord>, StoreError> {
        let query = Query::new(
            "INSERT INTO devboxes (id, organization, node, name, metadata, initiator, setup, status, life, caveats, \
             deadline, created_at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1)",
        )
        .bind(devbox.id)
        .bind(devbox.organization)
        .bind(devbox.node.as_str())
        .bind(devbox.name.clone())
        .bind(document(&devbox.metadata)?)
        .bind(document(&devbox.initiator)?)
        .bind(document(&devbox.setup)?)
        .bind(devbox.status().as_str())
        .bind(document(&devbox.life)?)
        .bind(document(&devbox.caveats)?)
        .bind(devbox.deadline)
        .bind(devbox.created_at);
        self.database().execute_when(query, when).await?;
        Ok(Revised::first(devbox))
    }

    /// Finds a devbox.
    pub async fn devbox(&self, id: DevboxId) -> Result<Option<Revised<DevboxRecord>>, StoreError> {
        let text = format!("SELECT {COLUMNS} FROM devboxes WHERE id = $1");
        let row = self
            .database()
            .read_optional(Query::assembled(text, vec![id.into()]))
            .await?;
        row.map(|row| read(&row)).transpose()
    }

    /// The organization's devboxes, of one status or of all.
    pub async fn devboxes(
        &self,
        organization: OrganizationId,
        status: Option<DevboxStatus>,
        page: PageRequest<DevboxKind>,
    ) -> Result<Page<DevboxRecord>, StoreError> {
        let mut listing = Listing::new(COLUMNS, "devboxes").filter("organization", organization);
        if let Some(status) = status {
            listing = listing.filter("status", status.as_str());
        }
        listing
            .page(self.database(), page, |row| {
                read(row).map(|devbox| devbox.value)
            })
            .await
    }

    /// The organization's devboxes that have not ended and have an agent mounted, the oldest first.
    pub async fn devboxes_with_agents(
        &self,
        organization: OrganizationId,
    ) -> Result<Vec<DevboxRecord>, StoreError> {
        // Most devboxes have none, and reading what they were asked to be is what costs.
        let text = format!(
            "SELECT {COLUMNS} FROM devboxes WHERE organization = $1 AND status NOT IN ('shutdown', 'failure') \
             AND setup LIKE '%\"agent\":{{%' ORDER BY id"
        );
        let rows = self
            .database()
            .read_all(Query::assembled(text, vec![organization.into()]))
            .await?;
        rows.iter()
            .map(|row| read(row).map(|devbox| devbox.value))
            .collect()
    }

    /// Every devbox on `node` that has not ended, the oldest first.
    pub async fn live_devboxes(
        &self,
        node: &str,
    ) -> Result<Vec<Revised<DevboxRecord>>, StoreError> {
        let text = format!(
            "SELECT {COLUMNS} FROM devboxes WHERE node = $1 AND status NOT IN ('shutdown', 'failure') ORDER BY id"
        );
        let rows = self
            .database()
            .read_all(Query::assembled(text, vec![node.into()]))
            .await?;
        rows.iter().map(read).collect()
    }

    /// Writes what a devbox has become over what it was; [`StoreError::Stale`] if somebody else was first.
    pub async fn change_devbox(
        &self,
        before: &Revised<DevboxRecord>,
        after: DevboxRecord,
        when: OnDisk,
    ) -> Result<Revised<DevboxRecord>, StoreError> {
        let query = Query::new(
            "UPDATE devboxes SET name = $1, metadata = $2, status = $3, life = $4, caveats = $5, deadline = $6, \
             revision = revision + 1 WHERE id = $7 AND revision = $8",
        )
        .bind(after.name.clone())
        .bind(document(&after.metadata)?)
        .bind(after.status().as_str())
        .bind(document(&after.life)?)
        .bind(document(&after.caveats)?)
        .bind(after.deadline)
        .bind(before.value.id)
        .bind(before.revision);
        match self.database().execute_when(query, when).await? {
            0 => Err(StoreError::Stale),
            _ => Ok(before.next(after)),
        }
    }
}

fn read(row: &Row) -> Result<Revised<DevboxRecord>, StoreError> {
    let value = DevboxRecord {
        id: row.id("id")?,
        organization: row.id("organization")?,
        node: row.text("node")?,
        name: row.opt_text("name")?,
        metadata: row.json("metadata")?,
        initiator: row.json("initiator")?,
        setup: row.json("setup")?,
        life: row.json("life")?,
        caveats: row.json("caveats")?,
        deadline: row.opt_time("deadline")?,
        created_at: row.time("created_at")?,
    };
    Ok(Revised {
        value,
        revision: row.int("revision")?,
    })
}
