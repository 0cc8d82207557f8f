//! Devboxes that come to a stand, and back.

use std::sync::Arc;

use proctor_core::{devbox::DevboxFailure, refused::Refused};

use crate::{
    error::{FleetError, chain},
    fleet::Fleet,
    launch::keep_alive_deadline,
    live::Live,
    logs::Source,
};

impl Fleet {
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
                let why = format!("the devbox could not be suspended: {}", chain(&error));
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
            let message = format!("the devbox could not be resumed: {}", chain(&error));
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

/// A step that came too late because the devbox ended is as it should be.
fn tell_if_not_noted(live: &Live, error: Option<FleetError>) {
    match error {
        None | Some(FleetError::Refused(Refused::DevboxOver(_))) => {}
        Some(error) => {
            tracing::error!(devbox = %live.id, %error, "what became of a devbox could not be noted");
        }
    }
}
