//! The lives of devboxes, as their owners direct them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proctor_core::{
    devbox::{
        DevboxBase, DevboxLife, DevboxSetup, DevboxStatus, Initiator, ShutdownReason,
        TunnelSettings, agent_devbox,
    },
    id::{
        Dialect,
        kinds::{DevboxId, DevboxKind, OrganizationId},
    },
    refused::{Refused, Step},
};
use proctor_devbox::{BoxId, Devbox};
use proctor_macros::boxed_futures;
use proctor_store::{
    OnDisk,
    devboxes::DevboxRecord,
    names::WantedLabels,
    page::{Page, PageRequest},
    repeatable::Made,
};

use crate::{error::FleetError, fleet::Fleet, live::Live, logs::Log, workplace::Workplace};

/// A devbox to be made.
#[derive(Clone, Debug)]
pub struct NewDevbox {
    /// What people call it.
    pub name: Option<String>,
    /// Notes of its owner.
    pub metadata: BTreeMap<String, String>,
    /// What it shall be.
    pub setup: DevboxSetup,
    /// Who has it made.
    pub initiator: Initiator,
    /// How services in it can be reached from outside.
    pub tunnel: Option<TunnelSettings>,
}

/// What changes about a devbox. What is absent stays.
#[derive(Clone, Debug, Default)]
pub struct DevboxChange {
    /// What people call it; an empty text is no name.
    pub name: Option<String>,
    /// Notes of its owner.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// While this is kept, neither keep-alive nor idleness ends the devbox.
pub struct Hold {
    fleet: Fleet,
    live: Arc<Live>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.live.let_go(self.fleet.now());
    }
}

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hold").field(&self.live.id).finish()
    }
}

#[boxed_futures]
impl Fleet {
    /// Makes a devbox. The record is there at once; the box comes to be in the background.
    pub async fn create(
        &self,
        organization: OrganizationId,
        new: NewDevbox,
    ) -> Result<DevboxRecord, FleetError> {
        self.backend()?;
        let id = match new.initiator {
            // A request that starts a scenario makes its task run once; the box of one that was not written is swept.
            Initiator::Scenario(_) => self.store().fresh_id(),
            // There is one for each task run, however often it is asked for.
            Initiator::Agent(task_run) => {
                let id = agent_devbox(task_run);
                match self.store().devbox(id).await? {
                    Some(_) => return self.devbox(organization, id).await,
                    None => id,
                }
            }
            Initiator::Invocation => {
                let made = self.store().make_once(|id| self.store().devbox(id));
                match made.await? {
                    Made::Before(devbox) => {
                        return self.devbox(organization, devbox.value.id).await;
                    }
                    Made::New(id) => id,
                }
            }
        };
        let _base = match new.setup.base {
            DevboxBase::Snapshot(_) => Some(self.inner.snapshot_bases.read().await),
            DevboxBase::Host | DevboxBase::Blueprint { .. } => None,
        };
        self.check_setup(organization, &new.setup).await?;
        let now = self.now();
        let mounts = new.setup.mounts.clone();
        let record = DevboxRecord {
            id,
            organization,
            node: self.inner.node.clone(),
            name: new.name,
            metadata: new.metadata,
            initiator: new.initiator,
            setup: new.setup,
            life: DevboxLife::begin(now),
            caveats: Vec::new(),
            deadline: None,
            created_at: now,
            tunnel: new.tunnel.map(|settings| self.new_tunnel(settings)),
        };
        let log = Log::open(self.log_file(record.id))?;
        let when = match record.initiator {
            // Nobody is told of it before its task run is written, and that is waited for.
            Initiator::Scenario(_) => OnDisk::WithTheNext,
            Initiator::Agent(_) | Initiator::Invocation => OnDisk::AtOnce,
        };
        let stored = self.store().create_devbox(record, when).await?;
        let record = stored.value.clone();
        let live = Live::new(stored, mounts, log, now);
        self.insert(Arc::clone(&live));
        self.launch(&live);
        Ok(record)
    }

