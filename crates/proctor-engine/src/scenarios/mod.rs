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

pub use self::{
    box_log::log_line,
    boxes::FleetBoxes,
    scorers::FleetJudge,
    seams::{
        AgentWork, BoxCommand, BoxEnd, BoxError, BoxLog, BoxOrder, BoxPurpose, Boxes, CommandEnd,
        Disk, Hold, Judge, LogStream, ScorerFinding, ScorerState, Scoring, ScoringError,
        ScoringOrder, WorkEnd,
    },
    validate::{NewValidation, Trial, Validated},
};
pub(crate) use self::{
    boxes::failed as box_error, reference::UnrunScorers, scorers::verify_instead, validate::command,
};

use std::sync::Arc;

use proctor_fleet::Fleet;

use crate::{engine::Engine, error::EngineError, harbor::HarborWorkshop};

/// Where tasks are done that need a box.
#[derive(Clone)]
pub struct Workshop {
    /// Makes boxes.
    pub boxes: Arc<dyn Boxes>,
    /// Runs scorers.
    pub judge: Arc<dyn Judge>,
    /// What Harbor jobs need besides; none if there are none.
    pub harbor: Option<HarborWorkshop>,
}

impl Workshop {
    /// The devboxes of a fleet, and scorers that run in them.
    pub fn on(fleet: &Fleet) -> Self {
        Self {
            boxes: Arc::new(FleetBoxes::new(fleet.clone())),
            judge: Arc::new(FleetJudge::new(fleet.clone())),
            harbor: None,
        }
    }

    /// The same, with Harbor jobs.
    #[must_use]
    pub fn with_harbor(self, fleet: &Fleet, harbor: HarborWorkshop) -> Self {
        Self {
            judge: Arc::new(FleetJudge::new(fleet.clone()).with_harbor(harbor.clone())),
            harbor: Some(harbor),
            ..self
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
