//! How a world is frozen: first nothing changes any more, then everything that happened is written,
//! and the seal after it. So what is in memory when the seal is on disk is what the journal says.

use std::panic;

use proctor_core::time::Timestamp;

use super::{TRIES, World, WorldError, current::Closed};
use crate::recorder::Epoch;

/// A world that is being frozen. If that does not succeed, its state is made anew before it is used
/// again: the journal may have refused some of it.
struct Attempt<'w> {
    world: &'w World,
    epoch: Epoch,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.world.write().distrust(self.epoch);
    }
}

impl World {
    /// Freezes the world as of `at`, or of the last thing that happened if that was later: steps that are due by then are
    /// carried out, and everything that happened in it is on disk before the seal. Freezing it again changes nothing.
    /// Answers when it was frozen. Both times are those of the real clock.
    pub async fn freeze(&self, at: Timestamp) -> Result<Timestamp, WorldError> {
        if let Some(at) = self.frozen_in_real_time() {
            return Ok(at);
        }
        let world = self.clone();
        // A caller that goes away must not stop in the middle of writing.
        let freezing = async move { world.freeze_to_the_end(at).await };
        match self.inner.tasks.spawn(freezing).await {
            Ok(outcome) => outcome,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(reason) => panic::resume_unwind(reason),
                Err(_) => Err(WorldError::Overtaken),
            },
        }
    }

    fn frozen_in_real_time(&self) -> Option<Timestamp> {
        let current = self.read();
        Some(current.contents.timeline.real_time(current.frozen_at()?))
    }

    async fn freeze_to_the_end(&self, at: Timestamp) -> Result<Timestamp, WorldError> {
        let _one_at_a_time = self.inner.freezing.lock().await;
        for _ in 0..TRIES {
            self.refresh().await?;
            let (attempt, at) = {
                let mut current = self.write();
                if let Some(at) = current.frozen_at() {
                    return Ok(current.contents.timeline.real_time(at));
                }
                let at = current.contents.timeline.world_time(at);
                if self.catch_up(&mut current, at).is_err() {
                    continue;
                }
                let Ok(epoch) = current.begin_freezing() else {
                    continue;
                };
                let attempt = Attempt { world: self, epoch };
                (attempt, at.max(current.contents.latest()))
            };
            match self.inner.recorder.seal(attempt.epoch, at).await {
                Ok(_) if self.write().end_freezing(attempt.epoch, at) => {
                    return Ok(self.read().contents.timeline.real_time(at));
                }
                // Somebody else has made the state anew meanwhile.
                Ok(_) => {}
                Err(error) => self.distrust(attempt.epoch, error)?,
            }
        }
        Err(WorldError::Overtaken)
    }

    /// Waits until whoever may be freezing the world has done so, or failed.
    pub(super) async fn wait_for(&self, closed: Closed) {
        if closed == Closed::Freezing {
            drop(self.inner.freezing.lock().await);
        }
    }
}
