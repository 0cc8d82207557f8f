//! The Runloop dialect: its routes, its lists, its views.

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::ApiState;

mod accounts;
pub(crate) mod devboxes;
pub(crate) mod launch_parameters;
pub(crate) mod mounts;
mod page;
mod secrets;

pub use page::RunloopPage;

/// The dialect's routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(accounts::get_my_account))
        .routes(routes!(secrets::list_secrets, secrets::create_secret))
        .routes(routes!(secrets::get_secret, secrets::update_secret))
        .routes(routes!(secrets::delete_secret))
        .merge(devboxes::routes())
}
