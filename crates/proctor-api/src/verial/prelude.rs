//! What every file about something that authors work on needs.

pub(super) use axum::extract::State;
pub(super) use http::StatusCode;
pub(super) use proctor_core::time::Timestamp;
pub(super) use serde::{Deserialize, Serialize};
pub(super) use utoipa::ToSchema;

pub(super) use super::{
    authored::{authored, authored_list},
    found::{found, not_found, removed},
    page::{VerialList, VerialPage, VerialPageQuery},
};
pub(super) use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, present},
    state::ApiState,
};
