//! What the fleet's errors mean to a client.

use proctor_devbox::{Error, error::FileProblem};
use proctor_fleet::{FleetError, RequestProblem};

use super::{FieldErrors, Problem, ProblemKind};
use crate::runloop::launch_parameters;

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
                Self::unmet(errors)
            }
            FleetError::Request(problems) => devbox_request(problems),
            FleetError::Blueprint(error) => error.into(),
            FleetError::Box(error) => error.into(),
            FleetError::Store(error) => error.into(),
            FleetError::Files(error) => Self::internal(error),
        }
    }
}

/// What is wrong with a devbox that was asked for, by the fields that say it.
pub(super) fn devbox_request(problems: Vec<RequestProblem>) -> Problem {
    let mut errors = FieldErrors::default();
    for problem in problems {
        let message = problem.to_string();
        match problem {
            RequestProblem::NoSecret { variable, .. } => {
                errors.add(format!("secrets.{variable}"), message);
            }
            RequestProblem::NoNetworkPolicy(_) => {
                errors.add("launch_parameters.network_policy_id", message);
            }
            RequestProblem::Snapshot { .. } | RequestProblem::NotASnapshot(_) => {
                errors.add("snapshot_id", message);
            }
            RequestProblem::NotABlueprint(_) => errors.add("blueprint_id", message),
            RequestProblem::Architecture(_) => {
                errors.add("launch_parameters.architecture", message);
            }
            RequestProblem::Launch(problem) => {
                let (field, message) = launch_parameters::named(problem);
                errors.add(format!("launch_parameters.{field}"), message);
            }
        }
    }
    Problem::unmet(errors)
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
