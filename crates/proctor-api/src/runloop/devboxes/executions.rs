//! Commands that were run in devboxes.

use std::sync::Arc;

use axum::extract::State;
use proctor_core::id::{Dialect, kinds::DevboxId};
use proctor_devbox::Error;
use proctor_fleet::{Command, FleetError};
use proctor_store::repeatable;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    execute::{ExecutionView, LONGEST_WAIT, OutputQuery},
    lives::patience,
};
use crate::{
    auth::BoxCaller,
    error::{ApiError, ApiErrorKind},
    extract::{Json, Path, PathParameter, Query, shortened},
    state::ApiState,
};

/// The name of an execution in a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutionName(pub(super) Uuid);

impl PathParameter for ExecutionName {
    fn parse(text: &str, _: Dialect) -> Result<Self, ApiError> {
        Uuid::parse_str(text).map(Self).map_err(|_| {
            ApiError::not_found(format!(
                "no execution '{}': its id is a UUID",
                shortened(text)
            ))
        })
    }
}

/// What to wait for.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ExecutionWaitParameters {
    /// running or completed.
    #[schema(value_type = Vec<String>, required)]
    statuses: Option<Vec<String>>,
    /// How long to wait: 25 when absent, at most 25.
    timeout_seconds: Option<f64>,
}

/// What is sent to a command.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SendStdInParameters {
    /// Goes to its standard input.
    text: Option<String>,
    /// EOF ends its standard input, INTERRUPT interrupts it.
    signal: Option<String>,
}

/// Whether something was sent.
#[derive(Serialize, ToSchema)]
pub(crate) struct SendStdInView {
    devbox_id: String,
    #[schema(format = "uuid")]
    execution_id: String,
    /// False: the command takes no input, or has ended.
    success: bool,
}

pub(super) async fn find(
    state: &ApiState,
    caller: &BoxCaller,
    devbox: DevboxId,
    ExecutionName(id): ExecutionName,
) -> Result<Arc<Command>, ApiError> {
    Ok(state.fleet()?.command(caller.id(), devbox, id).await?)
}

/// The same for a request that does something to the command: a suspended devbox is resumed for it.
async fn find_awake(
    state: &ApiState,
    caller: &BoxCaller,
    devbox: DevboxId,
    ExecutionName(id): ExecutionName,
) -> Result<Arc<Command>, ApiError> {
    let fleet = state.fleet()?;
    Ok(fleet.command_awake(caller.id(), devbox, id).await?)
}

/// Shows a command.
#[utoipa::path(
    get,
    path = "/v1/devboxes/{id}/executions/{execution_id}",
    tag = "Runloop: devboxes",
    params(
        ("id" = String, Path, description = "The devbox's id"),
        ("execution_id" = String, Path, description = "The execution's id"),
        OutputQuery,
    ),
    security(("organization_key" = []), ("attempt_token" = [])),
    responses((status = 200, description = "The command", body = ExecutionView)),
)]
pub(crate) async fn get_execution(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path((devbox, execution)): Path<(DevboxId, ExecutionName)>,
    Query(query): Query<OutputQuery>,
) -> Result<Json<ExecutionView>, ApiError> {
    let command = find(&state, &caller, devbox, execution).await?;
    Ok(Json(ExecutionView::of(&command, query.lines()?).await?))
}

/// Where a command stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExecutionStatus {
    Queued,
    Running,
    Completed,
}

impl ExecutionStatus {
    fn read(word: &str) -> Option<Self> {
        match word {
            "queued" => Some(Self::Queued),
            "running" => Some(Self::Running),
            "completed" => Some(Self::Completed),
            _ => None,
        }
    }
}

