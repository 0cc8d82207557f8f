//! `/solvers/{id}/api-keys`: the keys with which a Solver starts runs.

use axum::extract::State;
use http::StatusCode;
use proctor_core::id::kinds::{CredentialId, CredentialKind, SolverId};
use proctor_store::credentials::KeyOwner;

use super::{
    api_keys::{KeyView, Keys, NewKeyBody, NewKeyView},
    page::{VerialList, VerialPage, VerialPageQuery},
    solvers,
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

fn keys_of<'s>(state: &'s ApiState, caller: &OrganizationCaller, solver: SolverId) -> Keys<'s> {
    Keys {
        state,
        organization: caller.id(),
        owner: KeyOwner::Solver(solver),
    }
}

/// Lists a Solver's keys.
#[utoipa::path(
    get,
    path = "/solvers/{id}/api-keys",
    tag = "Verial: Solvers",
    params(("id" = String, Path, description = "The Solver's id"), VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The keys in force, newest first", body = VerialList<KeyView>),
    ),
)]
pub(crate) async fn list_solver_keys(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(solver): Path<SolverId>,
    page: VerialPage<CredentialKind>,
) -> Result<Json<VerialList<KeyView>>, ApiError> {
    solvers::find(&state, &caller, solver).await?;
    keys_of(&state, &caller, solver).list(page).await
}

/// Makes a key for a Solver.
#[utoipa::path(
    post,
    path = "/solvers/{id}/api-keys",
    tag = "Verial: Solvers",
    params(("id" = String, Path, description = "The Solver's id")),
    request_body = Option<NewKeyBody>,
    security(("organization_key" = [])),
    responses((status = 201, description = "The key, shown this once", body = NewKeyView)),
)]
pub(crate) async fn create_solver_key(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(solver): Path<SolverId>,
    Json(body): Json<NewKeyBody>,
) -> Result<(StatusCode, Json<NewKeyView>), ApiError> {
    keys_of(&state, &caller, solver).create(body).await
}

/// Revokes a Solver's key.
#[utoipa::path(
    delete,
    path = "/solvers/{id}/api-keys/{key_id}",
    tag = "Verial: Solvers",
    params(
        ("id" = String, Path, description = "The Solver's id"),
        ("key_id" = String, Path, description = "The key's id"),
    ),
    security(("organization_key" = [])),
    responses((status = 204, description = "The key no longer works")),
)]
pub(crate) async fn revoke_solver_key(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((solver, key)): Path<(SolverId, CredentialId)>,
) -> Result<StatusCode, ApiError> {
    keys_of(&state, &caller, solver).revoke(key).await
}
