//! `/ui/settings/keys`: the organization's own keys.

use askama::Template;
use axum::{
    Form, Router,
    extract::{Path, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use proctor_core::id::kinds::CredentialId;
use proctor_store::credentials::{Key, KeyOwner, PlainKey};
use serde::Deserialize;

use super::{ShownOnce, check_typed, name, newest, unkept};
use crate::{
    error::PageError,
    pages::page,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/settings/keys", get(keys).post(make))
        .route("/ui/settings/keys/{id}/revoke", post(revoke))
}

#[derive(Template)]
#[template(path = "settings_keys.html")]
struct KeysPage {
    shell: Shell,
    tab: &'static str,
    rows: Vec<Key>,
    has_more: bool,
    made: Option<ShownOnce>,
    own: CredentialId,
}

/// What must be typed to revoke a key: its name, or how it begins.
pub(super) fn called(key: &Key) -> &str {
    match &key.name {
        Some(name) if !name.is_empty() => name,
        _ => &key.prefix,
    }
}

async fn show(
    state: &WebState,
    visitor: &Visitor,
    made: Option<ShownOnce>,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let found = state
        .store()
        .keys(visitor.organization(), KeyOwner::Organization, newest())
        .await?;
    page(&KeysPage {
        shell: visitor.shell("Keys", Section::Settings),
        tab: "keys",
        rows: found.items,
        has_more: found.has_more,
        made,
        own: visitor.credential(),
    })
}

async fn keys(State(state): State<WebState>, visitor: Visitor) -> Result<Response, PageError> {
    show(&state, &visitor, None).await
}

#[derive(Deserialize)]
struct MakeForm {
    token: String,
    #[serde(default)]
    name: String,
}

async fn make(
    State(state): State<WebState>,
    visitor: Visitor,
    Form(form): Form<MakeForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let name = name(&form.name, "The name of a key")?;
    let organization = visitor.organization();
    let made = state
        .store()
        .create_key(organization, KeyOwner::Organization, name, PlainKey::Random)
        .await?;
    let made = made.ok_or_else(|| PageError::not_found("organization"))?;
    unkept(show(&state, &visitor, Some(ShownOnce::of(&made))).await)
}

#[derive(Deserialize)]
pub(super) struct RevokeForm {
    pub(super) token: String,
    #[serde(default)]
    pub(super) typed: String,
}

async fn revoke(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    Form(form): Form<RevokeForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    revoke_key(&state, &visitor, KeyOwner::Organization, &id, &form.typed).await?;
    Ok(Redirect::to("/ui/settings/keys").into_response())
}

/// Takes a key back whose name was typed.
pub(super) async fn revoke_key(
    state: &WebState,
    visitor: &Visitor,
    owner: KeyOwner,
    id: &str,
    typed: &str,
) -> Result<(), PageError> {
    let missing = || PageError::not_found("key");
    let id: CredentialId = id.parse().map_err(|_| missing())?;
    let (store, organization) = (state.store(), visitor.organization());
    let key = store.key(organization, owner, id).await?;
    let key = key.ok_or_else(missing)?;
    check_typed(typed, called(&key))?;
    match store.revoke_key(organization, owner, id).await? {
        true => Ok(()),
        false => Err(missing()),
    }
}