/// Waits until a command has one of several statuses.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/executions/{execution_id}/wait_for_status",
    tag = "Runloop: devboxes",
    params(
        ("id" = String, Path, description = "The devbox's id"),
        ("execution_id" = String, Path, description = "The execution's id"),
        OutputQuery,
    ),
    request_body = ExecutionWaitParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (status = 200, description = "The command, which has one of them", body = ExecutionView),
        (status = 408, description = "It has none of them yet; ask again"),
    ),
)]
pub(crate) async fn wait_for_execution_status(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path((devbox, execution)): Path<(DevboxId, ExecutionName)>,
    Query(query): Query<OutputQuery>,
    Json(body): Json<ExecutionWaitParameters>,
) -> Result<Json<ExecutionView>, ApiError> {
    let lines = query.lines()?;
    let statuses = body.statuses.unwrap_or_default();
    if statuses.is_empty() {
        return Err(ApiError::field("statuses", "at least one is required"));
    }
    let wanted = statuses.iter().map(|word| {
        ExecutionStatus::read(word).ok_or_else(|| {
            let message = format!("'{}' is no status of an execution", shortened(word));
            ApiError::field("statuses", message)
        })
    });
    let wanted: Vec<ExecutionStatus> = wanted.collect::<Result<_, _>>()?;
    let patience = patience(body.timeout_seconds, LONGEST_WAIT)?;
    let command = find(&state, &caller, devbox, execution).await?;
    let wants = |status: ExecutionStatus| wanted.contains(&status);
    let holds = if command.exit_status().is_none() && wants(ExecutionStatus::Running) {
        true
    } else {
        let completed = tokio::select! {
            completed = command.completes_within(patience) => completed?,
            () = state.fleet()?.closing().cancelled() => false,
        };
        completed && wants(ExecutionStatus::Completed)
    };
    if !holds {
        let message = format!(
            "the execution is not {} yet; ask again",
            statuses.join(" or ")
        );
        return Err(ApiError::new(ApiErrorKind::TimedOut, message));
    }
    Ok(Json(ExecutionView::of(&command, lines).await?))
}

/// Ends a command and everything that it started. What has ended stays as it is.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/executions/{execution_id}/kill",
    tag = "Runloop: devboxes",
    params(
        ("id" = String, Path, description = "The devbox's id"),
        ("execution_id" = String, Path, description = "The execution's id"),
    ),
    security(("organization_key" = []), ("attempt_token" = [])),
    responses((status = 200, description = "The command, which has ended", body = ExecutionView)),
)]
pub(crate) async fn kill_execution(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path((devbox, execution)): Path<(DevboxId, ExecutionName)>,
    Query(query): Query<OutputQuery>,
) -> Result<Json<ExecutionView>, ApiError> {
    let command = find_awake(&state, &caller, devbox, execution).await?;
    command.kill().await?;
    Ok(Json(ExecutionView::of(&command, query.lines()?).await?))
}

/// Sends text to the standard input of a command, or ends it, or interrupts the command.
#[utoipa::path(
    post,
    path = "/v1/devboxes/{id}/executions/{execution_id}/send_std_in",
    tag = "Runloop: devboxes",
    params(
        ("id" = String, Path, description = "The devbox's id"),
        ("execution_id" = String, Path, description = "The execution's id"),
    ),
    request_body = SendStdInParameters,
    security(("organization_key" = []), ("attempt_token" = [])),
    responses((status = 200, description = "Whether it was sent", body = SendStdInView)),
)]
pub(crate) async fn send_to_execution(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path((devbox, execution)): Path<(DevboxId, ExecutionName)>,
    Json(body): Json<SendStdInParameters>,
) -> Result<Json<SendStdInView>, ApiError> {
    if body.text.is_none() && body.signal.is_none() {
        return Err(ApiError::field("text", "either this or signal is required"));
    }
    if repeatable::was_begun_before() {
        let message = "whether this input arrived before the server ended is not known; look at what the command \
             wrote, and send what is missing with another x-request-id";
        return Err(ApiError::new(ApiErrorKind::Conflict, message));
    }
    let command = find_awake(&state, &caller, devbox, execution).await?;
    let send = async {
        if let Some(text) = &body.text {
            command.write_stdin(text.as_bytes()).await?;
        }
        match body.signal.as_deref() {
            None => Ok(()),
            Some("EOF") => Ok(command.close_stdin().await?),
            Some("INTERRUPT") => Ok(command.interrupt().await?),
            Some(other) => {
                let message = format!("'{}' is none of EOF, INTERRUPT", shortened(other));
                Err(Sent::Wrong(ApiError::field("signal", message)))
            }
        }
    };
    let success = match send.await {
        Ok(()) => true,
        Err(Sent::Fleet(FleetError::Box(Error::StdinClosed))) => false,
        Err(Sent::Fleet(error)) => return Err(error.into()),
        Err(Sent::Wrong(error)) => return Err(error),
    };
    Ok(Json(SendStdInView {
        devbox_id: command.devbox.wire(Dialect::Runloop),
        execution_id: command.id.to_string(),
        success,
    }))
}

/// Why nothing was sent.
enum Sent {
    Fleet(FleetError),
    Wrong(ApiError),
}

impl From<FleetError> for Sent {
    fn from(error: FleetError) -> Self {
        Self::Fleet(error)
    }
}
