//! What goes wrong with objects and blueprints, as clients see it.

use proctor_fleet::{
    blueprints::BlueprintError,
    objects::{ObjectError, links::BadGrant},
};

use super::{FieldErrors, Problem, ProblemKind};

impl From<ObjectError> for Problem {
    fn from(error: ObjectError) -> Self {
        let message = error.to_string();
        match error {
            ObjectError::NotFound(_) => Self::not_found(message),
            ObjectError::Refused(_) => Self::new(ProblemKind::IllegalState, message),
            ObjectError::TooLarge(_) => Self::new(ProblemKind::PayloadTooLarge, message),
            ObjectError::Broken(_) => Self::bad_request(message),
            ObjectError::Store(error) => error.into(),
        }
    }
}

impl From<BadGrant> for Problem {
    fn from(bad: BadGrant) -> Self {
        Self::new(ProblemKind::Forbidden, bad.to_string())
    }
}

impl From<BlueprintError> for Problem {
    fn from(error: BlueprintError) -> Self {
        match error {
            BlueprintError::NotFound(_) => Self::not_found(error.to_string()),
            // Whether a recipe makes sense depends on the blueprints, objects and secrets that it names.
            BlueprintError::Recipe { field, message } => {
                let mut errors = FieldErrors::default();
                errors.add(field, message);
                Self::unmet(errors)
            }
            BlueprintError::NotBuilt(_) | BlueprintError::Deleted => {
                Self::new(ProblemKind::IllegalState, error.to_string())
            }
            BlueprintError::Store(error) => error.into(),
        }
    }
}
