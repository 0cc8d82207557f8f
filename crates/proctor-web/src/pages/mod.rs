//! The pages, one module each. A new page is a module with `routes()` and a line in [`router`].

use askama::Template;
use axum::{
    Router,
    middleware::from_fn_with_state,
    response::{Html, IntoResponse as _, Redirect, Response},
    routing::{any, get},
};

use crate::{assets, error::PageError, guard, state::WebState};

mod benchmarks;
pub(crate) mod compare;
mod criterion_run;
mod devboxes;
mod docs;
mod gates;
mod jobs;
pub(crate) mod leaderboard;
mod live;
mod overview;
mod run;
mod run_actions;
mod runs;
mod search;
mod settings;
pub mod sign_in;
mod task_run;
mod trend;

/// All pages, below `/ui/`.
pub fn router(state: WebState) -> Router {
    Router::new()
        .merge(assets::routes())
        .merge(sign_in::routes())
        .merge(overview::routes())
        .merge(runs::routes())
        .merge(run::routes())
        .merge(task_run::routes())
        .merge(criterion_run::routes())
        .merge(search::routes())
        .merge(live::routes())
        .merge(compare::routes())
        .merge(benchmarks::routes())
        .merge(leaderboard::routes())
        .merge(trend::routes())
        .merge(gates::routes())
        .merge(run_actions::routes())
        .merge(jobs::routes())
        .merge(devboxes::routes())
        .merge(settings::routes())
        .merge(docs::routes())
        .route("/ui", get(async || Redirect::permanent("/ui/")))
        .route("/ui/{*rest}", any(no_such_page))
        .layer(from_fn_with_state(state.clone(), guard::around))
        .with_state(state)
}

async fn no_such_page() -> PageError {
    PageError::not_found("page")
}

/// A drawn page.
pub(crate) fn page(template: &impl Template) -> Result<Response, PageError> {
    Ok(Html(template.render()?).into_response())
}
