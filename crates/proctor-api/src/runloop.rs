//! The Runloop dialect: its routes, its lists, its views.

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::ApiState;

mod accounts;
mod agents;
mod blueprints;
mod labels;
mod links;
mod network_policies;
mod objects;
mod page;
mod secrets;

pub(crate) use objects::CONTENT as OBJECT_CONTENT;
pub use page::RunloopPage;

/// The dialect's routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(accounts::get_my_account))
        .routes(routes!(secrets::list_secrets, secrets::create_secret))
        .routes(routes!(secrets::get_secret, secrets::update_secret))
        .routes(routes!(secrets::delete_secret))
        .routes(routes!(objects::list_objects, objects::create_object))
        .routes(routes!(objects::list_public_objects))
        .routes(routes!(objects::get_object))
        .routes(routes!(objects::complete_object))
        .routes(routes!(objects::download_object))
        .routes(routes!(objects::delete_object))
        .routes(routes!(
            objects::get_object_content,
            objects::put_object_content
        ))
        .routes(routes!(
            network_policies::list_network_policies,
            network_policies::create_network_policy
        ))
        .routes(routes!(
            network_policies::get_network_policy,
            network_policies::update_network_policy
        ))
        .routes(routes!(network_policies::delete_network_policy))
        .routes(routes!(agents::list_agents, agents::create_agent))
        .routes(routes!(agents::list_public_agents))
        .routes(routes!(agents::get_agent))
        .routes(routes!(agents::delete_agent))
        .routes(routes!(
            blueprints::list_blueprints,
            blueprints::create_blueprint
        ))
        .routes(routes!(blueprints::list_public_blueprints))
        .routes(routes!(blueprints::preview_blueprint))
        .routes(routes!(blueprints::get_blueprint))
        .routes(routes!(blueprints::delete_blueprint))
        .routes(routes!(blueprints::get_blueprint_logs))
}
