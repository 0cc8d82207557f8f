//! What the fleet's errors mean to a client.

use proctor_devbox::{Error, error::FileProblem};
use proctor_fleet::FleetError;

use super::{FieldErrors, Problem, ProblemKind};

impl From<FleetError> for Problem {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Impossible(_) => Self::new(ProblemKind::NotImplemented, error.to_string()),
            FleetError::NotFound { .. } | FleetError::Gone { .. } => {
                Self::not_found(error.to_string())
            }
            FleetError::Refused(refused) => refused.into(),
            FleetError::Invalid(faults) => {
                let mut errors = FieldErrors::default();
                for (field, message) in faults {
                    errors.add(field, message);
                }
                Self::validation(errors)
            }
            FleetError::Box(error) => error.into(),
            FleetError::Store(error) => error.into(),
            FleetError::Files(error) => Self::internal(error),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::NoSuchBox(_) | Error::NoSuchExecution(_) => ProblemKind::NotFound,
            Error::NoSuchLayer(_)
            | Error::NoSuchBase(_)
            | Error::Exists { .. }
            | Error::InUse { .. }
            | Error::WrongState { .. }
            | Error::StdinClosed
            | Error::BoxEnded => ProblemKind::IllegalState,
            Error::Invalid(_) | Error::CannotRun { .. } => ProblemKind::BadRequest,
            Error::Unsupported { .. } => ProblemKind::NotImplemented,
            Error::File { kind, .. } => match kind {
                FileProblem::NotFound => ProblemKind::NotFound,
                FileProblem::Denied => ProblemKind::Forbidden,
                FileProblem::TooLarge => ProblemKind::PayloadTooLarge,
                FileProblem::NotRegular | FileProblem::NoSpace | FileProblem::Other => {
                    ProblemKind::BadRequest
                }
            },
            Error::Platform { .. } | Error::Corrupt { .. } => return Self::internal(error),
        };
        Self::new(kind, error.to_string())
    }
}
