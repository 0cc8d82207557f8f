//! What the engine's errors mean to a client.

use proctor_core::{devbox::request::UnreadableDevbox, refused::Refused};
use proctor_engine::EngineError;
use proctor_store::StoreError;

use super::{FieldErrors, Problem, ProblemKind};
use crate::runloop::SEVERAL_BASES;

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        Self::new(ProblemKind::IllegalState, refused.to_string())
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let state = |message: String| Self::new(ProblemKind::IllegalState, message);
        match error {
            EngineError::NotFound(_) => Self::not_found(error.to_string()),
            EngineError::Refused(refused) => refused.into(),
            EngineError::Unclear(message) => state(message),
            EngineError::Scenario(_) | EngineError::Frozen => state(error.to_string()),
            EngineError::Environment(problems) => {
                let mut errors = FieldErrors::default();
                for (place, problem) in problems.0 {
                    errors.add(place, problem);
                }
                Self::validation(errors)
            }
            EngineError::Invalid(faults) => {
                let mut errors = FieldErrors::default();
                for (place, fault) in faults {
                    errors.add(place, fault);
                }
                Self::validation(errors)
            }
            EngineError::DevboxRequest(problems) => super::fleet::devbox_request(problems),
            EngineError::UnreadableDevbox(problem) => unreadable_devbox(&problem),
            EngineError::Box(_) => Self::internal(error),
            EngineError::NotFrozen(problem) => problem.into(),
            EngineError::NotProvided(message) => Self::bad_request(message),
            EngineError::Store(error) => error.into(),
            EngineError::SharedStore(shared) => match &*shared {
                StoreError::Unavailable { reason, .. } => {
                    super::store::unavailable(*reason).because(shared)
                }
                _ => Self::internal(shared),
            },
            EngineError::Fault(_) => Self::internal(error),
        }
    }
}

/// What is wrong with what a scenario says of its devbox, by the field that says it.
fn unreadable_devbox(problem: &UnreadableDevbox) -> Problem {
    let (field, message) = match problem {
        UnreadableDevbox::Form(message) => ("environment", message.clone()),
        UnreadableDevbox::SeveralBases => ("snapshot_id", SEVERAL_BASES.to_owned()),
    };
    Problem::field(field, message)
}