    /// Finds a devbox of the organization.
    pub async fn devbox(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<DevboxRecord, FleetError> {
        if let Some(live) = self.live_of(organization, id) {
            return Ok(live.record());
        }
        let stored = self.store().devbox(id).await?;
        stored
            .map(|devbox| devbox.value)
            .filter(|devbox| devbox.organization == organization)
            .ok_or_else(|| no_devbox(id))
    }

    /// The organization's devboxes, newest first.
    pub async fn list(
        &self,
        organization: OrganizationId,
        status: Option<DevboxStatus>,
        labels: &WantedLabels,
        page: PageRequest<DevboxKind>,
    ) -> Result<Page<DevboxRecord>, FleetError> {
        let devboxes = self.store().devboxes(organization, status, labels, page);
        Ok(devboxes.await?)
    }

    /// The devbox as soon as it has one of `statuses`; `None` if that takes longer than `patience`.
    pub async fn wait_for(
        &self,
        organization: OrganizationId,
        id: DevboxId,
        statuses: &[DevboxStatus],
        patience: Duration,
    ) -> Result<Option<DevboxRecord>, FleetError> {
        let wanted = |record: &DevboxRecord| statuses.contains(&record.status());
        let Some(live) = self.live_of(organization, id) else {
            let record = self.devbox(organization, id).await?;
            if wanted(&record) {
                return Ok(Some(record));
            }
            // It has ended, or is another machine's: only the store tells whether anything changed.
            self.pause(patience).await;
            let record = self.devbox(organization, id).await?;
            return Ok(Some(record).filter(wanted));
        };
        let mut changes = live.watch();
        let waited = tokio::select! {
            waited = changes.wait_for(|record| wanted(&record.value)) => {
                waited.ok().map(|record| record.value.clone())
            }
            () = self.pause(patience) => None,
        };
        Ok(waited)
    }

    async fn pause(&self, patience: Duration) {
        tokio::select! {
            () = tokio::time::sleep(patience) => {}
            () = self.inner.closing.cancelled() => {}
        }
    }

    /// Gives a devbox another name or other notes.
    pub async fn update(
        &self,
        organization: OrganizationId,
        id: DevboxId,
        change: DevboxChange,
    ) -> Result<DevboxRecord, FleetError> {
        let decide = |mut record: DevboxRecord| {
            if let Some(name) = &change.name {
                record.name = Some(name.clone()).filter(|name| !name.is_empty());
            }
            if let Some(metadata) = &change.metadata {
                record.metadata = metadata.clone();
            }
            Ok(Step::Changed(record))
        };
        if let Some(live) = self.live_of(organization, id) {
            let changed = live.change(self.store(), decide).await?;
            return Ok(changed.into_inner());
        }
        let before = self.store().devbox(id).await?;
        let before = before
            .filter(|devbox| devbox.value.organization == organization)
            .ok_or_else(|| no_devbox(id))?;
        let after = decide(before.value.clone())?.into_inner();
        let changed = self.store().change_devbox(&before, after, OnDisk::AtOnce);
        Ok(changed.await?.value)
    }

    /// Ends a devbox. What has ended stays as it is.
    pub async fn shutdown(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<DevboxRecord, FleetError> {
        match self.live_of(organization, id) {
            Some(live) => self.end(&live, ShutdownReason::ApiShutdown).await,
            None => self.devbox(organization, id).await,
        }
    }

    /// Ends a devbox that no task run needs: its own is over, which was waited for, or never came to be. After a power cut, which the box does not
    /// survive, the record may say that the box was lost.
    pub async fn dismiss(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<(), FleetError> {
        if let Some(live) = self.live_of(organization, id) {
            self.end_when(&live, OnDisk::WithTheNext, ShutdownReason::ApiShutdown)
                .await?;
        }
        Ok(())
    }

    /// Gives a devbox as much time again as it had at first.
    pub async fn keep_alive(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<DevboxRecord, FleetError> {
        let live = self.live_one(organization, id).await?;
        let now = self.now();
        live.touch(now);
        let changed = live
            .change(self.store(), |record| match record.deadline {
                None => Ok(Step::Unchanged(record)),
                Some(_) => {
                    let deadline = Some(now.plus(record.setup.launch.keep_alive()));
                    Ok(Step::Changed(DevboxRecord { deadline, ..record }))
                }
            })
            .await?;
        Ok(changed.into_inner())
    }

    /// Brings a devbox to a stand, in the background.
    pub async fn suspend(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<DevboxRecord, FleetError> {
        let live = self.live_one(organization, id).await?;
        self.begin_suspend(&live).await
    }

    pub(crate) async fn begin_suspend(&self, live: &Arc<Live>) -> Result<DevboxRecord, FleetError> {
        let now = self.now();
        let stepped = live
            .step(self.store(), |life| life.suspend(now), |_| {})
            .await?;
        if stepped.is_changed() {
            self.in_background(live, |fleet, live| async move {
                fleet.bring_to_a_stand(&live).await;
            });
        }
        Ok(stepped.into_inner())
    }

    /// Brings a devbox back from standing still, in the background.
    pub async fn resume(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<DevboxRecord, FleetError> {
        let live = self.live_one(organization, id).await?;
        self.begin_resume(&live).await
    }

    /// Keeps a devbox from ending by itself for as long as the answer is kept.
    pub async fn hold(&self, id: DevboxId) -> Result<Hold, FleetError> {
        let live = self.find_live(id).ok_or_else(|| no_devbox(id))?;
        live.hold();
        Ok(Hold {
            fleet: self.clone(),
            live,
        })
    }

    /// The box of a devbox that can be worked with.
    pub async fn handle(&self, id: DevboxId) -> Result<Arc<dyn Devbox>, FleetError> {
        Ok(self.workplace(id).await?.devbox)
    }

    /// The box of a devbox that can be worked with, its user and its environment. One that stands still is brought back first.
    pub async fn workplace(&self, id: DevboxId) -> Result<Workplace, FleetError> {
        let live = self.find_live(id).ok_or_else(|| no_devbox(id))?;
        self.awake(&live).await
    }

    /// The devbox if it has not ended; else why nothing can be done with it.
    pub(crate) async fn live_one(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<Arc<Live>, FleetError> {
        let record = match self.live_of(organization, id) {
            Some(live) if !live.record().life.is_over() => return Ok(live),
            Some(live) => live.record(),
            None => self.devbox(organization, id).await?,
        };
        Err(match record.status() {
            status if status.is_over() => Refused::DevboxOver(status.as_str()).into(),
            _ => FleetError::invalid("id", "this devbox is on another machine"),
        })
    }

    /// The devbox, if it can be worked with, noted as used. One that stands still is brought back first.
    pub(crate) async fn at_work(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<(Arc<Live>, Workplace), FleetError> {
        let live = self.live_one(organization, id).await?;
        let workplace = self.awake(&live).await?;
        Ok((live, workplace))
    }

    pub(crate) fn in_background<F>(&self, live: &Arc<Live>, work: impl FnOnce(Self, Arc<Live>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = work(self.clone(), Arc::clone(live));
        self.inner.tasks.spawn(work);
    }
}

/// The name of a devbox's box.
pub(crate) fn box_id(id: DevboxId) -> BoxId {
    BoxId::new(id.wire(Dialect::Runloop)).expect("an id is letters, digits and one underscore")
}

pub(crate) fn no_devbox(id: DevboxId) -> FleetError {
    FleetError::not_found("devbox", id.wire(Dialect::Runloop))
}
