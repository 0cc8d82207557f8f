//! `…/clock/advance`: agents wait without waiting.
//!
//! A world has a clock of its own. Advancing it is recorded in the world; deadlines count on the real clock.

use axum::{
    extract::State,
    http::{HeaderMap, Uri},
};
use proctor_core::{
    id::kinds::{PlaygroundId, RunId, SandboxId, TaskRunId},
    time::Timestamp,
};
use proctor_playground::world::World;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use super::{playgrounds::find_playground, worlds};
use crate::{
    auth::{Caller, OrganizationCaller, RunCaller},
    error::{ApiError, ApiErrorKind},
    extract::{Json, Path},
    state::ApiState,
};

/// By how much a clock is advanced.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AdvanceBody {
    /// At most 90 days.
    #[schema(value_type = u64, required, minimum = 0, maximum = 7776000, example = 3600)]
    seconds: Option<Number>,
}

/// A clock that was advanced.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdvancedView {
    /// What the world's clock shows now.
    #[schema(value_type = String, format = DateTime)]
    now: Timestamp,
}

impl AdvanceBody {
    fn seconds(&self) -> Result<u64, ApiError> {
        let refuse = |message: &str| ApiError::field("seconds", message);
        let Some(number) = &self.seconds else {
            return Err(refuse("is required"));
        };
        if let Some(seconds) = number.as_u64() {
            return Ok(seconds);
        }
        let value = number.as_f64().unwrap_or(f64::INFINITY);
        if value < 0.0 {
            let message = "the clock cannot be set back: 'seconds' must not be negative";
            return Err(ApiError::new(ApiErrorKind::IllegalState, message));
        }
        if value >= u64::MAX as f64 {
            return Ok(u64::MAX);
        }
        Err(refuse("must be a whole number of seconds"))
    }
}

async fn advance(world: &World, body: &AdvanceBody) -> Result<Json<AdvancedView>, ApiError> {
    let seconds = body.seconds()?;
    let now = world
        .advance(seconds)
        .await
        .map_err(proctor_engine::EngineError::from)?;
    Ok(Json(AdvancedView { now }))
}

/// Advances the clock of the world of a run's task.
///
/// Where several tasks are started, the header `X-Task-Run` says which one is meant. What becomes due happens before the next
/// request, as of its own time. 409 if the task forbids it, and for more than 90 days at once.
#[utoipa::path(
    post,
    path = "/v1/benchmark-runs/{id}/clock/advance",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The run's id")),
    request_body = AdvanceBody,
    security(("run_token" = [])),
    responses((status = 200, description = "The world's clock", body = AdvancedView)),
)]
pub(crate) async fn advance_run_clock(
    State(state): State<ApiState>,
    caller: RunCaller,
    Path(run): Path<RunId>,
    uri: Uri,
    headers: HeaderMap,
    Json(body): Json<AdvanceBody>,
) -> Result<Json<AdvancedView>, ApiError> {
    if caller.run != run {
        return Err(ApiError::not_found(format!("no benchmark run '{run}'")));
    }
    let chosen = worlds::chosen(&headers, &uri)?;
    let world = state.engine().world_of_run(run, chosen).await?;
    advance(&world, &body).await
}

/// Advances the clock of the world of a task run.
#[utoipa::path(
    post,
    path = "/v1/task-runs/{id}/clock/advance",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = AdvanceBody,
    security(("run_token" = [])),
    responses((status = 200, description = "The world's clock", body = AdvancedView)),
)]
pub(crate) async fn advance_task_run_clock(
    State(state): State<ApiState>,
    caller: RunCaller,
    Path(task_run): Path<TaskRunId>,
    Json(body): Json<AdvanceBody>,
) -> Result<Json<AdvancedView>, ApiError> {
    let world = state
        .engine()
        .world_of_run(caller.run, Some(task_run))
        .await?;
    advance(&world, &body).await
}

/// Advances the clock of the world that a sandbox belongs to.
///
/// `/services/{id}/clock/advance` is the same.
#[utoipa::path(
    post,
    path = "/sandboxes/{id}/clock/advance",
    tag = "Verial: playgrounds",
    params(("id" = String, Path, description = "The sandbox's id")),
    request_body = AdvanceBody,
    security(("organization_key" = []), ("run_token" = [])),
    responses((status = 200, description = "The world's clock", body = AdvancedView)),
)]
pub(crate) async fn advance_sandbox_clock(
    State(state): State<ApiState>,
    Path(id): Path<SandboxId>,
    headers: HeaderMap,
    Json(body): Json<AdvanceBody>,
) -> Result<Json<AdvancedView>, ApiError> {
    let unknown = || ApiError::not_found(format!("no sandbox '{id}'"));
    let caller = Caller::authenticate(&headers, &state).await?;
    let sandbox = state.store().sandbox(id).await?.ok_or_else(unknown)?;
    if !worlds::may_enter(&state, &caller, &sandbox).await? {
        return Err(unknown());
    }
    let behind = state.engine().behind(&sandbox).await?;
    advance(&behind.world, &body).await
}

/// Advances the clock of a playground.
#[utoipa::path(
    post,
    path = "/playgrounds/{id}/clock/advance",
    tag = "Verial: playgrounds",
    params(("id" = String, Path, description = "The playground's id")),
    request_body = AdvanceBody,
    security(("organization_key" = [])),
    responses((status = 200, description = "The world's clock", body = AdvancedView)),
)]
pub(crate) async fn advance_playground_clock(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<PlaygroundId>,
    Json(body): Json<AdvanceBody>,
) -> Result<Json<AdvancedView>, ApiError> {
    let playground = find_playground(&state, &caller, id).await?;
    let world = state.engine().world_of_playground(&playground).await?;
    advance(&world, &body).await
}
