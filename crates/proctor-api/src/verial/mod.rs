//! The Verial dialect: its routes, its lists, its views.

use axum::routing::any;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::ApiState;

mod admissions;
mod api_keys;
mod attempts;
mod authored;
mod benchmark_drafts;
mod benchmark_versions;
mod benchmarks;
mod clocks;
mod comparisons;
mod criteria;
mod datasets;
mod entities;
mod environments;
mod events;
mod evidence;
mod found;
mod gates;
mod internal_runs;
mod internal_tasks;
mod jobs;
mod leaderboards;
mod organizations;
mod page;
mod playgrounds;
mod prelude;
mod public_runs;
mod public_tasks;
mod results;
mod run_views;
mod simulators;
mod solver_keys;
mod solvers;
mod task_entities;
mod tasks;
mod trends;
mod worlds;

pub(crate) use internal_tasks::{RESCORE, find as find_task_run};
pub(crate) use public_tasks::complete as complete_task;
pub(crate) use worlds::door_of;

pub use page::{NoFilter, VerialList, VerialListMeta, VerialPage};

/// The dialect's routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(credentials())
        .merge(environments())
        .merge(benchmarks())
        .merge(runs())
        .merge(jobs())
        .merge(comparisons())
        .merge(worlds())
}

/// Who may do what.
fn credentials() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(
            organizations::list_organizations,
            organizations::create_organization
        ))
        .routes(routes!(
            organizations::get_organization,
            organizations::update_organization
        ))
        .routes(routes!(organizations::create_organization_key))
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

/// What worlds are made of.
fn environments() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(
            environments::list_environments,
            environments::create_environment
        ))
        .routes(routes!(
            environments::get_environment,
            environments::update_environment,
            environments::delete_environment
        ))
        .routes(routes!(
            environments::add_simulator,
            environments::remove_simulator
        ))
        .routes(routes!(
            simulators::list_simulators,
            simulators::create_simulator
        ))
        .routes(routes!(
            simulators::get_simulator,
            simulators::update_simulator,
            simulators::delete_simulator
        ))
        .routes(routes!(datasets::list_datasets, datasets::create_dataset))
        .routes(routes!(
            datasets::get_dataset,
            datasets::update_dataset,
            datasets::delete_dataset
        ))
        .routes(routes!(entities::list_entities, entities::create_entity))
        .routes(routes!(
            entities::get_entity,
            entities::update_entity,
            entities::delete_entity
        ))
}

/// What is examined.
fn benchmarks() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(
            benchmarks::list_benchmarks,
            benchmarks::create_benchmark
        ))
        .routes(routes!(
            benchmarks::get_benchmark,
            benchmarks::update_benchmark,
            benchmarks::delete_benchmark
        ))
        .routes(routes!(benchmark_versions::publish_benchmark))
        .routes(routes!(benchmark_versions::unpublish_benchmark))
        .routes(routes!(benchmark_versions::list_benchmark_versions))
        .routes(routes!(benchmark_drafts::check_benchmark))
        .routes(routes!(benchmark_drafts::get_draft_definition))
        .routes(routes!(benchmark_drafts::get_version_definition))
        .routes(routes!(
            admissions::get_admission,
            admissions::admit_version
        ))
        .routes(routes!(tasks::list_tasks, tasks::create_task))
        .routes(routes!(
            tasks::get_task,
            tasks::update_task,
            tasks::delete_task
        ))
        .routes(routes!(
            task_entities::list_task_entities,
            task_entities::add_task_entity
        ))
        .routes(routes!(task_entities::remove_task_entity))
        .routes(routes!(criteria::list_criteria, criteria::create_criterion))
        .routes(routes!(
            criteria::get_criterion,
            criteria::update_criterion,
            criteria::delete_criterion
        ))
}

/// Runs, from both sides.
fn runs() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(public_runs::take_benchmark))
        .routes(routes!(public_runs::get_taken_run))
        .routes(routes!(public_tasks::start_task))
        .routes(routes!(public_tasks::complete_task))
        .routes(routes!(
            internal_runs::list_benchmark_runs,
            internal_runs::create_benchmark_run
        ))
        .routes(routes!(
            internal_runs::get_benchmark_run,
            internal_runs::delete_benchmark_run
        ))
        .routes(routes!(results::get_benchmark_run_results))
        .routes(routes!(internal_runs::complete_benchmark_run))
        .routes(routes!(internal_runs::cancel_benchmark_run))
        .routes(routes!(leaderboards::publish_benchmark_run))
        .routes(routes!(leaderboards::unpublish_benchmark_run))
        .routes(routes!(leaderboards::get_leaderboard))
        .routes(routes!(leaderboards::list_leaderboard_changes))
        .routes(routes!(trends::get_trend))
        .routes(routes!(trends::draw_trend))
        .routes(routes!(internal_tasks::list_task_runs))
        .routes(routes!(internal_tasks::get_task_run))
        .routes(routes!(internal_tasks::start_task_run))
        .routes(routes!(internal_tasks::complete_task_run))
        .routes(routes!(internal_tasks::cancel_task_run))
        .routes(routes!(attempts::issue_attempt_token))
        .routes(routes!(attempts::make_agent_box))
        .routes(routes!(attempts::fail_task_run))
        .routes(routes!(attempts::retry_task_run))
        .routes(routes!(internal_tasks::rescore_task_run))
        .routes(routes!(events::list_task_run_events))
        .routes(routes!(internal_tasks::list_criterion_runs))
        .routes(routes!(internal_tasks::get_criterion_run))
}

/// Agents that take benchmarks by themselves.
fn jobs() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(jobs::list_jobs, jobs::create_job))
        .routes(routes!(jobs::get_job))
        .routes(routes!(jobs::cancel_job))
        .routes(routes!(jobs::get_job_results))
}

/// What runs mean beside each other.
fn comparisons() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(
            comparisons::list_comparisons,
            comparisons::create_comparison
        ))
        .routes(routes!(comparisons::get_comparison))
        .routes(routes!(gates::list_gates, gates::create_gate))
        .routes(routes!(gates::get_gate))
}

/// Playgrounds, sandboxes, and the ways into them.
fn worlds() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(
            playgrounds::list_playgrounds,
            playgrounds::create_playground
        ))
        .routes(routes!(playgrounds::get_playground))
        .routes(routes!(playgrounds::tear_down_playground))
        .routes(routes!(
            playgrounds::list_sandboxes,
            playgrounds::create_sandbox
        ))
        .routes(routes!(playgrounds::get_sandbox))
        .routes(routes!(playgrounds::tear_down_sandbox))
        .routes(routes!(events::list_events))
        .routes(routes!(
            playgrounds::attach_dataset,
            playgrounds::detach_dataset
        ))
        .routes(routes!(clocks::advance_run_clock))
        .routes(routes!(clocks::advance_task_run_clock))
        .routes(routes!(clocks::advance_sandbox_clock))
        .routes(routes!(clocks::advance_playground_clock))
        .route(
            "/services/{id}/clock/advance",
            axum::routing::post(clocks::advance_sandbox_clock),
        )
        .route("/v1/benchmark-runs/{id}/{*path}", any(worlds::of_run))
        .route("/v1/task-runs/{id}/{*path}", any(worlds::of_task_run))
        .route("/sandboxes/{id}/{*path}", any(worlds::of_sandbox))
        .route("/services/{id}/{*path}", any(worlds::of_sandbox))
}
