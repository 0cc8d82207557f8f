//! The Runloop dialect: its routes, its lists, its views.

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::ApiState;

mod accounts;
mod agents;
mod benchmarks;
mod blueprints;
pub(crate) mod devboxes;
mod ids;
mod jobs;
pub(crate) mod labels;
pub(crate) mod launch_parameters;
pub(crate) mod links;
mod lists;
mod mounts;
mod network_policies;
mod objects;
mod page;
mod profile;
mod results;
mod runs;
mod scenarios;
mod secrets;

pub(crate) use devboxes::SEVERAL_BASES;
pub(crate) use jobs::read_rounds;
pub(crate) use objects::CONTENT as OBJECT_CONTENT;
pub use page::RunloopPage;
pub(crate) use profile::{check_own_labels, check_secrets, check_variables};
pub(crate) use runs::rescore::PATH as RESCORE;
pub(crate) use scenarios::validate::PATH as VALIDATE;

/// The dialect's routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(accounts::get_my_account))
        .routes(routes!(secrets::list_secrets, secrets::create_secret))
        .routes(routes!(secrets::get_secret, secrets::update_secret))
        .routes(routes!(secrets::delete_secret))
        .merge(devboxes::routes())
        .merge(scenario_routes())
        .merge(benchmark_routes())
        .merge(run_routes())
        .merge(job_routes())
        .merge(shelf_routes())
}

fn scenario_routes() -> OpenApiRouter<ApiState> {
    use scenarios::{self, scorers};
    OpenApiRouter::new()
        .routes(routes!(
            scenarios::list_scenarios,
            scenarios::create_scenario
        ))
        .routes(routes!(scenarios::list_public_scenarios))
        .routes(routes!(scenarios::list_scenario_metadata_keys))
        .routes(routes!(scenarios::list_scenario_metadata_values))
        .routes(routes!(scorers::list_scorers, scorers::create_scorer))
        .routes(routes!(scorers::get_scorer, scorers::update_scorer))
        .routes(routes!(scenarios::get_scenario, scenarios::update_scenario))
        .routes(routes!(scenarios::archive_scenario))
        .routes(routes!(scenarios::unarchive_scenario))
        .routes(routes!(scenarios::publish_scenario))
        .routes(routes!(scenarios::validate::validate_scenario))
}

fn benchmark_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(
            benchmarks::list_runloop_benchmarks,
            benchmarks::create_runloop_benchmark
        ))
        .routes(routes!(benchmarks::list_public_benchmarks))
        .routes(routes!(benchmarks::list_benchmark_metadata_keys))
        .routes(routes!(benchmarks::list_benchmark_metadata_values))
        .routes(routes!(
            benchmarks::get_runloop_benchmark,
            benchmarks::update_runloop_benchmark
        ))
        .routes(routes!(benchmarks::update_benchmark_scenarios))
        .routes(routes!(benchmarks::list_benchmark_definitions))
        .routes(routes!(benchmarks::archive_runloop_benchmark))
        .routes(routes!(benchmarks::unarchive_runloop_benchmark))
        .routes(routes!(benchmarks::publish_runloop_benchmark))
}

#[expect(
    deprecated,
    reason = "older clients look for benchmark runs below benchmarks"
)]
fn run_routes() -> OpenApiRouter<ApiState> {
    use runs::{benchmark_runs, rescore, scenario_runs};
    OpenApiRouter::new()
        .routes(routes!(scenario_runs::start_scenario_run))
        .routes(routes!(scenario_runs::list_scenario_runs))
        .routes(routes!(scenario_runs::list_runs_of_scenario))
        .routes(routes!(scenario_runs::get_scenario_run))
        .routes(routes!(scenario_runs::score_scenario_run))
        .routes(routes!(scenario_runs::complete_scenario_run))
        .routes(routes!(scenario_runs::cancel_scenario_run))
        .routes(routes!(rescore::rescore_scenario_run))
        .routes(routes!(scenario_runs::download_scenario_run_logs))
        .routes(routes!(benchmark_runs::start_benchmark_run))
        .routes(routes!(benchmark_runs::list_runs_of_benchmark))
        .routes(routes!(benchmark_runs::list_runloop_benchmark_runs))
        .routes(routes!(benchmark_runs::list_benchmark_runs_deprecated))
        .routes(routes!(benchmark_runs::get_runloop_benchmark_run))
        .routes(routes!(benchmark_runs::get_benchmark_run_deprecated))
        .routes(routes!(results::get_runloop_benchmark_run_results))
        .routes(routes!(benchmark_runs::complete_runloop_benchmark_run))
        .routes(routes!(benchmark_runs::complete_benchmark_run_deprecated))
        .routes(routes!(benchmark_runs::cancel_runloop_benchmark_run))
        .routes(routes!(benchmark_runs::cancel_benchmark_run_deprecated))
        .routes(routes!(benchmark_runs::list_scenario_runs_of_benchmark_run))
        .routes(routes!(
            benchmark_runs::list_scenario_runs_of_benchmark_run_deprecated
        ))
        .routes(routes!(benchmark_runs::download_benchmark_run_logs))
        .routes(routes!(
            benchmark_runs::download_benchmark_run_logs_deprecated
        ))
}

fn job_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(
            jobs::list_benchmark_jobs,
            jobs::create_benchmark_job
        ))
        .routes(routes!(jobs::get_benchmark_job))
        .routes(routes!(jobs::cancel_benchmark_job))
        .routes(routes!(results::get_benchmark_job_results))
        .routes(routes!(jobs::export_benchmark_job))
}

fn shelf_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
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
        .routes(routes!(agents::count_agent_devboxes))
        .routes(routes!(agents::get_agent))
        .routes(routes!(agents::delete_agent))
        .routes(routes!(
            agents::manifest::get_agent_manifest,
            agents::manifest::set_agent_manifest
        ))
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
