//! How devboxes end: the record first, then the box, and everything but the log.

use std::{sync::Arc, time::Duration};

use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::{DevboxFailure, ShutdownReason},
    refused::Step,
};
use proctor_store::{OnDisk, devboxes::DevboxRecord};

use crate::{devboxes::box_id, error::FleetError, fleet::Fleet, live::Live, logs::Source};

/// How long what follows executions may take after its box has ended.
const AFTERWARDS: Duration = Duration::from_secs(5);

impl Fleet {
    /// Ends a devbox for this reason, and its box in the background.
    pub(crate) async fn end(
        &self,
        live: &Arc<Live>,
        reason: ShutdownReason,
    ) -> Result<DevboxRecord, FleetError> {
        self.end_when(live, OnDisk::AtOnce, reason).await
    }

    /// The same; the caller says when it must be on disk.
    pub(crate) async fn end_when(
        &self,
        live: &Arc<Live>,
        when: OnDisk,
        reason: ShutdownReason,
    ) -> Result<DevboxRecord, FleetError> {
        let now = self.now();
        let ended = live
            .step_when(
                self.store(),
                when,
                |life| Ok(life.shut_down(now, reason)),
                |record| record.deadline = None,
            )
            .await?;
        self.ended(live, &ended, reason.as_str());
        Ok(ended.into_inner())
    }

    /// Ends a devbox because something broke, and its box in the background.
    pub(crate) async fn fail(&self, live: &Arc<Live>, failure: DevboxFailure, message: &str) {
        let now = self.now();
        let failed = live
            .step(
                self.store(),
                |life| Ok(life.fail(now, failure, message)),
                |record| record.deadline = None,
            )
            .await;
        match failed {
            Ok(failed) => self.ended(live, &failed, message),
            Err(error) => {
                tracing::error!(devbox = %live.id, error = %with_causes(&error), "a failure could not be noted");
            }
        }
    }

    fn ended(&self, live: &Arc<Live>, step: &Step<DevboxRecord>, words: &str) {
        if !step.is_changed() {
            return;
        }
        live.log.note(
            self.now(),
            Source::Setup,
            format!("the devbox ended: {words}"),
        );
        live.ending.cancel();
        self.in_background(live, |fleet, live| async move {
            fleet.take_down(&live).await;
        });
    }

    /// Ends the box, lets what followed it finish, and removes everything but the log.
    async fn take_down(&self, live: &Arc<Live>) {
        let Ok(backend) = self.backend() else { return };
        let _launched = live.launching.lock().await;
        let devbox = match live.workplace() {
            Some(workplace) => Ok(workplace.devbox),
            None => backend.open(&box_id(live.id)).await,
        };
        if let Ok(devbox) = devbox {
            if let Err(error) = devbox.stop().await {
                tracing::warn!(devbox = %live.id, error = %with_causes(&error), "a box could not be stopped");
            }
            live.followers.close();
            let _ = tokio::time::timeout(AFTERWARDS, live.followers.wait()).await;
            if let Err(error) = devbox.destroy().await {
                tracing::warn!(devbox = %live.id, error = %with_causes(&error), "a box stays until the next start");
            }
        }
        if let Err(error) = self.store().forget_ssh_keys(live.id).await {
            tracing::warn!(devbox = %live.id, error = %with_causes(&error), "keys that lead nowhere stay");
        }
        self.remove(live.id);
        // What was frozen of it, and what it stood on, is now free to go.
        self.tidy_up_soon();
    }
}
