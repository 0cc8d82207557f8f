//! `/ui/settings/solvers`: those who take benchmarks, and their keys.

use askama::Template;
use axum::{
    Form, Router,
    extract::{Path, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use proctor_core::id::kinds::SolverId;
use proctor_store::{
    StoreError,
    credentials::{Key, KeyOwner, PlainKey},
    solvers::{Solver, SolverProfile},
};
use serde::Deserialize;

use super::{
    ShownOnce, check_typed,
    keys::{RevokeForm, revoke_key},
    name, newest, unkept,
};
use crate::{
    error::PageError,
    pages::page,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/settings/solvers", get(solvers).post(make))
        .route("/ui/settings/solvers/{id}", get(solver))
        .route("/ui/settings/solvers/{id}/keys", post(make_key))
        .route("/ui/settings/solvers/{id}/keys/{key}/revoke", post(revoke))
        .route("/ui/settings/solvers/{id}/delete", post(delete))
}

#[derive(Template)]
#[template(path = "settings_solvers.html")]
struct SolversPage {
    shell: Shell,
    tab: &'static str,
    rows: Vec<Solver>,
    has_more: bool,
}

async fn solvers(State(state): State<WebState>, visitor: Visitor) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let found = state
        .store()
        .solvers(visitor.organization(), newest())
        .await?;
    page(&SolversPage {
        shell: visitor.shell("Solvers", Section::Settings),
        tab: "solvers",
        rows: found.items,
        has_more: found.has_more,
    })
}

#[derive(Deserialize)]
struct SolverForm {
    token: String,
    #[serde(default)]
    alias: String,
    #[serde(default)]
    real_name: String,
    #[serde(default)]
    agent_description: String,
    #[serde(default)]
    contact_email: String,
    #[serde(default)]
    agent_version: String,
}

async fn make(
    State(state): State<WebState>,
    visitor: Visitor,
    Form(form): Form<SolverForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let required = |typed: &str, what: &'static str| -> Result<String, PageError> {
        let missing = || PageError::bad_request(format!("{what} is missing."));
        name(typed, what)?.ok_or_else(missing)
    };
    let profile = SolverProfile {
        alias: required(&form.alias, "The alias")?,
        real_name: required(&form.real_name, "The real name")?,
        agent_description: required(&form.agent_description, "The description of the agent")?,
        contact_email: required(&form.contact_email, "The e-mail address")?,
        agent_version: name(&form.agent_version, "The version of the agent")?,
    };
    let address = profile.contact_email.split_once('@');
    if address.is_none_or(|(user, host)| user.is_empty() || !host.contains('.')) {
        return Err(PageError::bad_request("This is not an e-mail address."));
    }
    let made = state
        .store()
        .create_solver(visitor.organization(), profile)
        .await;
    match made {
        Ok(solver) => {
            let target = format!("/ui/settings/solvers/{}", solver.id);
            Ok(Redirect::to(&target).into_response())
        }
        Err(StoreError::Taken(_)) => Err(PageError::new(
            http::StatusCode::CONFLICT,
            "Another Solver has this alias.",
        )),
        Err(error) => Err(error.into()),
    }
}

#[derive(Template)]
#[template(path = "settings_solver.html")]
struct SolverPage {
    shell: Shell,
    tab: &'static str,
    solver: Solver,
    rows: Vec<Key>,
    made: Option<ShownOnce>,
}

async fn find(state: &WebState, visitor: &Visitor, id: &str) -> Result<Solver, PageError> {
    visitor.require_organization()?;
    let missing = || PageError::not_found("Solver");
    let id: SolverId = id.parse().map_err(|_| missing())?;
    let found = state.store().solver(visitor.organization(), id).await?;
    found.ok_or_else(missing)
}

async fn show(
    state: &WebState,
    visitor: &Visitor,
    solver: Solver,
    made: Option<ShownOnce>,
) -> Result<Response, PageError> {
    let owner = KeyOwner::Solver(solver.id);
    let found = state
        .store()
        .keys(visitor.organization(), owner, newest())
        .await?;
    page(&SolverPage {
        shell: visitor.shell(solver.profile.alias.clone(), Section::Settings),
        tab: "solvers",
        solver,
        rows: found.items,
        made,
    })
}

async fn solver(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let solver = find(&state, &visitor, &id).await?;
    show(&state, &visitor, solver, None).await
}

#[derive(Deserialize)]
struct KeyForm {
    token: String,
    #[serde(default)]
    name: String,
}

async fn make_key(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    Form(form): Form<KeyForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    let solver = find(&state, &visitor, &id).await?;
    let name = name(&form.name, "The name of a key")?;
    let owner = KeyOwner::Solver(solver.id);
    let made = state
        .store()
        .create_key(visitor.organization(), owner, name, PlainKey::Random)
        .await?;
    let made = made.ok_or_else(|| PageError::not_found("Solver"))?;
    unkept(show(&state, &visitor, solver, Some(ShownOnce::of(&made))).await)
}

async fn revoke(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((id, key)): Path<(String, String)>,
    Form(form): Form<RevokeForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    let solver = find(&state, &visitor, &id).await?;
    let owner = KeyOwner::Solver(solver.id);
    revoke_key(&state, &visitor, owner, &key, &form.typed).await?;
    let target = format!("/ui/settings/solvers/{}", solver.id);
    Ok(Redirect::to(&target).into_response())
}

async fn delete(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    Form(form): Form<RevokeForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    let solver = find(&state, &visitor, &id).await?;
    check_typed(&form.typed, &solver.profile.alias)?;
    state
        .store()
        .delete_solver(visitor.organization(), solver.id)
        .await?;
    Ok(Redirect::to("/ui/settings/solvers").into_response())
}
