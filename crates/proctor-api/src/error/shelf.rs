//! What goes wrong with objects and blueprints, as clients see it.

use proctor_core::problem::Problem;
use proctor_fleet::{
    blueprints::BlueprintError,
    objects::{ObjectError, links::BadGrant},
};

use super::{ApiError, ApiErrorKind};

impl From<ObjectError> for ApiError {
    fn from(error: ObjectError) -> Self {
        let message = error.to_string();
        match error {
            ObjectError::NotFound(_) => Self::not_found(message),
            ObjectError::Refused(_) => Self::new(ApiErrorKind::IllegalState, message),
            ObjectError::TooLarge(_) => Self::new(ApiErrorKind::PayloadTooLarge, message),
            ObjectError::Broken(_) => Self::bad_request(message),
            ObjectError::Store(error) => error.into(),
        }
    }
}

impl From<BadGrant> for ApiError {
    fn from(bad: BadGrant) -> Self {
        Self::new(ApiErrorKind::Forbidden, bad.to_string())
    }
}

impl From<BlueprintError> for ApiError {
    fn from(error: BlueprintError) -> Self {
        match error {
            BlueprintError::NotFound(_) => Self::not_found(error.to_string()),
            // Whether a recipe makes sense depends on the blueprints, objects and secrets that it names.
            BlueprintError::Recipe { field, message } => {
                Self::unmet(vec![Problem::error(field, message)])
            }
            BlueprintError::NotBuilt(_) | BlueprintError::Deleted => {
                Self::new(ApiErrorKind::IllegalState, error.to_string())
            }
            BlueprintError::Store(error) => error.into(),
        }
    }
}
