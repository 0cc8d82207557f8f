//! `/benchmarks/{id}/versions/{version}/admission`: whether a version sees harm.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    canonical::Digest, definition::BenchmarkVersion, id::kinds::BenchmarkId, time::Timestamp,
};
use proctor_engine::admission::AdmissionState;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    benchmark_drafts::{VersionNumber, find_version},
    benchmarks,
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

/// How the admission of a version stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdmissionView {
    /// `running` or `done`.
    status: &'static str,
    /// Whether the version is admitted; null while it is tried.
    admitted: Option<bool>,
    /// The digest of what was frozen, which the certificate is about.
    #[schema(value_type = String)]
    digest: Digest,
    /// What was found: harms, mutants, and why it is not admitted, task by task; null while it is tried.
    #[schema(value_type = Option<Object>)]
    certificate: Option<Value>,
    /// When it was found.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Timestamp>,
}

impl AdmissionView {
    fn of(digest: Digest, state: AdmissionState) -> Self {
        match state {
            AdmissionState::Running => Self {
                status: "running",
                admitted: None,
                digest,
                certificate: None,
                created_at: None,
            },
            AdmissionState::Found(kept) => Self {
                status: "done",
                admitted: Some(kept.certificate["admitted"] == true),
                digest,
                certificate: Some(kept.certificate),
                created_at: Some(kept.created_at),
            },
        }
    }
}

/// A version of a benchmark of the caller's own: only its owner may see solutions, and a certificate tells of them.
async fn own_version(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: BenchmarkId,
    number: VersionNumber,
) -> Result<BenchmarkVersion, ApiError> {
    let benchmark = benchmarks::find(state, caller, id).await?;
    find_version(state, benchmark.id, number).await
}

/// Shows whether a version of a benchmark sees harm.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/versions/{version}/admission",
    tag = "Verial: benchmarks",
    params(
        ("id" = String, Path, description = "The benchmark's id"),
        ("version" = u32, Path, description = "The version's number"),
    ),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "How it stands", body = AdmissionView),
        (status = 404, description = "Nobody asked for it"),
    ),
)]
pub(crate) async fn get_admission(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((id, number)): Path<(BenchmarkId, VersionNumber)>,
) -> Result<Json<AdmissionView>, ApiError> {
    let version = own_version(&state, &caller, id, number).await?;
    let found = state.engine().admission(version.digest).await?;
    let found = found.ok_or_else(|| {
        ApiError::not_found(format!(
            "version {} of benchmark '{id}' was not tried; POST to this address does it",
            version.version
        ))
    })?;
    Ok(Json(AdmissionView::of(version.digest, found)))
}

/// Tries whether a version of a benchmark sees harm.
///
/// Harms, mutants and random calls are put into the reference solutions, in the background; what was found is kept with the digest
/// of the version. Asking again tries it again.
#[utoipa::path(
    post,
    path = "/benchmarks/{id}/versions/{version}/admission",
    tag = "Verial: benchmarks",
    params(
        ("id" = String, Path, description = "The benchmark's id"),
        ("version" = u32, Path, description = "The version's number"),
    ),
    security(("organization_key" = [])),
    responses((status = 202, description = "It is being tried", body = AdmissionView)),
)]
pub(crate) async fn admit_version(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((id, number)): Path<(BenchmarkId, VersionNumber)>,
) -> Result<(StatusCode, Json<AdmissionView>), ApiError> {
    let version = own_version(&state, &caller, id, number).await?;
    let digest = version.digest;
    state.engine().admit(version).await?;
    let view = AdmissionView::of(digest, AdmissionState::Running);
    Ok((StatusCode::ACCEPTED, Json(view)))
}
