//! `/ui/settings/secrets`: names of secrets. Values go in and are never shown.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Form, Router,
    extract::{Path, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use proctor_store::{
    StoreError,
    names::WantedLabels,
    page::{PageRequest, PageStart},
    secrets::Secret,
};
use secrecy::SecretString;
use serde::Deserialize;

use super::{check_typed, newest};
use crate::{
    error::PageError,
    pages::page,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many of the newest devboxes are looked at for who uses a secret.
const LOOKED_AT: u32 = 200;
/// As over the API.
const LONGEST_NAME: usize = 255;
const LONGEST_VALUE: usize = 64 << 10;

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/settings/secrets", get(secrets).post(make))
        .route("/ui/settings/secrets/{name}/replace", post(replace))
        .route("/ui/settings/secrets/{name}/delete", post(delete))
}

#[derive(Template)]
#[template(path = "settings_secrets.html")]
struct SecretsPage {
    shell: Shell,
    tab: &'static str,
    rows: Vec<(Secret, usize)>,
    has_more: bool,
}

async fn secrets(State(state): State<WebState>, visitor: Visitor) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let found = state
        .store()
        .secrets(visitor.organization(), newest())
        .await?;
    let users = users(&state, &visitor).await?;
    let rows = found.items.into_iter().map(|secret| {
        let users = users.get(&secret.name).copied().unwrap_or(0);
        (secret, users)
    });
    page(&SecretsPage {
        shell: visitor.shell("Secrets", Section::Settings),
        tab: "secrets",
        rows: rows.collect(),
        has_more: found.has_more,
    })
}

/// How many devboxes that have not ended use each secret.
async fn users(state: &WebState, visitor: &Visitor) -> Result<BTreeMap<String, usize>, PageError> {
    let request = PageRequest {
        limit: LOOKED_AT,
        from: PageStart::Newest,
        count: false,
    };
    let found = state
        .store()
        .devboxes(visitor.organization(), None, &WantedLabels::new(), request)
        .await?;
    let mut users = BTreeMap::new();
    for record in found
        .items
        .iter()
        .filter(|record| !record.status().is_over())
    {
        for name in record.setup.secrets.values() {
            *users.entry(name.clone()).or_default() += 1;
        }
    }
    Ok(users)
}

#[derive(Deserialize)]
struct SecretForm {
    token: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    value: String,
}

fn value(typed: String) -> Result<SecretString, PageError> {
    match typed.len() {
        0 => Err(PageError::bad_request("The value is missing.")),
        1..=LONGEST_VALUE => Ok(SecretString::from(typed)),
        _ => Err(PageError::bad_request(
            "The value of a secret has at most 65536 bytes.",
        )),
    }
}

async fn make(
    State(state): State<WebState>,
    visitor: Visitor,
    Form(form): Form<SecretForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let name = form.name;
    let is_good = !matches!(name.trim(), "" | "." | "..")
        && name.chars().count() <= LONGEST_NAME
        && !name.chars().any(char::is_control);
    if !is_good {
        return Err(PageError::bad_request(
            "The name of a secret is one line of at most 255 characters.",
        ));
    }
    let value = value(form.value)?;
    let made = state
        .store()
        .create_secret(visitor.organization(), &name, &value)
        .await;
    match made {
        Ok(_) => Ok(Redirect::to("/ui/settings/secrets").into_response()),
        Err(StoreError::Taken(_)) => Err(PageError::new(
            http::StatusCode::CONFLICT,
            "There is a secret with this name; replace its value instead.",
        )),
        Err(error) => Err(error.into()),
    }
}

async fn replace(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(name): Path<String>,
    Form(form): Form<SecretForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let value = value(form.value)?;
    let replaced = state
        .store()
        .update_secret(visitor.organization(), &name, &value)
        .await?;
    replaced.ok_or_else(|| PageError::not_found("secret"))?;
    Ok(Redirect::to("/ui/settings/secrets").into_response())
}

#[derive(Deserialize)]
struct DeleteForm {
    token: String,
    #[serde(default)]
    typed: String,
}

async fn delete(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(name): Path<String>,
    Form(form): Form<DeleteForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    check_typed(&form.typed, &name)?;
    let deleted = state
        .store()
        .delete_secret(visitor.organization(), &name)
        .await?;
    deleted.ok_or_else(|| PageError::not_found("secret"))?;
    Ok(Redirect::to("/ui/settings/secrets").into_response())
}
