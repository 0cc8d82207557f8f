//! `/v1/devboxes`: Linux boxes, what runs in them, their files, logs and snapshots.

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::ApiState;

mod create;
mod execute;
mod executions;
mod files;
mod lives;
mod logs;
mod not_offered;
mod snapshots;
mod ssh;
mod streams;
mod tunnels;
mod views;

pub(crate) use create::SEVERAL_BASES;

/// Routes that take the time they need: long polls, commands, large files.
pub(crate) const UNHURRIED: [&str; 10] = [
    "/v1/devboxes/{id}/wait_for_status",
    "/v1/devboxes/{id}/execute",
    "/v1/devboxes/{id}/execute_sync",
    "/v1/devboxes/{id}/executions/{execution_id}/wait_for_status",
    "/v1/devboxes/{id}/executions/{execution_id}/send_std_in",
    "/v1/devboxes/{id}/upload_file",
    "/v1/devboxes/{id}/write_file_contents",
    "/v1/devboxes/{id}/read_file_contents",
    "/v1/devboxes/{id}/download_file",
    "/v1/devboxes/{id}/snapshot_disk",
];
/// Routes that read their body as it comes, or whose answers are not to be kept: they hold what opens a devbox.
pub(crate) const STREAMING: [&str; 3] =
    ["/v1/devboxes/{id}/upload_file", ssh::PATH, tunnels::ENABLE];

/// The routes of devboxes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(lives::list_devboxes, create::create_devbox))
        .routes(routes!(create::create_devbox_and_await_running))
        .routes(routes!(lives::get_devbox, lives::update_devbox))
        .routes(routes!(lives::wait_for_devbox_status))
        .routes(routes!(lives::shutdown_devbox))
        .routes(routes!(lives::keep_devbox_alive))
        .routes(routes!(lives::suspend_devbox))
        .routes(routes!(lives::resume_devbox))
        .routes(routes!(lives::get_devbox_usage))
        .routes(routes!(execute::execute_in_devbox))
        .routes(routes!(execute::execute_in_devbox_async))
        .routes(routes!(execute::execute_in_devbox_sync))
        .routes(routes!(executions::get_execution))
        .routes(routes!(executions::wait_for_execution_status))
        .routes(routes!(executions::kill_execution))
        .routes(routes!(executions::send_to_execution))
        .routes(routes!(streams::stream_execution_stdout))
        .routes(routes!(streams::stream_execution_stderr))
        .routes(routes!(files::read_devbox_file))
        .routes(routes!(files::write_devbox_file))
        .routes(routes!(files::upload_devbox_file))
        .routes(routes!(files::download_devbox_file))
        .routes(routes!(logs::list_devbox_logs))
        .routes(routes!(logs::tail_devbox_logs))
        .routes(routes!(snapshots::snapshot_devbox_disk))
        .routes(routes!(snapshots::snapshot_devbox_disk_async))
        .routes(routes!(snapshots::list_disk_snapshots))
        .routes(routes!(snapshots::get_disk_snapshot_status))
        .routes(routes!(snapshots::update_disk_snapshot))
        .routes(routes!(snapshots::delete_disk_snapshot))
        .routes(routes!(ssh::create_devbox_ssh_key))
        .routes(routes!(tunnels::enable_devbox_tunnel))
        .routes(routes!(tunnels::remove_devbox_tunnel))
        .routes(routes!(not_offered::create_devbox_pty_tunnel))
        .routes(routes!(not_offered::create_devbox_gateway_token))
        .routes(routes!(not_offered::create_devbox_mcp_token))
        .routes(routes!(not_offered::watch_devbox_evictions))
}
