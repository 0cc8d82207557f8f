//! A devbox that has not ended, in memory: its record, its box, what runs in it, who holds it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use proctor_core::{
    devbox::DevboxLife,
    id::kinds::{DevboxId, OrganizationId},
    mount::Mount,
    refused::{Refused, Step},
    time::Timestamp,
};
use proctor_store::{
    OnDisk, Store, StoreError, devboxes::DevboxRecord, retry::retry_stale, runs::Revised,
};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    error::FleetError,
    executions::{Command, Kept},
    logs::Log,
    shells::Shells,
    workplace::Workplace,
};

/// A devbox that has not ended.
pub(crate) struct Live {
    pub(crate) id: DevboxId,
    record: watch::Sender<Arc<Revised<DevboxRecord>>>,
    /// Held while the record changes, so that changes are decided one after the other.
    changing: tokio::sync::Mutex<()>,
    /// Held while the box is being made, so that it is not taken down at the same time.
    pub(crate) launching: tokio::sync::Mutex<()>,
    /// What is to be put into the box, with the tokens that are not written down.
    pub(crate) mounts: Vec<Mount>,
    workplace: watch::Sender<Option<Workplace>>,
    commands: Mutex<HashMap<Uuid, Arc<Command>>>,
    kept: Mutex<Kept>,
    pub(crate) shells: Shells,
    pub(crate) log: Log,
    /// What follows the box's executions; all of it ends with the box.
    pub(crate) followers: TaskTracker,
    /// Cancelled when the box is about to end.
    pub(crate) ending: CancellationToken,
    holds: AtomicUsize,
    /// How many came in from outside and have not gone.
    visits: AtomicUsize,
    /// Cancelled when the tunnel is no more, or is another one.
    tunnel: Mutex<CancellationToken>,
    /// When whoever held it last let go.
    released_at: AtomicI64,
    used_at: AtomicI64,
}

impl Live {
    pub(crate) fn new(
        record: Revised<DevboxRecord>,
        mounts: Vec<Mount>,
        log: Log,
        now: Timestamp,
    ) -> Arc<Self> {
        let ending = CancellationToken::new();
        Arc::new(Self {
            id: record.value.id,
            record: watch::Sender::new(Arc::new(record)),
            changing: tokio::sync::Mutex::default(),
            launching: tokio::sync::Mutex::default(),
            mounts,
            workplace: watch::Sender::new(None),
            commands: Mutex::default(),
            kept: Mutex::default(),
            shells: Shells::default(),
            log,
            followers: TaskTracker::new(),
            tunnel: Mutex::new(ending.child_token()),
            ending,
            holds: AtomicUsize::new(0),
            visits: AtomicUsize::new(0),
            released_at: AtomicI64::new(i64::MIN),
            used_at: AtomicI64::new(now.as_millis()),
        })
    }

    /// What is known of it now.
    pub(crate) fn record(&self) -> DevboxRecord {
        self.record.borrow().value.clone()
    }

    /// Whose it is.
    pub(crate) fn organization(&self) -> OrganizationId {
        self.record.borrow().value.organization
    }

