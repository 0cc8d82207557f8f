//! What happened in a devbox.

use axum::extract::State;
use futures::{StreamExt as _, stream};
use proctor_core::id::kinds::DevboxId;
use proctor_fleet::logs::{LogEntry, LogFilter, Source, What};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::streams::{Events, event, events};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path, Query},
    state::ApiState,
};

/// Which lines are wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DevboxLogQuery {
    /// Only those of this execution.
    execution_id: Option<String>,
    /// Only those of this named shell.
    shell_name: Option<String>,
}

impl DevboxLogQuery {
    fn filter(self) -> LogFilter {
        LogFilter {
            execution: self.execution_id.filter(|id| !id.is_empty()),
            shell: self.shell_name.filter(|name| !name.is_empty()),
        }
    }
}

/// A line of a devbox's log. Secrets do not show in it.
#[derive(Serialize, ToSchema)]
pub(crate) struct DevboxLogView {
    /// info, or error for what went to standard error.
    level: &'static str,
    /// setup_commands, entrypoint, exec or files.
    source: &'static str,
    timestamp_ms: i64,
    /// The command, where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    cmd: Option<String>,
    /// The execution it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    cmd_id: Option<String>,
    /// How the command ended, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shell_name: Option<String>,
}

/// A devbox's log.
#[derive(Serialize, ToSchema)]
pub(crate) struct DevboxLogListView {
    logs: Vec<DevboxLogView>,
}

impl DevboxLogView {
    fn of(entry: LogEntry) -> Self {
        let mut view = Self {
            level: "info",
            source: match entry.source {
                Source::Setup => "setup_commands",
                Source::Entrypoint => "entrypoint",
                Source::Exec => "exec",
                Source::Files => "files",
            },
            timestamp_ms: entry.at,
            cmd: None,
            cmd_id: entry.execution,
            exit_code: None,
            message: None,
            shell_name: entry.shell,
        };
        match entry.what {
            What::Started { command } | What::Queued { command, .. } => view.cmd = Some(command),
            What::Line { error, text, .. } => {
                view.level = if error { "error" } else { "info" };
                view.message = Some(text);
            }
            What::Ended { status } => view.exit_code = Some(status),
            What::Note { text } => view.message = Some(text),
        }
        view
    }
}

/// Shows what happened in a devbox, the last 5000 lines of it.
#[utoipa::path(
    get,
    path = "/v1/devboxes/{id}/logs",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id"), DevboxLogQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The log, the oldest line first", body = DevboxLogListView),
    ),
)]
pub(crate) async fn list_devbox_logs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    Query(query): Query<DevboxLogQuery>,
) -> Result<Json<DevboxLogListView>, ApiError> {
    let entries = state.fleet()?.logs(caller.id(), id, query.filter()).await?;
    let logs = entries.into_iter().map(DevboxLogView::of).collect();
    Ok(Json(DevboxLogListView { logs }))
}

/// Streams what happens in a devbox, from the beginning until it ends.
#[utoipa::path(
    get,
    path = "/v1/devboxes/{id}/logs/tail",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id"), DevboxLogQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The log as it grows",
            body = DevboxLogView,
            content_type = "text/event-stream",
        ),
    ),
)]
pub(crate) async fn tail_devbox_logs(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<DevboxId>,
    Query(query): Query<DevboxLogQuery>,
) -> Result<Events, ApiError> {
    let tail = state
        .fleet()?
        .tail_logs(caller.id(), id, query.filter())
        .await?;
    let batches = stream::unfold(tail, |mut tail| async move {
        let entries = tail.next().await.ok().flatten()?;
        Some((entries, tail))
    });
    Ok(events(batches.flat_map(|entries| {
        stream::iter(
            entries
                .into_iter()
                .map(|entry| event(&DevboxLogView::of(entry))),
        )
    })))
}
