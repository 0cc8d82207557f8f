//! Running commands in devboxes.

use std::{sync::Arc, time::Duration};

use axum::extract::State;
use proctor_core::id::{Dialect, kinds::DevboxId};
use proctor_devbox::Stream;
use proctor_fleet::{Command, NewCommand};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::lives::patience;
use crate::{
    auth::BoxCaller,
    error::ApiError,
    extract::{Checks, Json, Path, Query},
    state::ApiState,
};

/// How long a request is held at most until a command has ended.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(25);
/// How many lines are shown when nobody says how many.
const USUAL_LINES: usize = 100;

/// How much of the output is wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutputQuery {
    /// How many of the last lines; 100 when absent.
    #[param(value_type = Option<u32>, default = 100)]
    last_n: Option<String>,
}

impl OutputQuery {
    pub(super) fn lines(&self) -> Result<usize, ApiError> {
        match self.last_n.as_deref() {
            None | Some("") => Ok(USUAL_LINES),
            Some(text) => text
                .parse()
                .map_err(|_| ApiError::field("last_n", "must be a whole number")),
        }
    }
}

/// A command to be run.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ExecuteParameters {
    /// What a shell shall run.
    #[schema(value_type = String, required)]
    command: Option<String>,
    /// A UUID; the same one again is the same execution.
    #[schema(value_type = Option<String>, format = "uuid")]
    command_id: Option<String>,
    /// The named shell to run it in: directory and variables of one command are there for the next.
    shell_name: Option<String>,
    /// How many seconds to wait for its end: 25 when absent, at most 25.
    optimistic_timeout: Option<f64>,
    /// Whether something will be sent to its standard input.
    attach_stdin: Option<bool>,
}

impl ExecuteParameters {
    fn read(self) -> Result<NewCommand, ApiError> {
        let mut checks = Checks::default();
        let command = checks.required("command", self.command);
        let id = self.command_id.filter(|text| !text.is_empty());
        let id = id.and_then(|text| {
            let read = Uuid::parse_str(&text);
            read.map_err(|_| checks.refuse("command_id", "must be a UUID"))
                .ok()
        });
        checks.finish()?;
        Ok(NewCommand {
            command: command.unwrap_or_default(),
            shown: None,
            id,
            shell: self.shell_name.filter(|name| !name.is_empty()),
            stdin: self.attach_stdin.unwrap_or(false),
            user: None,
            view: None,
        })
    }
}

/// A command that runs or has ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExecutionView {
    devbox_id: String,
    #[schema(format = "uuid")]
    execution_id: String,
    /// running or completed.
    #[schema(example = "completed")]
    status: &'static str,
    /// Its code, or 128 and the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shell_name: Option<String>,
    /// The last lines of its standard output.
    stdout: String,
    /// Whether something comes before them.
    stdout_truncated: bool,
    /// The last lines of its standard error.
    stderr: String,
    /// Whether something comes before them.
    stderr_truncated: bool,
}

impl ExecutionView {
    pub(super) async fn of(command: &Command, lines: usize) -> Result<Self, ApiError> {
        // The status first: what it had written by then is in what is read after it.
        let exit_status = command.exit_status();
        let stdout = command.tail(Stream::Stdout, lines).await?;
        let stderr = command.tail(Stream::Stderr, lines).await?;
        Ok(Self {
            devbox_id: command.devbox.wire(Dialect::Runloop),
            execution_id: command.id.to_string(),
            status: match exit_status {
                Some(_) => "completed",
                None => "running",
            },
            exit_status,
            shell_name: command.shell.clone(),
            stdout: stdout.text,
            stdout_truncated: stdout.truncated,
            stderr: stderr.text,
            stderr_truncated: stderr.truncated,
        })
    }
}

/// A command that has ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct SyncExecutionView {
    devbox_id: String,
    exit_status: i32,
    stdout: String,
    stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shell_name: Option<String>,
}

async fn start(
    state: &ApiState,
    caller: &BoxCaller,
    devbox: DevboxId,
    body: ExecuteParameters,
) -> Result<Arc<Command>, ApiError> {
    let new = body.read()?;
    Ok(state.fleet()?.execute(caller.id(), devbox, new).await?)
}

/// Runs a command and waits a while for its end.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/execute",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id"), OutputQuery),
    request_body = ExecuteParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (status = 200, description = "The command, which may still run", body = ExecutionView),
    ),
)]
pub(crate) async fn execute_in_devbox(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(id): Path<DevboxId>,
    Query(query): Query<OutputQuery>,
    Json(body): Json<ExecuteParameters>,
) -> Result<Json<ExecutionView>, ApiError> {
    let lines = query.lines()?;
    let patience = patience(body.optimistic_timeout, LONGEST_WAIT)?;
    let command = start(&state, &caller, id, body).await?;
    tokio::select! {
        completed = command.completes_within(patience) => drop(completed?),
        () = state.fleet()?.closing().cancelled() => {}
    }
    Ok(Json(ExecutionView::of(&command, lines).await?))
}

/// Runs a command and does not wait for its end.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/execute_async",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = ExecuteParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (status = 200, description = "The command, which may still run", body = ExecutionView),
    ),
)]
pub(crate) async fn execute_in_devbox_async(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<ExecuteParameters>,
) -> Result<Json<ExecutionView>, ApiError> {
    let command = start(&state, &caller, id, body).await?;
    Ok(Json(ExecutionView::of(&command, USUAL_LINES).await?))
}

/// Runs a command and waits for its end, however long that takes.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/execute_sync",
    tag = "Runloop: devboxes",
    params(("id" = String, Path, description = "The devbox's id")),
    request_body = ExecuteParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (status = 200, description = "The command, which has ended", body = SyncExecutionView),
    ),
)]
pub(crate) async fn execute_in_devbox_sync(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(id): Path<DevboxId>,
    Json(body): Json<ExecuteParameters>,
) -> Result<Json<SyncExecutionView>, ApiError> {
    if body.attach_stdin == Some(true) {
        let message = "is for execute_async: nothing can be sent to a command that is waited for";
        return Err(ApiError::field("attach_stdin", message));
    }
    let command = start(&state, &caller, id, body).await?;
    let exit_status = tokio::select! {
        completed = command.completed() => completed?,
        () = state.fleet()?.closing().cancelled() => {
            return Err(ApiError::unavailable(
                "the server is about to end; the command goes on",
                Duration::from_secs(5),
            ));
        }
    };
    let stdout = command.tail(Stream::Stdout, usize::MAX).await?;
    let stderr = command.tail(Stream::Stderr, usize::MAX).await?;
    Ok(Json(SyncExecutionView {
        devbox_id: command.devbox.wire(Dialect::Runloop),
        exit_status,
        stdout: stdout.text,
        stderr: stderr.text,
        shell_name: command.shell.clone(),
    }))
}
