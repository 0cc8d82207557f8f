//! By which criteria something is scored again, in the words of both dialects.

use proctor_engine::runs::Rubrics;

use crate::error::ApiError;

/// What the member `criteria` of a request means.
pub(crate) fn read(criteria: Option<&str>) -> Result<Rubrics, ApiError> {
    match criteria {
        None | Some("own") => Ok(Rubrics::Own),
        Some("draft") => Ok(Rubrics::Draft),
        Some(_) => Err(ApiError::field("criteria", "must be 'own' or 'draft'")),
    }
}

/// The word for it.
pub(crate) const fn word(by: Rubrics) -> &'static str {
    match by {
        Rubrics::Own => "own",
        Rubrics::Draft => "draft",
    }
}
