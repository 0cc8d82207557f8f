//! What the engine needs of boxes and of scorers ([`Boxes`], [`Judge`]), both on a fleet, logs, and proving scenarios.
//! How task runs in boxes come and go is in [`crate::runs`], like that of all others.

mod agent_work;
mod box_log;
mod boxes;
mod logs;
mod reference;
mod scorers;
mod seams;
mod validate;

pub(crate) use self::validate::command;
pub use self::{
    boxes::FleetBoxes,
    logs::LogFile,
    scorers::FleetJudge,
    seams::{
        AgentWork, BoxCommand, BoxEnd, BoxError, BoxLog, BoxOrder, Boxes, CommandEnd, Disk, Hold,
        Judge, LogStream, ScorerFinding, ScorerState, Scoring, ScoringError, ScoringOrder, WorkEnd,
    },
    validate::{NewValidation, Trial, Validated},
};

use std::sync::Arc;

use proctor_fleet::Fleet;

use crate::{engine::Engine, error::EngineError};

/// Where tasks are done that need a box.
#[derive(Clone)]
pub struct Workshop {
    /// Makes boxes.
    pub boxes: Arc<dyn Boxes>,
    /// Runs scorers.
    pub judge: Arc<dyn Judge>,
}

impl Workshop {
    /// The devboxes of a fleet, and scorers that run in them.
    pub fn on(fleet: &Fleet) -> Self {
        Self {
            boxes: Arc::new(FleetBoxes::new(fleet.clone())),
            judge: Arc::new(FleetJudge::new(fleet.clone())),
        }
    }
}

impl Engine {
    pub(crate) fn workshop(&self) -> Result<&Workshop, EngineError> {
        self.inner.workshop.as_ref().ok_or_else(|| {
            EngineError::Unclear("this server has no devboxes to run scenarios in".to_owned())
        })
    }
}
