//! Disk snapshots of devboxes.
//!
//! A snapshot is a layer of the backend. Deleting one hides it at once; the layer goes when no box and no other layer
//! needs it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::DevboxBase,
    id::{
        Dialect,
        kinds::{DevboxId, OrganizationId, SnapshotId, SnapshotKind},
    },
};
use proctor_devbox::{Error, LayerId};
use proctor_macros::boxed_futures;
use proctor_store::{
    StoreError,
    disk_snapshots::{DiskSnapshot, SnapshotFilter, SnapshotStatus},
    page::{Page, PageRequest},
    repeatable::Made,
    retry::retry_stale,
};

use crate::{error::FleetError, fleet::Fleet, live::Live, workplace::Workplace};

/// A snapshot to be taken.
#[derive(Clone, Debug, Default)]
pub struct NewSnapshot {
    /// What people call it.
    pub name: Option<String>,
    /// What its owner says about it.
    pub commit_message: Option<String>,
    /// Notes of its owner.
    pub metadata: BTreeMap<String, String>,
}

/// What changes about a snapshot. What is absent stays.
#[derive(Clone, Debug, Default)]
pub struct SnapshotChange {
    /// What people call it; an empty text is no name.
    pub name: Option<String>,
    /// What its owner says about it.
    pub commit_message: Option<String>,
    /// Notes of its owner.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// A snapshot that is asked for.
enum Begun {
    /// It was begun when the request was first carried out.
    Before(DiskSnapshot),
    /// It is to be taken.
    New(Arc<Live>, Workplace, DiskSnapshot),
}

/// How often to look whether a snapshot was taken.
const GLANCE: Duration = Duration::from_millis(50);

#[boxed_futures]
impl Fleet {
    /// Takes a snapshot of a devbox and waits for it.
    pub async fn snapshot(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        new: NewSnapshot,
    ) -> Result<DiskSnapshot, FleetError> {
        let (live, workplace, snapshot) =
            match self.begin_snapshot(organization, devbox, new).await? {
                Begun::Before(snapshot) => return self.taken(organization, snapshot.id).await,
                Begun::New(live, workplace, snapshot) => (live, workplace, snapshot),
            };
        // In a task of its own: a caller who leaves does not leave half a snapshot.
        let (fleet, id) = (self.clone(), snapshot.id);
        let taking = self.inner.tasks.spawn(async move {
            fleet.take_snapshot(&live, &workplace, snapshot).await;
        });
        taking.await.map_err(std::io::Error::other)?;
        self.taken(organization, id).await
    }

    /// A snapshot as soon as it is no longer being taken.
    async fn taken(
        &self,
        organization: OrganizationId,
        id: SnapshotId,
    ) -> Result<DiskSnapshot, FleetError> {
        loop {
            let snapshot = self.disk_snapshot(organization, id).await?;
            match (&snapshot.status, &snapshot.error) {
                (SnapshotStatus::InProgress, _) => tokio::time::sleep(GLANCE).await,
                (_, None) => return Ok(snapshot),
                (_, Some(why)) => return Err(FleetError::Box(Error::Invalid(why.clone()))),
            }
        }
    }

    /// Takes a snapshot of a devbox in the background.
    pub async fn snapshot_in_background(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        new: NewSnapshot,
    ) -> Result<DiskSnapshot, FleetError> {
        let (live, workplace, snapshot) =
            match self.begin_snapshot(organization, devbox, new).await? {
                Begun::Before(snapshot) => return Ok(snapshot),
                Begun::New(live, workplace, snapshot) => (live, workplace, snapshot),
            };
        let answer = snapshot.clone();
        self.in_background(&live, |fleet, live| async move {
            fleet.take_snapshot(&live, &workplace, snapshot).await;
        });
        Ok(answer)
    }

