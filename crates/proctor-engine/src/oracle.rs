//! Who does in a playground what its author says solves the task: an extension, because the engine does not know how solutions are
//! written.

use async_trait::async_trait;
use proctor_core::{definition::Task, time::Timestamp};
use proctor_playground::world::World;

use crate::extensions::Extensions;

/// Carries out the solutions of tasks that are done in playgrounds.
#[async_trait]
pub trait Oracle: Send + Sync + 'static {
    /// Does what the task's reference says, in a world that was opened for it at `started_at`; or why that does not work.
    async fn solve(
        &self,
        world: &World,
        task: &Task,
        started_at: Timestamp,
        extensions: &Extensions,
    ) -> Result<(), String>;
}
