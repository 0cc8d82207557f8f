//! `/ui/compare`: whether B is better than A, by how much, and where they differ.
//!
//! The numbers and the sentence are the engine's; nothing is computed a second time here. Looking keeps nothing: what is to be kept is sent as a form.

pub(crate) mod choose;
mod export;
mod grid;
mod kept;
pub(crate) mod report;
mod side_by_side;
pub(crate) mod sides;
mod view;

use axum::{
    Form, Router,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use proctor_core::run::Run;
use proctor_engine::EngineError;
use serde::Deserialize;

use self::sides::{NotCompared, compared, find_runs, new_comparison, not_compared, question};
use crate::{error::PageError, query::Params, session::Visitor, state::WebState};

pub(crate) use self::kept::{KeptRow, list as kept_comparisons, when};

/// The most runs that are compared at once.
const MOST: usize = 8;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/compare", get(compare).post(keep))
        .route("/ui/compare.csv", get(export::csv))
        .route("/ui/compare.md", get(export::markdown))
        .route("/ui/compare/task-runs", get(side_by_side::task_runs))
        .merge(kept::routes())
}

async fn compare(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let (a, b, marked) = (params.all("a"), params.all("b"), params.all("run"));
    if !marked.is_empty() {
        let all: Vec<&str> = [a, b, marked].concat();
        let mut runs = find_runs(&state, &visitor, &all).await?;
        return match runs.len() {
            1 => choose::page(&state, &visitor, &params, &[], &runs, None).await,
            2 => {
                // What came later is compared with what came before.
                runs.sort_by_key(|run| run.id);
                let link = format!("/ui/compare?a={}&b={}", runs[0].id, runs[1].id);
                Ok(Redirect::to(&link).into_response())
            }
            count if count > MOST => {
                let why = format!("{count} runs are marked; at most {MOST} are compared at once.");
                choose::page(&state, &visitor, &params, &[], &[], Some(why)).await
            }
            _ => grid::page(&state, &visitor, &params, runs).await,
        };
    }
    let (a, b) = (
        find_runs(&state, &visitor, &a).await?,
        find_runs(&state, &visitor, &b).await?,
    );
    if a.is_empty() || b.is_empty() {
        return choose::page(&state, &visitor, &params, &a, &b, None).await;
    }
    let asked = question(&state, &visitor, &a, &b, &params).await?;
    match compared(&state, &asked).await? {
        Ok(found) => view::page(&state, &visitor, params, &found, &asked),
        Err(why) => refused(&state, &visitor, &params, &a, &b, why).await,
    }
}

/// Why two sides are not compared, as a page: what to choose instead is on it.
async fn refused(
    state: &WebState,
    visitor: &Visitor,
    params: &Params,
    a: &[Run],
    b: &[Run],
    why: NotCompared,
) -> Result<Response, PageError> {
    match why {
        NotCompared::Refused(why) => choose::page(state, visitor, params, a, b, Some(why)).await,
        NotCompared::Differ(differences) => {
            choose::not_comparable(state, visitor, params, a, b, differences).await
        }
    }
}

#[derive(Deserialize)]
struct Keep {
    token: String,
    query: String,
}

/// Keeps a comparison as it is now, so that it can be linked to when its runs are gone.
async fn keep(
    State(state): State<WebState>,
    visitor: Visitor,
    Form(form): Form<Keep>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let params = Params::read(Some(form.query.trim_start_matches('?')));
    let a = find_runs(&state, &visitor, &params.all("a")).await?;
    let b = find_runs(&state, &visitor, &params.all("b")).await?;
    if a.is_empty() || b.is_empty() {
        return Err(PageError::bad_request("Two sides are compared, A and B."));
    }
    let asked = question(&state, &visitor, &a, &b, &params).await?;
    let made = state
        .engine()
        .compare(visitor.organization(), new_comparison(&asked))
        .await;
    let made = match made {
        Ok(made) => made,
        Err(EngineError::Comparison(problem)) => {
            return refused(&state, &visitor, &params, &a, &b, not_compared(&problem)).await;
        }
        Err(error) => return Err(error.into()),
    };
    let id = made.id.map(|id| id.to_string()).unwrap_or_default();
    Ok(Redirect::to(&format!("/ui/comparisons/{id}")).into_response())
}

/// The end of an id, by which people tell runs apart in a small place.
pub(crate) fn tail(id: &proctor_core::id::kinds::RunId) -> String {
    let text = id.to_string();
    text[text.len().saturating_sub(6)..].to_owned()
}
