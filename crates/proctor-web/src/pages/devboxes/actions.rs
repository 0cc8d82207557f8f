//! What can be done to a devbox from its page: each a form with the session's token.

use std::collections::BTreeMap;

use axum::{
    Form, Router,
    extract::{Path, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::post,
};
use proctor_fleet::snapshots::NewSnapshot;
use serde::Deserialize;

use super::{devbox_id, fleet, refused};
use crate::{error::PageError, session::Visitor, state::WebState};

pub(super) fn routes() -> Router<WebState> {
    Router::new().route("/ui/devboxes/{id}/{action}", post(act))
}

#[derive(Deserialize)]
struct ActionForm {
    token: String,
    /// What a snapshot is called.
    name: Option<String>,
}

async fn act(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((id, action)): Path<(String, String)>,
    Form(form): Form<ActionForm>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    let fleet = fleet(&state, &visitor)?;
    let (organization, id) = (visitor.organization(), devbox_id(&id)?);
    // Whether it is theirs is known before anything is done.
    fleet.devbox(organization, id).await.map_err(refused)?;
    let done = match action.as_str() {
        "shutdown" => fleet.shutdown(organization, id).await.map(drop),
        "suspend" => fleet.suspend(organization, id).await.map(drop),
        "resume" => fleet.resume(organization, id).await.map(drop),
        "snapshot" => {
            let new = NewSnapshot {
                name: form.name.filter(|name| !name.trim().is_empty()),
                commit_message: None,
                metadata: BTreeMap::new(),
            };
            let made = fleet.snapshot_in_background(organization, id, new);
            made.await.map(drop)
        }
        _ => return Err(PageError::not_found("action")),
    };
    done.map_err(refused)?;
    Ok(Redirect::to(&format!("/ui/devboxes/{id}")).into_response())
}