    async fn begin_snapshot(
        &self,
        organization: OrganizationId,
        devbox: DevboxId,
        new: NewSnapshot,
    ) -> Result<Begun, FleetError> {
        let made = self.store().make_once(|id| self.store().disk_snapshot(id));
        let id = match made.await? {
            Made::Before(snapshot) => return self.begin_again(organization, snapshot).await,
            Made::New(id) => id,
        };
        let (live, workplace) = self.at_work(organization, devbox).await?;
        let blueprint = match live.record().setup.base {
            DevboxBase::Blueprint { blueprint, .. } => Some(blueprint),
            DevboxBase::Host | DevboxBase::Snapshot(_) => None,
        };
        let snapshot = DiskSnapshot {
            id,
            organization,
            node: self.inner.node.clone(),
            devbox,
            blueprint,
            name: new.name,
            commit_message: new.commit_message,
            metadata: new.metadata,
            status: SnapshotStatus::InProgress,
            error: None,
            size_bytes: None,
            created_at: self.now(),
        };
        self.store().create_disk_snapshot(&snapshot).await?;
        Ok(Begun::New(live, workplace, snapshot))
    }

    /// A snapshot whose request is repeated: the server may have ended while it was being taken.
    async fn begin_again(
        &self,
        organization: OrganizationId,
        mut snapshot: DiskSnapshot,
    ) -> Result<Begun, FleetError> {
        if snapshot.status != SnapshotStatus::Error {
            return Ok(Begun::Before(snapshot));
        }
        let (live, workplace) = self.at_work(organization, snapshot.devbox).await?;
        snapshot.status = SnapshotStatus::InProgress;
        snapshot.error = None;
        let store = self.store();
        match store
            .change_disk_snapshot(SnapshotStatus::Error, &snapshot)
            .await?
        {
            true => Ok(Begun::New(live, workplace, snapshot)),
            // Somebody else was first.
            false => Ok(Begun::Before(snapshot)),
        }
    }

    async fn take_snapshot(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        mut snapshot: DiskSnapshot,
    ) {
        live.hold();
        let usage = workplace.devbox.usage().await.unwrap_or_default();
        let taken = workplace
            .devbox
            .snapshot(layer(snapshot.id), BTreeMap::new())
            .await;
        live.let_go(self.now());
        match taken {
            Ok(_) => {
                snapshot.status = SnapshotStatus::Complete;
                snapshot.size_bytes = usage.disk_bytes;
            }
            Err(error) => {
                snapshot.status = SnapshotStatus::Error;
                snapshot.error = Some(with_causes(&error).to_string());
            }
        }
        let noted = self
            .store()
            .change_disk_snapshot(SnapshotStatus::InProgress, &snapshot)
            .await;
        match noted {
            Ok(true) => {}
            // It was deleted meanwhile.
            Ok(false) => self.remove_deleted_layers().await,
            Err(error) => {
                tracing::error!(snapshot = %snapshot.id, error = %with_causes(&error), "a snapshot could not be noted");
            }
        }
    }

    /// Finds a snapshot of the organization, also a deleted one.
    pub async fn disk_snapshot(
        &self,
        organization: OrganizationId,
        id: SnapshotId,
    ) -> Result<DiskSnapshot, FleetError> {
        let snapshot = self.store().disk_snapshot(id).await?;
        snapshot
            .filter(|snapshot| snapshot.organization == organization)
            .ok_or_else(|| FleetError::not_found("snapshot", id.wire(Dialect::Runloop)))
    }

    /// The organization's snapshots, newest first.
    pub async fn disk_snapshots(
        &self,
        organization: OrganizationId,
        filter: &SnapshotFilter,
        page: PageRequest<SnapshotKind>,
    ) -> Result<Page<DiskSnapshot>, FleetError> {
        Ok(self
            .store()
            .disk_snapshots(organization, filter, page)
            .await?)
    }

    /// Gives a snapshot another name or other notes.
    pub async fn update_disk_snapshot(
        &self,
        organization: OrganizationId,
        id: SnapshotId,
        change: &SnapshotChange,
    ) -> Result<DiskSnapshot, FleetError> {
        retry_stale(|| async {
            let mut snapshot = self.disk_snapshot(organization, id).await?;
            if matches!(
                snapshot.status,
                SnapshotStatus::Deleted | SnapshotStatus::Gone
            ) {
                return Err(FleetError::not_found("snapshot", id.wire(Dialect::Runloop)));
            }
            if let Some(name) = &change.name {
                snapshot.name = Some(name.clone()).filter(|name| !name.is_empty());
            }
            if let Some(message) = &change.commit_message {
                snapshot.commit_message = Some(message.clone());
            }
            if let Some(metadata) = &change.metadata {
                snapshot.metadata = metadata.clone();
            }
            let from = snapshot.status;
            Ok(
                match self.store().change_disk_snapshot(from, &snapshot).await? {
                    true => Ok(snapshot),
                    false => Err(StoreError::Stale),
                },
            )
        })
        .await
    }

