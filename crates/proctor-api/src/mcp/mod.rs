//! Task runs over the Model Context Protocol: the instruction and the tools of a task's world, for the taker of a task run that was
//! started.
//!
//! Translation only. A call of a tool becomes the request that an agent would send over HTTP, so it is the same event.

mod devbox;
mod instruction;
mod world;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use http::{StatusCode, header};
use http_body_util::BodyExt as _;
use proctor_core::{
    definition::World, id::kinds::TaskRunId, refused::Refused, task_run::TaskRunState,
};
use proctor_engine::{EngineError, runs::TaskRunDetails};
use proctor_mcp::{ToolDescription, Toolbox};
use proctor_simulation::tool::{Argument, Effect, Tool, input_schema};
use serde_json::{Map, Value};
use utoipa_axum::{router::OpenApiRouter, routes};

use self::{devbox::DevboxTools, world::WorldTools};
use crate::{
    auth::{ScenarioRunCaller, TakerCaller},
    error::{ApiError, ApiErrorKind},
    extract::{Path, read_body},
    state::ApiState,
};

/// The endpoint of a task run.
pub(crate) const OF_TASK_RUN: &str = "/v1/task-runs/{id}/mcp";
/// The endpoint of a scenario run.
pub(crate) const OF_SCENARIO_RUN: &str = "/v1/scenarios/runs/{id}/mcp";

/// The name of the tool that ends a task.
const COMPLETE: &str = "complete";

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(speak_mcp_to_task_run))
        .routes(routes!(speak_mcp_to_scenario_run))
}

/// Speaks MCP with the world of a started task run.
///
/// One message of the Model Context Protocol (Streamable HTTP, without sessions).
#[utoipa::path(
    post,
    path = "/v1/task-runs/{id}/mcp",
    tag = "Verial: taking a benchmark",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = Object,
    security(("run_token" = [])),
    responses(
        (status = 200, description = "The answer, a JSON-RPC message", body = Object),
        (status = 202, description = "A notification was taken"),
    ),
)]
pub(crate) async fn speak_mcp_to_task_run(
    State(state): State<ApiState>,
    caller: TakerCaller,
    Path(id): Path<TaskRunId>,
    request: Request,
) -> Result<Response, ApiError> {
    let run = caller.run_of(id)?;
    let found = state.engine().task_run_details(run, id).await?;
    check_started(&found)?;
    let (task, _) = found.prepared.task(found.task_run.task)?;
    let tools: Arc<dyn Toolbox> = match task.world {
        World::Playground { .. } => Arc::new(WorldTools::of(&state, run, &found, &request)?),
        World::Devbox { .. } => Arc::new(DevboxTools::of(&state, caller.organization, found)?),
    };
    speak(&state, tools, request).await
}

/// Speaks MCP with the devbox of a scenario run.
///
/// One message of the Model Context Protocol (Streamable HTTP, without sessions).
#[utoipa::path(
    post,
    path = "/v1/scenarios/runs/{id}/mcp",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    request_body = Object,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The answer, a JSON-RPC message", body = Object),
        (status = 202, description = "A notification was taken"),
    ),
)]
pub(crate) async fn speak_mcp_to_scenario_run(
    State(state): State<ApiState>,
    caller: ScenarioRunCaller,
    Path(id): Path<TaskRunId>,
    request: Request,
) -> Result<Response, ApiError> {
    let found = state.engine().scenario_run_details(caller.id(), id).await?;
    check_started(&found)?;
    let tools = DevboxTools::of(&state, caller.id(), found)?;
    speak(&state, Arc::new(tools), request).await
}

/// Nobody is told of a task before it is started.
fn check_started(found: &TaskRunDetails) -> Result<(), ApiError> {
    match found.task_run.state {
        TaskRunState::Created => Err(EngineError::from(Refused::TaskRunNotStarted).into()),
        _ => Ok(()),
    }
}

/// Answers a message from a toolbox.
async fn speak(
    state: &ApiState,
    tools: Arc<dyn Toolbox>,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, state.body_limit()).await?;
    let said_to_be = parts.headers.get(header::CONTENT_TYPE);
    let is_json = said_to_be.is_some_and(|said| said.as_bytes().starts_with(b"application/json"));
    let answer = proctor_mcp::serve(tools, http::Request::from_parts(parts, body)).await;
    if answer.status().is_client_error() {
        return refused(answer, is_json).await;
    }
    Ok(answer.map(Body::new))
}

/// A refusal: to a message in the protocol's own words, and in the dialect's to what is no message.
async fn refused(
    answer: http::Response<proctor_mcp::Body>,
    is_json: bool,
) -> Result<Response, ApiError> {
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.map_err(ApiError::internal)?.to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_answer = message.get("id").is_some_and(|id| !id.is_null());
    if is_answer {
        return Ok(Response::from_parts(parts, Body::from(body)));
    }
    let said = message["error"]["message"].as_str().map(str::to_owned);
    let said = said.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
    let kind = match parts.status {
        // The protocol's library says so of JSON too that is no message.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if !is_json => ApiErrorKind::UnsupportedMediaType,
        _ => ApiErrorKind::BadRequest,
    };
    Err(ApiError::new(
        kind,
        format!("this is not a message of the Model Context Protocol: {said}"),
    ))
}

/// A tool of a simulator as clients are told of it.
fn described(tool: &Tool) -> ToolDescription {
    describe(tool.name, tool.description, tool.effect, tool.arguments)
}

fn describe(
    name: &'static str,
    description: &'static str,
    effect: Effect,
    arguments: &[Argument],
) -> ToolDescription {
    let input_schema = match input_schema(arguments) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    ToolDescription {
        name,
        description,
        input_schema,
        is_read_only: effect == Effect::Reads,
        is_destructive: effect == Effect::Changes,
    }
}
