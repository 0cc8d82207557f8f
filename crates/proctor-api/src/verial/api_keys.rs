//! `/api-keys`: the organization's own keys.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    id::kinds::{CredentialId, CredentialKind, OrganizationId},
    time::Timestamp,
};
use proctor_store::credentials::{IssuedKey, Key, KeyOwner, PlainKey};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    found::{found, not_found, removed},
    page::{VerialList, VerialPage, VerialPageQuery},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path},
    state::ApiState,
};

/// A key as it can be shown at any time.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyView {
    #[schema(value_type = String, example = "key_01K0000000000000000000000A")]
    id: CredentialId,
    /// What people call it.
    name: Option<String>,
    /// How the key begins.
    #[schema(example = "vk_x7Qb")]
    prefix: String,
    /// How the key ends.
    #[schema(example = "9fZk")]
    suffix: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl KeyView {
    pub(super) fn of(key: Key) -> Self {
        Self {
            id: key.id,
            name: key.name,
            prefix: key.prefix,
            suffix: key.suffix,
            created_at: key.created_at,
        }
    }
}

/// A key that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct NewKeyView {
    #[schema(value_type = String, example = "key_01K0000000000000000000000A")]
    id: CredentialId,
    /// The key itself. It is shown here and never again.
    key: String,
    /// What people call it.
    name: Option<String>,
    /// How the key begins.
    prefix: String,
    /// How the key ends.
    suffix: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl NewKeyView {
    pub(super) fn of(issued: IssuedKey) -> Self {
        let IssuedKey { key, secret } = issued;
        Self {
            id: key.id,
            key: secret.expose_secret().to_owned(),
            name: key.name,
            prefix: key.prefix,
            suffix: key.suffix,
            created_at: key.created_at,
        }
    }
}

/// What a new key is to be.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewKeyBody {
    /// What people call it.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
}

impl NewKeyBody {
    /// The name of the new key.
    pub(super) fn name(self) -> Result<Option<String>, ApiError> {
        let mut checks = Checks::default();
        let name = checks.optional_text("name", self.name, 1..=200);
        checks.finish()?;
        Ok(name)
    }
}

/// The keys of an organization or of one of its Solvers, as both routes show them.
pub(super) struct Keys<'s> {
    pub(super) state: &'s ApiState,
    pub(super) organization: OrganizationId,
    pub(super) owner: KeyOwner,
}

impl Keys<'_> {
    pub(super) async fn list(
        &self,
        page: VerialPage<CredentialKind>,
    ) -> Result<Json<VerialList<KeyView>>, ApiError> {
        let store = self.state.store();
        let keys = store.keys(self.organization, self.owner, page.0).await?;
        Ok(page.answer(keys, |key| key.id, KeyView::of))
    }

    /// Makes a key; not found when its Solver is not.
    pub(super) async fn create(
        &self,
        body: NewKeyBody,
    ) -> Result<(StatusCode, Json<NewKeyView>), ApiError> {
        let name = body.name()?;
        let store = self.state.store();
        let issued = store
            .create_key(self.organization, self.owner, name, PlainKey::Random)
            .await?;
        match (issued, self.owner) {
            (Some(issued), _) => Ok((StatusCode::CREATED, Json(NewKeyView::of(issued)))),
            (None, KeyOwner::Solver(solver)) => Err(not_found(solver)),
            (None, KeyOwner::Organization) => Err(ApiError::not_found("the organization is gone")),
        }
    }

    pub(super) async fn revoke(&self, id: CredentialId) -> Result<StatusCode, ApiError> {
        let store = self.state.store();
        removed(
            id,
            store.revoke_key(self.organization, self.owner, id).await?,
        )
    }
}

fn own_keys<'s>(state: &'s ApiState, caller: &OrganizationCaller) -> Keys<'s> {
    Keys {
        state,
        organization: caller.id(),
        owner: KeyOwner::Organization,
    }
}

/// Lists the organization's keys.
#[utoipa::path(
    get,
    path = "/api-keys",
    tag = "Verial: organization keys",
    params(VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The keys in force, newest first", body = VerialList<KeyView>),
    ),
)]
pub(crate) async fn list_api_keys(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<CredentialKind>,
) -> Result<Json<VerialList<KeyView>>, ApiError> {
    own_keys(&state, &caller).list(page).await
}

/// Makes a key for the organization.
#[utoipa::path(
    post,
    path = "/api-keys",
    tag = "Verial: organization keys",
    request_body = Option<NewKeyBody>,
    security(("organization_key" = [])),
    responses((status = 201, description = "The key, shown this once", body = NewKeyView)),
)]
pub(crate) async fn create_api_key(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewKeyBody>,
) -> Result<(StatusCode, Json<NewKeyView>), ApiError> {
    own_keys(&state, &caller).create(body).await
}

/// Shows one of the organization's keys.
#[utoipa::path(
    get,
    path = "/api-keys/{id}",
    tag = "Verial: organization keys",
    params(("id" = String, Path, description = "The key's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The key, without its secret", body = KeyView)),
)]
pub(crate) async fn get_api_key(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<CredentialId>,
) -> Result<Json<KeyView>, ApiError> {
    let key = state
        .store()
        .key(caller.id(), KeyOwner::Organization, id)
        .await?;
    Ok(Json(KeyView::of(found(id, key)?)))
}

/// Revokes one of the organization's keys.
#[utoipa::path(
    delete,
    path = "/api-keys/{id}",
    tag = "Verial: organization keys",
    params(("id" = String, Path, description = "The key's id")),
    security(("organization_key" = [])),
    responses((status = 204, description = "The key no longer works")),
)]
pub(crate) async fn revoke_api_key(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<CredentialId>,
) -> Result<StatusCode, ApiError> {
    own_keys(&state, &caller).revoke(id).await
}
