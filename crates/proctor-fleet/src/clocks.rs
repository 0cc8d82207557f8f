//! What happens to devboxes without anybody asking: their time runs out, or nobody uses them.

use std::{sync::Arc, time::Duration};

use proctor_core::causes::with_causes;
use proctor_core::{
    devbox::{DevboxStatus, IdleAction, ShutdownReason},
    time::Timestamp,
};

use crate::{error::FleetError, fleet::Fleet, live::Live};
use proctor_macros::boxed_futures;

/// How often all devboxes are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long whoever held a devbox has to say what shall become of it, also if its keep-alive ran out meanwhile.
const GRACE: Duration = Duration::from_secs(60);

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    End(ShutdownReason),
    Suspend,
}

#[boxed_futures]
impl Fleet {
    /// Keeps the clocks of all devboxes until the fleet closes.
    pub(crate) fn keep_clocks(&self) {
        let fleet = self.clone();
        self.inner.tasks.spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = look.tick() => fleet.end_what_is_due().await,
                    () = fleet.closing().cancelled() => return,
                }
            }
        });
    }

    /// Ends or suspends every devbox whose time has come.
    pub async fn end_what_is_due(&self) {
        let now = self.now();
        for live in self.all_live() {
            let done = match due(&live, now) {
                Due::Nothing => Ok(()),
                Due::End(reason) => self.end(&live, reason).await.map(drop),
                Due::Suspend => self.begin_suspend(&live).await.map(drop),
            };
            match done {
                // Somebody else was first.
                Ok(()) | Err(FleetError::Refused(_)) => {}
                Err(error) => {
                    tracing::warn!(devbox = %live.id, error = %with_causes(&error), "a devbox's time is over; it will be tried again");
                }
            }
        }
    }
}

fn due(live: &Arc<Live>, now: Timestamp) -> Due {
    let record = live.record();
    if record.status() != DevboxStatus::Running || live.is_held() {
        return Due::Nothing;
    }
    let in_grace = |released: Timestamp| now.since(released) < GRACE;
    if record.deadline.is_some_and(|deadline| deadline <= now)
        && !live.released_at().is_some_and(in_grace)
    {
        return Due::End(ShutdownReason::KeepAliveTimeout);
    }
    let Some(after_idle) = record.setup.launch.after_idle else {
        return Due::Nothing;
    };
    let patience = Duration::from_secs(after_idle.seconds.into());
    match live.idle_since() {
        Some(since) if now.since(since) >= patience => match after_idle.action {
            IdleAction::Shutdown => Due::End(ShutdownReason::Idle),
            IdleAction::Suspend => Due::Suspend,
        },
        Some(_) | None => Due::Nothing,
    }
}
