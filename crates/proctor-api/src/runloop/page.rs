//! Lists that continue after an id.

use axum::extract::FromRequestParts;
use http::request::Parts;
use proctor_core::id::{Dialect, Id, Kind};
use proctor_store::page::{PageRequest, PageStart};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{error::ApiError, extract::Query, state::ApiState};

const DEFAULT_LIMIT: u32 = 20;
const LARGEST_LIMIT: u32 = 5000;

/// The parameters of every list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunloopPageQuery {
    /// How many to return: 20 when absent or 0; above 5000 clamps.
    #[param(value_type = Option<u32>, minimum = 0, default = 20)]
    limit: Option<String>,
    /// Continue after this id.
    starting_after: Option<String>,
    /// Whether to count the whole list; true when absent.
    #[param(default = true)]
    include_total_count: Option<bool>,
}

/// The part of a list that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunloopPage<K: Kind>(pub PageRequest<K>);

impl<K: Kind> FromRequestParts<ApiState> for RunloopPage<K> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        let Query(query) = Query::<RunloopPageQuery>::from_request_parts(parts, state).await?;
        Ok(Self(PageRequest {
            limit: query.limit.as_deref().map_or(Ok(DEFAULT_LIMIT), limit)?,
            from: match query.starting_after.as_deref() {
                None | Some("") => PageStart::Newest,
                Some(id) => Id::from_wire(id, Dialect::Runloop)
                    .map(PageStart::After)
                    .map_err(|bad| ApiError::field("starting_after", bad.to_string()))?,
            },
            count: query.include_total_count.unwrap_or(true),
        }))
    }
}

fn limit(text: &str) -> Result<u32, ApiError> {
    match text.parse::<i128>() {
        Err(_) => Err(ApiError::field("limit", "must be a whole number")),
        Ok(..0) => Err(ApiError::field("limit", "must not be negative")),
        Ok(0) => Ok(DEFAULT_LIMIT),
        Ok(asked) => {
            Ok(u32::try_from(asked).map_or(LARGEST_LIMIT, |limit| limit.min(LARGEST_LIMIT)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_a_default_and_clamp() {
        for (asked, read) in [
            ("0", 20),
            ("1", 1),
            ("5000", 5000),
            ("5001", 5000),
            ("99999999999999999999", 5000),
        ] {
            assert_eq!(limit(asked).unwrap(), read);
        }
        let told = |text| limit(text).unwrap_err().message().to_owned();
        assert_eq!(told("-1"), "limit: must not be negative");
        assert_eq!(told("many"), "limit: must be a whole number");
    }
}
