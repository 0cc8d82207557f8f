//! Devboxes that come to a stand, and back: when they are told to, or when somebody wants to work with them.

use std::{sync::Arc, time::Duration};

use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::{DevboxFailure, DevboxStatus},
    refused::Refused,
};
use proctor_store::devboxes::DevboxRecord;

use crate::{
    error::FleetError, fleet::Fleet, launch::keep_alive_deadline, live::Live, logs::Source,
    workplace::Workplace,
};

/// How long somebody who wants to work with a devbox waits at most until it is back.
const PATIENCE: Duration = Duration::from_secs(30);

impl Fleet {
    /// Where to work in a devbox. One that stands still, or is about to, is brought back first; one that is being made for the first time
    /// or has ended is refused.
    pub(crate) async fn awake(&self, live: &Arc<Live>) -> Result<Workplace, FleetError> {
        live.touch(self.now());
        match live.running() {
            Err(FleetError::Refused(Refused::DevboxNot(..))) => {}
            settled => return settled,
        }
        let coming_back = async {
            let mut changes = live.watch();
            while is_away(&changes.borrow_and_update().value) {
                if live.record().status() == DevboxStatus::Suspended {
                    self.begin_resume(live).await?;
                }
                // Nothing comes any more if the devbox has gone.
                if changes.changed().await.is_err() {
                    break;
                }
            }
            Ok::<_, FleetError>(())
        };
        tokio::select! {
            back = tokio::time::timeout(PATIENCE, coming_back) => back.unwrap_or(Ok(()))?,
            () = self.closing().cancelled() => {}
        }
        live.running()
    }

    /// Lets a devbox that stands still come back, in the background.
    pub(crate) async fn begin_resume(&self, live: &Arc<Live>) -> Result<DevboxRecord, FleetError> {
        let now = self.now();
        let stepped = live
            .step(self.store(), |life| life.resume(now), |_| {})
            .await?;
        if stepped.is_changed() {
            self.in_background(live, |fleet, live| async move {
                fleet.bring_back(&live).await;
            });
        }
        Ok(stepped.into_inner())
    }

    /// Takes a devbox that is suspending the rest of the way.
    pub(crate) async fn bring_to_a_stand(&self, live: &Arc<Live>) {
        let Some(workplace) = live.workplace() else {
            return;
        };
        let record = live.record();
        let launch = &record.setup.launch;
        let commands = async {
            for (number, command) in launch.suspend_commands.iter().enumerate() {
                let moment = self.now().as_millis();
                let name = format!("suspend-{moment}-{number}");
                let ran = self.run_for_setup(live, &workplace, &name, command).await;
                if let Ok(Err((_, said))) = ran {
                    live.log.note(
                        self.now(),
                        Source::Setup,
                        format!("a suspend command {said}"),
                    );
                }
            }
        };
        if tokio::time::timeout(launch.suspend_deadline(), commands)
            .await
            .is_err()
        {
            live.log.note(
                self.now(),
                Source::Setup,
                "the suspend commands took too long and were left",
            );
        }
        let suspended = workplace.devbox.suspend().await;
        let now = self.now();
        let noted = match suspended {
            Ok(()) => {
                live.step(
                    self.store(),
                    |life| life.stand_still(now),
                    |record| record.deadline = None,
                )
                .await
            }
            Err(error) => {
                let why = format!("the devbox could not be suspended: {}", with_causes(&error));
                live.log.note(now, Source::Setup, why);
                live.step(self.store(), |life| life.go_on(now), |_| {})
                    .await
            }
        };
        tell_if_not_noted(live, noted.err());
    }

    /// Takes a devbox that was told to resume the rest of the way.
    pub(crate) async fn bring_back(&self, live: &Arc<Live>) {
        let Some(workplace) = live.workplace() else {
            return;
        };
        if let Err(error) = workplace.devbox.resume().await {
            let message = format!("the devbox could not be resumed: {}", with_causes(&error));
            return self
                .fail(live, DevboxFailure::HealthCheckFailed, &message)
                .await;
        }
        let now = self.now();
        live.touch(now);
        let noted = live
            .step(
                self.store(),
                |life| life.run(now),
                |record| record.deadline = keep_alive_deadline(record, now),
            )
            .await;
        tell_if_not_noted(live, noted.err());
    }
}

/// Whether the devbox stands still, is about to, or is on its way back.
pub(crate) fn is_away(record: &DevboxRecord) -> bool {
    match record.status() {
        DevboxStatus::Suspending | DevboxStatus::Suspended => true,
        DevboxStatus::Provisioning => was_suspended(record),
        DevboxStatus::Initializing
        | DevboxStatus::Running
        | DevboxStatus::Shutdown
        | DevboxStatus::Failure => false,
    }
}

/// Whether the devbox had stood still before, so that it is on its way back and not new.
pub(crate) fn was_suspended(record: &DevboxRecord) -> bool {
    record
        .life
        .transitions()
        .iter()
        .any(|step| step.status == DevboxStatus::Suspended)
}

/// A step that came too late because the devbox ended is as it should be.
fn tell_if_not_noted(live: &Live, error: Option<FleetError>) {
    match error {
        None | Some(FleetError::Refused(Refused::DevboxOver(_))) => {}
        Some(error) => {
            tracing::error!(devbox = %live.id, error = %with_causes(&error), "what became of a devbox could not be noted");
        }
    }
}
