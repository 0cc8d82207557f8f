//! Devboxes: what they were asked to be and how far their lives have come.
//!
//! The state machine of `proctor-core` decides; this keeps what it decided. A change is written only over the
//! revision it was decided on.

use std::collections::BTreeMap;

use proctor_core::{
    devbox::{DevboxBase, DevboxLife, DevboxSetup, DevboxStatus, Initiator, Tunnel},
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
    limits::Resource,
    time::Timestamp,
};

use crate::{
    OnDisk, Store, StoreError,
    database::{Query, Row},
    names::WantedLabels,
    page::{Listing, Page, PageRequest},
    runs::{Revised, document},
    sealed,
};
use proctor_macros::boxed_futures;

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
    /// How services in it can be reached from outside.
    pub tunnel: Option<Tunnel>,
}

impl DevboxRecord {
    /// Where it is in its life.
    pub fn status(&self) -> DevboxStatus {
        self.life.status()
    }
}

/// What opens the repositories of a devbox's mounts, by their places among them.
pub type MountTokens = BTreeMap<usize, String>;

/// What a devbox's tokens are sealed for.
fn owner(id: DevboxId) -> String {
    format!("mount tokens of {id}")
}

const COLUMNS: &str = "id, organization, node, name, metadata, initiator, setup, life, caveats, deadline, created_at, \
                       tunnel, revision";

#[boxed_futures]
impl Store {
    /// Stores a new devbox; [`StoreError::Limit`] when its organization has as many as it may. What opens the repositories of its mounts is kept sealed, apart from the rest, until they are in it.
    pub async fn create_devbox(
        &self,
        mut devbox: DevboxRecord,
        when: OnDisk,
    ) -> Result<Revised<DevboxRecord>, StoreError> {
        let mounts = devbox.setup.mounts.iter_mut().enumerate();
        let tokens: MountTokens = mounts
            .filter_map(|(place, mount)| Some((place, mount.token_mut()?.take()?)))
            .collect();
        let sealed_tokens = match tokens.is_empty() {
            true => None,
            false => {
                let tokens = document(&tokens)?;
                Some(self.vault().seal(&owner(devbox.id), &tokens))
            }
        };
        let query = Query::new(
            "INSERT INTO devboxes (id, organization, node, name, metadata, initiator, setup, status, life, caveats, \
             deadline, created_at, sealed_tokens, tunnel, revision) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1)",
        )
        .bind(devbox.id)
        .bind(devbox.organization)
        .bind(devbox.node.as_str())
        .bind(devbox.name.clone())
        .bind(document(&devbox.metadata)?)
        .bind(document(&devbox.initiator)?)
        .bind(sealed::seal(
            self.vault(),
            &sealed::devbox(devbox.id),
            &devbox.setup,
        )?)
        .bind(devbox.status().as_str())
        .bind(document(&devbox.life)?)
        .bind(document(&devbox.caveats)?)
        .bind(devbox.deadline)
        .bind(devbox.created_at)
        .bind(sealed_tokens)
        .bind(tunnel(&devbox)?);
        let mut transaction = self.database().begin_when(when).await?;
        self.check_room(&mut transaction, devbox.organization, Resource::Devboxes, 1)
            .await?;
        transaction.execute(query).await?;
        transaction.commit().await?;
        Ok(Revised::first(devbox))
    }

    /// What opens the repositories of a devbox that is being made.
    pub async fn devbox_tokens(&self, id: DevboxId) -> Result<MountTokens, StoreError> {
        let query = Query::new(
            "SELECT sealed_tokens FROM devboxes WHERE id = $1 AND sealed_tokens IS NOT NULL",
        )
        .bind(id);
        let Some(row) = self.database().read_optional(query).await? else {
            return Ok(MountTokens::new());
        };
        let sealed = row.bytes("sealed_tokens")?;
        let opened = self.vault().open(&owner(id), &sealed)?;
        serde_json::from_str(&opened).map_err(|error| StoreError::corrupt("sealed_tokens", error))
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

    /// The organization's devboxes, of one status or of all, with these labels.
    pub async fn devboxes(
        &self,
        organization: OrganizationId,
        status: Option<DevboxStatus>,
        labels: &WantedLabels,
        page: PageRequest<DevboxKind>,
    ) -> Result<Page<DevboxRecord>, StoreError> {
        let mut listing = Listing::new(COLUMNS, "devboxes").filter("organization", organization);
        if let Some(status) = status {
            listing = listing.filter("status", status.as_str());
        }
        for (name, values) in labels {
            listing = listing.labelled("metadata", name, values)?;
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

    /// What the devboxes start from that are being made, on every machine.
    pub async fn bases_of_launches(&self) -> Result<Vec<DevboxBase>, StoreError> {
        // The first condition is that of the index, which has only those that have not ended.
        let query = Query::new(
            "SELECT setup FROM devboxes WHERE status NOT IN ('shutdown', 'failure') AND status = 'provisioning'",
        );
        let rows = self.database().read_all(query).await?;
        let bases = rows.iter().map(|row| {
            let setup: DevboxSetup = row.json("setup")?;
            Ok(setup.base)
        });
        bases.collect()
    }

    /// Writes what a devbox has become over what it was; [`StoreError::Stale`] if somebody else was first. When it is no longer
    /// being made, what opened its repositories is forgotten.
    pub async fn change_devbox(
        &self,
        before: &Revised<DevboxRecord>,
        after: DevboxRecord,
        when: OnDisk,
    ) -> Result<Revised<DevboxRecord>, StoreError> {
        let query = Query::new(
            "UPDATE devboxes SET name = $1, metadata = $2, status = $3, life = $4, caveats = $5, deadline = $6, \
             sealed_tokens = CASE WHEN $7 = 'provisioning' THEN sealed_tokens ELSE NULL END, \
             tunnel = $8, revision = revision + 1 WHERE id = $9 AND revision = $10",
        )
        .bind(after.name.clone())
        .bind(document(&after.metadata)?)
        .bind(after.status().as_str())
        .bind(document(&after.life)?)
        .bind(document(&after.caveats)?)
        .bind(after.deadline)
        .bind(after.status().as_str())
        .bind(tunnel(&after)?)
        .bind(before.value.id)
        .bind(before.revision);
        match self.database().execute_when(query, when).await? {
            0 => Err(StoreError::Stale),
            _ => Ok(before.next(after)),
        }
    }
}

fn tunnel(devbox: &DevboxRecord) -> Result<Option<String>, StoreError> {
    devbox.tunnel.as_ref().map(document).transpose()
}

fn read(row: &Row) -> Result<Revised<DevboxRecord>, StoreError> {
    let id = row.id("id")?;
    let value = DevboxRecord {
        id,
        organization: row.id("organization")?,
        node: row.text("node")?,
        name: row.opt_text("name")?,
        metadata: row.json("metadata")?,
        initiator: row.json("initiator")?,
        setup: row.confidential("setup", || sealed::devbox(id))?,
        life: row.json("life")?,
        caveats: row.json("caveats")?,
        deadline: row.opt_time("deadline")?,
        created_at: row.time("created_at")?,
        tunnel: row
            .opt_text("tunnel")?
            .map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|error| StoreError::corrupt("tunnel", error))?,
    };
    Ok(Revised {
        value,
        revision: row.int("revision")?,
    })
}
