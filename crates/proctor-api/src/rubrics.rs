//! By which criteria something is scored again, in the words of both dialects.

use proctor_engine::runs::{Judges, Rubrics};

use crate::error::ApiError;

/// What the member `criteria` of a request means.
pub(crate) fn read(criteria: Option<&str>) -> Result<Rubrics, ApiError> {
    match criteria {
        None | Some("own") => Ok(Rubrics::Own),
        Some("draft") => Ok(Rubrics::Draft),
        Some(_) => Err(ApiError::field("criteria", "must be 'own' or 'draft'")),
    }
}

/// What the member `judge` of a request means.
pub(crate) fn read_judges(judge: Option<&str>) -> Result<Judges, ApiError> {
    match judge {
        None | Some("recorded") => Ok(Judges::Recorded),
        Some("anew") => Ok(Judges::Anew),
        Some(_) => Err(ApiError::field("judge", "must be 'recorded' or 'anew'")),
    }
}

/// The word for it.
pub(crate) const fn word(by: Rubrics) -> &'static str {
    match by {
        Rubrics::Own => "own",
        Rubrics::Draft => "draft",
    }
}