    /// Every change from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<Revised<DevboxRecord>>> {
        self.record.subscribe()
    }

    /// Changes the record as `decide` says; whether anything changed.
    pub(crate) async fn change(
        &self,
        store: &Store,
        decide: impl Fn(DevboxRecord) -> Result<Step<DevboxRecord>, FleetError>,
    ) -> Result<Step<DevboxRecord>, FleetError> {
        self.change_when(store, OnDisk::AtOnce, decide).await
    }

    async fn change_when(
        &self,
        store: &Store,
        when: OnDisk,
        decide: impl Fn(DevboxRecord) -> Result<Step<DevboxRecord>, FleetError>,
    ) -> Result<Step<DevboxRecord>, FleetError> {
        let _changing = self.changing.lock().await;
        retry_stale(|| async {
            let before = Arc::clone(&self.record.borrow());
            let after = match decide(before.value.clone())? {
                Step::Unchanged(record) => return Ok(Ok(Step::Unchanged(record))),
                Step::Changed(after) => after,
            };
            let written = store.change_devbox(&before, after, when).await;
            if let Err(StoreError::Stale) = written {
                let read = store.devbox(self.id).await?;
                let read = read.ok_or_else(|| FleetError::not_found("devbox", self.id))?;
                self.record.send_replace(Arc::new(read));
            }
            Ok(written.map(|written| {
                let record = written.value.clone();
                self.record.send_replace(Arc::new(written));
                Step::Changed(record)
            }))
        })
        .await
    }

    /// Takes a step of its life, and whatever goes with it.
    pub(crate) async fn step(
        &self,
        store: &Store,
        step: impl Fn(DevboxLife) -> Result<Step<DevboxLife>, Refused>,
        with: impl Fn(&mut DevboxRecord),
    ) -> Result<Step<DevboxRecord>, FleetError> {
        self.step_when(store, OnDisk::AtOnce, step, with).await
    }

    /// The same; the caller says when it must be on disk.
    pub(crate) async fn step_when(
        &self,
        store: &Store,
        when: OnDisk,
        step: impl Fn(DevboxLife) -> Result<Step<DevboxLife>, Refused>,
        with: impl Fn(&mut DevboxRecord),
    ) -> Result<Step<DevboxRecord>, FleetError> {
        self.change_when(store, when, |record| match step(record.life.clone())? {
            Step::Unchanged(_) => Ok(Step::Unchanged(record)),
            Step::Changed(life) => {
                let mut after = DevboxRecord { life, ..record };
                with(&mut after);
                Ok(Step::Changed(after))
            }
        })
        .await
    }

    /// The box is there and can be worked in.
    pub(crate) fn settle(&self, workplace: Workplace) {
        self.workplace.send_replace(Some(workplace));
    }

    /// The box, if it is there.
    pub(crate) fn workplace(&self) -> Option<Workplace> {
        self.workplace.borrow().clone()
    }

    /// The box, if it can be worked with now.
    pub(crate) fn running(&self) -> Result<Workplace, FleetError> {
        let record = self.record.borrow();
        record.value.life.must_run()?;
        let status = record.value.status().as_str();
        drop(record);
        self.workplace()
            .ok_or(FleetError::Refused(Refused::DevboxNot(status, "running")))
    }

    pub(crate) fn commands(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Command>>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is still known of commands that have ended.
    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that somebody uses it.
    pub(crate) fn touch(&self, now: Timestamp) {
        self.used_at.fetch_max(now.as_millis(), Ordering::Relaxed);
    }

    /// Since when nobody has used it; `None` while somebody does.
    pub(crate) fn idle_since(&self) -> Option<Timestamp> {
        let visited = self.visits.load(Ordering::SeqCst) > 0;
        let busy = self.is_held() || visited || !self.followers.is_empty();
        (!busy).then(|| Timestamp::from_millis(self.used_at.load(Ordering::Relaxed)))
    }

    /// Notes that somebody came in who uses it as long as they stay.
    pub(crate) fn visit(&self) {
        self.visits.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes that one of them has gone.
    pub(crate) fn leave(&self, now: Timestamp) {
        self.touch(now);
        self.visits.fetch_sub(1, Ordering::SeqCst);
    }

    /// Cancelled when what goes through the tunnel is to end.
    pub(crate) fn tunnel_end(&self) -> CancellationToken {
        self.tunnel().clone()
    }

    /// Ends everything that goes through the tunnel.
    pub(crate) fn cut_tunnel(&self) {
        let next = self.ending.child_token();
        std::mem::replace(&mut *self.tunnel(), next).cancel();
    }

    fn tunnel(&self) -> MutexGuard<'_, CancellationToken> {
        self.tunnel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hold(&self) {
        self.holds.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn let_go(&self, now: Timestamp) {
        self.touch(now);
        // Before it is held no more, so that nobody sees it as one that was never held.
        self.released_at
            .fetch_max(now.as_millis(), Ordering::SeqCst);
        self.holds.fetch_sub(1, Ordering::SeqCst);
    }

    /// When somebody who held it let go of it last, if somebody did.
    pub(crate) fn released_at(&self) -> Option<Timestamp> {
        match self.released_at.load(Ordering::SeqCst) {
            i64::MIN => None,
            millis => Some(Timestamp::from_millis(millis)),
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.holds.load(Ordering::SeqCst) > 0
    }
}
