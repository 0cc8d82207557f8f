//! `/v1/agents/{id}/manifest`: how an agent is started. Extensions of ours: the dialect's own bodies have no room for it.

use axum::extract::{Request, State};
use http::header;
use proctor_core::{agent::AgentManifest, id::kinds::AgentId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::not_found;
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path, read_body},
    state::ApiState,
};

/// How an agent is installed, started and watched.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentManifestView {
    /// A script that installs it, run once for each image and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    install: Option<String>,
    /// What a shell in the devbox runs to start it.
    #[schema(example = "my-agent --problem \"$PROCTOR_PROBLEM_FILE\"")]
    command: String,
    /// Environment variables that must hold secrets.
    env: Vec<String>,
    /// Hosts that it reaches besides those of its task.
    hosts: Vec<String>,
    /// The file in the devbox where it leaves its trajectory.
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory: Option<String>,
    /// The file in the devbox where it leaves its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    /// What its output says about why it failed.
    errors: Vec<AgentErrorPatternView>,
}

/// A pattern in the output of an agent, and what it means.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentErrorPatternView {
    regex: String,
    exception_type: String,
}

impl AgentManifestView {
    fn of(manifest: AgentManifest) -> Self {
        let errors = manifest.errors.into_iter();
        Self {
            install: manifest.install,
            command: manifest.command,
            env: manifest.env.into_iter().collect(),
            hosts: manifest.hosts,
            trajectory: manifest.trajectory,
            log: manifest.log,
            errors: errors
                .map(|pattern| AgentErrorPatternView {
                    regex: pattern.regex,
                    exception_type: pattern.exception_type,
                })
                .collect(),
        }
    }
}

/// Reads a manifest as it is sent: TOML as in `proctor-agent.toml`, or the same as JSON.
fn read(content_type: Option<&str>, bytes: &[u8]) -> Result<AgentManifest, ApiError> {
    let is_json = content_type.is_some_and(|kind| kind.to_ascii_lowercase().contains("json"));
    let document: Value = if is_json {
        serde_json::from_slice(bytes)
            .map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}")))?
    } else {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| ApiError::bad_request("the body is not a text in UTF-8"))?;
        toml::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = format!("the body is not TOML: {}", message.trim_end());
            ApiError::bad_request(message)
        })?
    };
    AgentManifest::read(&document).map_err(|problems| ApiError::validation(problems.into_vec()))
}

/// Shows how an agent is started. An extension of ours.
#[utoipa::path(
    get,
    path = "/v1/agents/{id}/manifest",
    tag = "Runloop: agents",
    params(("id" = String, Path, description = "The agent's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The manifest", body = AgentManifestView)),
)]
pub(crate) async fn get_agent_manifest(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<AgentId>,
) -> Result<Json<AgentManifestView>, ApiError> {
    let agent = state.store().agent(caller.id(), id).await?;
    let agent = agent.ok_or_else(|| not_found(id))?;
    let manifest = agent.manifest.ok_or_else(|| {
        ApiError::not_found(format!("the agent '{}' has no manifest", agent.name))
    })?;
    Ok(Json(AgentManifestView::of(manifest)))
}

/// Says how an agent is started, in place of what was said before. An extension of ours.
///
/// The body is a `proctor-agent.toml`, or the same as JSON.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/manifest",
    tag = "Runloop: agents",
    params(("id" = String, Path, description = "The agent's id")),
    request_body(content = String, content_type = "application/toml"),
    security(("organization_key" = [])),
    responses((status = 200, description = "The manifest", body = AgentManifestView)),
)]
pub(crate) async fn set_agent_manifest(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<AgentId>,
    request: Request,
) -> Result<Json<AgentManifestView>, ApiError> {
    let (parts, body) = request.into_parts();
    let bytes = read_body(&parts.headers, body, state.body_limit()).await?;
    let content_type = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let manifest = read(content_type, &bytes)?;
    let store = state.store();
    if !store
        .set_agent_manifest(caller.id(), id, Some(&manifest))
        .await?
    {
        return Err(not_found(id));
    }
    Ok(Json(AgentManifestView::of(manifest)))
}
