//! The Verial dialect: its routes, its lists, its views.

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::ApiState;

mod api_keys;
mod page;
mod solver_keys;
mod solvers;

pub use page::{VerialList, VerialListMeta, VerialPage};

/// The dialect's routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(api_keys::list_api_keys, api_keys::create_api_key))
        .routes(routes!(api_keys::get_api_key, api_keys::revoke_api_key))
        .routes(routes!(solvers::list_solvers, solvers::create_solver))
        .routes(routes!(
            solvers::get_solver,
            solvers::update_solver,
            solvers::delete_solver
        ))
        .routes(routes!(
            solver_keys::list_solver_keys,
            solver_keys::create_solver_key
        ))
        .routes(routes!(solver_keys::revoke_solver_key))
}
