//! What an earlier process left is taken up: every devbox of this machine is found again or honestly ended, and what
//! nobody owns is removed.

use std::{collections::BTreeSet, sync::Arc};

use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::{DevboxFailure, DevboxStatus},
    mount::Mount,
    refused::Refused,
};
use proctor_devbox::{BoxId, BoxState, Devbox, Error};
use proctor_macros::boxed_futures;
use proctor_store::{
    devboxes::{DevboxRecord, MountTokens},
    runs::Revised,
};
use uuid::Uuid;

use crate::{
    devboxes::box_id,
    error::FleetError,
    fleet::Fleet,
    live::Live,
    logs::{self, Log, Source, Traces, What},
    suspending::was_suspended,
    workplace::Workplace,
};

#[boxed_futures]
impl Fleet {
    /// Finds every devbox of the store again, ends those that are lost, removes what nobody owns, and keeps clocks from
    /// now on. To be called once, before anything is asked of the fleet.
    pub async fn recover(&self) -> Result<(), FleetError> {
        if self.backend().is_err() {
            return Ok(());
        }
        let records = self.store().live_devboxes(&self.inner.node).await?;
        let mut owned = BTreeSet::new();
        let mut left = Vec::new();
        for record in records {
            let live = self.remember(record).await?;
            owned.insert(box_id(live.id));
            left.push(live);
        }
        self.clean_up(&owned).await?;
        // Only now: what a launch is making looks like the remainder of one that died.
        for live in left {
            if let Err(error) = self.take_up(&live).await {
                let message = format!("the devbox was lost: {}", with_causes(&error));
                self.fail(&live, DevboxFailure::HealthCheckFailed, &message)
                    .await;
            }
        }
        self.keep_clocks();
        Ok(())
    }

    /// Removes what belongs to none of the `owned` boxes, and settles what an earlier process was taking. Nothing may be made
    /// meanwhile.
    async fn clean_up(&self, owned: &BTreeSet<BoxId>) -> Result<(), FleetError> {
        // One remainder that resists must not keep the server from starting.
        match self.backend()?.sweep(owned).await {
            Ok(swept) if swept.boxes.is_empty() => {}
            Ok(swept) => tracing::info!(
                boxes = swept.boxes.len(),
                "boxes that nobody owns were removed"
            ),
            Err(error) => tracing::error!(
                error = %with_causes(&error),
                "what nobody owns could not be removed; it will be tried at the next start"
            ),
        }
        if let Err(error) = self.settle_snapshots().await {
            tracing::error!(
                error = %with_causes(&error),
                "snapshots that were being taken could not be settled"
            );
        }
        if let Err(error) = self.settle_frozen().await {
            tracing::error!(
                error = %with_causes(&error),
                "frozen disks could not be settled; it will be tried at the next start"
            );
        }
        self.clear_shown();
        Ok(())
    }

    /// Removes what an earlier process showed to boxes that are no more.
    fn clear_shown(&self) {
        match fs_err::remove_dir_all(self.shown()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(error = %with_causes(&error), "what boxes were shown stays for now");
            }
        }
    }

    async fn remember(&self, record: Revised<DevboxRecord>) -> Result<Arc<Live>, FleetError> {
        let log = Log::open(self.log_file(record.value.id))?;
        let mut mounts = record.value.setup.mounts.clone();
        if record.value.status() == DevboxStatus::Provisioning && !mounts.is_empty() {
            let tokens = self.store().devbox_tokens(record.value.id).await;
            let tokens = tokens.unwrap_or_else(|error| {
                // The mounts that need none are put there all the same.
                tracing::warn!(error = %with_causes(&error), devbox = %record.value.id, "what opens a devbox's repositories cannot be read");
                MountTokens::new()
            });
            for (place, token) in tokens {
                if let Some(mount) = mounts.get_mut(place).and_then(Mount::token_mut) {
                    *mount = Some(token);
                }
            }
        }
        let live = Live::new(record, mounts, log, self.now());
        self.insert(Arc::clone(&live));
        Ok(live)
    }

    async fn take_up(&self, live: &Arc<Live>) -> Result<(), FleetError> {
        let record = live.record();
        let status = record.status();
        let opened = self.backend()?.open(&box_id(live.id)).await;
        if matches!(
            status,
            DevboxStatus::Provisioning | DevboxStatus::Initializing
        ) && !was_suspended(&record)
        {
            // Launching goes on from wherever it was, also if there is no box yet.
            self.launch(live);
            return Ok(());
        }
        let devbox = opened?;
        let known = devbox.record().await?;
        match known.state {
            BoxState::Running | BoxState::Suspended => {}
            BoxState::Stopped | BoxState::Lost => {
                return Err(FleetError::Box(Error::BoxEnded));
            }
        }
        if known.state == BoxState::Suspended && status == DevboxStatus::Running {
            // Its supervisor waited for us and brought it to a stand.
            devbox.resume().await?;
        }
        let workplace = self.furnish(&record, Arc::clone(&devbox), &known).await?;
        live.settle(workplace.clone());
        self.take_up_executions(live, &workplace, &*devbox).await?;
        self.watch(live, &workplace);
        match status {
            DevboxStatus::Running => {
                if let Some(entrypoint) = &record.setup.entrypoint {
                    self.run_entrypoint(live, &workplace, entrypoint).await?;
                }
            }
            DevboxStatus::Suspending => self.in_background(live, |fleet, live| async move {
                fleet.bring_to_a_stand(&live).await;
            }),
            DevboxStatus::Suspended => {
                if known.state == BoxState::Running {
                    devbox.suspend().await?;
                }
            }
            DevboxStatus::Provisioning | DevboxStatus::Initializing => {
                self.in_background(live, |fleet, live| async move {
                    fleet.bring_back(&live).await;
                });
            }
            DevboxStatus::Shutdown | DevboxStatus::Failure => {
                return Err(Refused::DevboxOver(status.as_str()).into());
            }
        }
        Ok(())
    }

    /// Finds executions again, and the commands that waited for their shells.
    async fn take_up_executions(
        &self,
        live: &Arc<Live>,
        workplace: &Workplace,
        devbox: &dyn Devbox,
    ) -> Result<(), FleetError> {
        let path = live.log.path().to_owned();
        let (entries, _) = tokio::task::spawn_blocking(move || logs::read(&path, 0))
            .await
            .map_err(std::io::Error::other)??;
        let mut traces = Traces::of(&entries);
        for id in devbox.executions().await? {
            let execution = devbox.execution(&id).await?;
            let mut trace = traces.begun.remove(id.as_str()).unwrap_or_default();
            if let Some(at) = traces
                .queued
                .iter()
                .position(|waiting| waiting.execution == id.as_str())
            {
                // It was started, and the earlier process ended before it could say so.
                let waiting = traces.queued.remove(at);
                let what = What::Started {
                    command: workplace.masks.apply(&waiting.command),
                };
                let shell = Some(waiting.shell.as_str());
                live.log
                    .add(&[self.entry(id.as_str(), shell, Source::Exec, what)]);
                trace.shell = Some(waiting.shell);
            }
            self.adopt(live, workplace, execution, trace);
        }
        for waiting in traces.queued {
            self.queue_again(live, waiting);
        }
        // What the log knows and the box does not was let go.
        live.kept().remember_gone(
            traces
                .begun
                .keys()
                .filter_map(|name| Uuid::parse_str(name).ok()),
        );
        self.let_old_ones_go(live).await;
        Ok(())
    }
}
