//! What the fleet's errors mean to a client.

use proctor_core::problem::Problem;
use proctor_devbox::{Error, error::FileProblem};
use proctor_fleet::{FleetError, RequestProblem};

use super::{ApiError, ApiErrorKind};
use crate::runloop::launch_parameters;

impl From<FleetError> for ApiError {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Impossible(_) => Self::new(ApiErrorKind::NotImplemented, error.to_string()),
            FleetError::NotFound { .. } | FleetError::Gone { .. } => {
                Self::not_found(error.to_string())
            }
            FleetError::Refused(refused) => refused.into(),
            FleetError::Invalid(problem) => Self::unmet(vec![problem]),
            FleetError::Request(problems) => devbox_request(problems),
            FleetError::Blueprint(error) => error.into(),
            FleetError::Box(error) => error.into(),
            FleetError::Store(error) => error.into(),
            FleetError::Files(error) => Self::internal(error),
        }
    }
}

/// What is wrong with a devbox that was asked for.
pub(super) fn devbox_request(problems: Vec<RequestProblem>) -> ApiError {
    ApiError::unmet(devbox_problems(problems).collect())
}

/// What is wrong with a devbox that was asked for, by the fields that say it.
pub(crate) fn devbox_problems(problems: Vec<RequestProblem>) -> impl Iterator<Item = Problem> {
    problems.into_iter().map(|problem| {
        let message = problem.to_string();
        match problem {
            RequestProblem::NoSecret { variable, .. } => {
                Problem::error(format!("secrets.{variable}"), message)
            }
            RequestProblem::NoNetworkPolicy(_) => {
                Problem::error("launch_parameters.network_policy_id", message)
            }
            RequestProblem::Snapshot { .. } | RequestProblem::NotASnapshot(_) => {
                Problem::error("snapshot_id", message)
            }
            RequestProblem::NotABlueprint(_)
            | RequestProblem::NoBlueprint(_)
            | RequestProblem::BlueprintFailed(_) => Problem::error("blueprint_id", message),
            RequestProblem::NoBlueprintNamed(_) => Problem::error("blueprint_name", message),
            RequestProblem::Mount(_) => Problem::error("mounts", message),
            RequestProblem::Architecture(_) => {
                Problem::error("launch_parameters.architecture", message)
            }
            RequestProblem::Launch(problem) => {
                let (field, message) = launch_parameters::named(problem);
                Problem::error(format!("launch_parameters.{field}"), message)
            }
        }
    })
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::NoSuchBox(_) | Error::NoSuchExecution(_) => ApiErrorKind::NotFound,
            Error::NoSuchLayer(_)
            | Error::NoSuchBase(_)
            | Error::Exists { .. }
            | Error::InUse { .. }
            | Error::WrongState { .. }
            | Error::StdinClosed
            | Error::NoListener(_)
            | Error::BoxEnded => ApiErrorKind::IllegalState,
            Error::Invalid(_) | Error::CannotRun { .. } => ApiErrorKind::BadRequest,
            Error::Unsupported { .. } | Error::NotOffered(_) => ApiErrorKind::NotImplemented,
            Error::File { kind, .. } => match kind {
                FileProblem::NotFound => ApiErrorKind::NotFound,
                FileProblem::Denied => ApiErrorKind::Forbidden,
                FileProblem::TooLarge => ApiErrorKind::PayloadTooLarge,
                FileProblem::NotRegular | FileProblem::NoSpace | FileProblem::Other => {
                    ApiErrorKind::BadRequest
                }
            },
            Error::Platform { .. } | Error::Corrupt { .. } => return Self::internal(error),
        };
        Self::new(kind, error.to_string())
    }
}