    /// Deletes a snapshot. Deleting what is deleted is fine.
    pub async fn delete_disk_snapshot(
        &self,
        organization: OrganizationId,
        id: SnapshotId,
    ) -> Result<(), FleetError> {
        let is_new = retry_stale(|| async {
            let mut snapshot = self.disk_snapshot(organization, id).await?;
            let from = snapshot.status;
            if matches!(from, SnapshotStatus::Deleted | SnapshotStatus::Gone) {
                return Ok::<_, FleetError>(Ok(false));
            }
            snapshot.status = SnapshotStatus::Deleted;
            Ok(
                match self.store().change_disk_snapshot(from, &snapshot).await? {
                    true => Ok(true),
                    false => Err(StoreError::Stale),
                },
            )
        })
        .await?;
        if is_new {
            self.remove_deleted_layers().await;
        }
        Ok(())
    }

    /// Removes the layers of deleted snapshots and of frozen disks that were given up, if nothing needs them any more.
    pub(crate) async fn remove_deleted_layers(&self) {
        loop {
            let removed = async {
                Ok::<usize, FleetError>(
                    self.remove_dropped_disks().await? + self.remove_deleted_snapshots().await?,
                )
            };
            match removed.await {
                Ok(0) | Err(FleetError::Impossible(_)) => return,
                // Either kind may have stood on the other.
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(error = %with_causes(&error), "what was deleted could not be looked for");
                    return;
                }
            }
        }
    }

    /// Removes the layers of deleted snapshots that nothing needs; how many went.
    async fn remove_deleted_snapshots(&self) -> Result<usize, FleetError> {
        let backend = self.backend()?;
        // Whoever asks for a devbox meanwhile finds the snapshot deleted, or is seen below.
        let _removing = self.inner.snapshot_bases.write().await;
        let needed: BTreeSet<SnapshotId> = self
            .all_live()
            .iter()
            .filter_map(|live| match live.record().setup.base {
                DevboxBase::Snapshot(id) => Some(id),
                DevboxBase::Host | DevboxBase::Blueprint { .. } => None,
            })
            .collect();
        let deleted = self
            .store()
            .disk_snapshots_with(&self.inner.node, SnapshotStatus::Deleted)
            .await?;
        let mut removed = 0;
        // The newest first: a layer needs those that it is based on.
        for mut snapshot in deleted.into_iter().rev() {
            // Its box may not be there yet, and a layer is removed that no box stands on.
            if needed.contains(&snapshot.id) {
                continue;
            }
            match backend.delete_layer(&layer(snapshot.id)).await {
                Ok(()) | Err(Error::NoSuchLayer(_)) => {
                    snapshot.status = SnapshotStatus::Gone;
                    let noted = self
                        .store()
                        .change_disk_snapshot(SnapshotStatus::Deleted, &snapshot)
                        .await;
                    noted?;
                    removed += 1;
                }
                Err(Error::InUse { .. }) => {}
                Err(error) => {
                    tracing::warn!(snapshot = %snapshot.id, error = %with_causes(&error), "a deleted snapshot's layer stays");
                }
            }
        }
        Ok(removed)
    }

    /// Settles snapshots that an earlier process was taking when it ended.
    pub(crate) async fn settle_snapshots(&self) -> Result<(), FleetError> {
        let layers = self.backend()?.layers().await?;
        let unfinished = self
            .store()
            .disk_snapshots_with(&self.inner.node, SnapshotStatus::InProgress)
            .await?;
        for mut snapshot in unfinished {
            let id = layer(snapshot.id);
            if layers.iter().any(|layer| layer.id == id) {
                snapshot.status = SnapshotStatus::Complete;
            } else {
                snapshot.status = SnapshotStatus::Error;
                snapshot.error = Some("the server ended while it was being taken".to_owned());
            }
            self.store()
                .change_disk_snapshot(SnapshotStatus::InProgress, &snapshot)
                .await?;
        }
        Ok(())
    }
}

fn layer(id: SnapshotId) -> LayerId {
    LayerId::new(id.wire(Dialect::Runloop)).expect("an id is letters, digits and one underscore")
}
