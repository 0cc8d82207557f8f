//! `/playgrounds` and `/sandboxes`: worlds as their organization sees them.

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    environment::{Dataset, SimulatorType},
    id::{
        Dialect,
        kinds::{
            DatasetId, EnvironmentId, PlaygroundId, PlaygroundKind, SandboxId, SandboxKind,
            SimulatorId, TaskRunId,
        },
    },
    time::Timestamp,
};
use proctor_store::playgrounds::{Place, Playground, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::page::{VerialList, VerialPage, VerialPageQuery};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

/// A playground.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlaygroundView {
    #[schema(value_type = String)]
    id: PlaygroundId,
    /// Null for the playground of a single simulator.
    #[schema(value_type = Option<String>)]
    environment_id: Option<EnvironmentId>,
    /// The task run whose world it is, if it is one.
    #[schema(value_type = Option<String>)]
    task_run_id: Option<TaskRunId>,
    /// `ready` or `torn_down`.
    status: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    torn_down_at: Option<Timestamp>,
}

impl PlaygroundView {
    fn of(playground: &Playground) -> Self {
        Self {
            id: playground.id,
            environment_id: playground.environment,
            task_run_id: playground.task_run,
            status: status(playground.ended_at),
            created_at: playground.created_at,
            torn_down_at: playground.ended_at,
        }
    }
}

fn status(ended_at: Option<Timestamp>) -> &'static str {
    match ended_at {
        None => "ready",
        Some(_) => "torn_down",
    }
}

/// A sandbox with what is needed to use it.
#[derive(Serialize, ToSchema)]
pub(crate) struct SandboxView {
    #[schema(value_type = String)]
    id: SandboxId,
    #[schema(value_type = String)]
    simulator_id: SimulatorId,
    /// Null for the door of a run, which leads to its task run at work.
    #[schema(value_type = Option<String>)]
    playground_id: Option<PlaygroundId>,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    kind: SimulatorType,
    name: String,
    status: &'static str,
    credentials: Value,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

async fn show(state: &ApiState, sandbox: Sandbox) -> Result<SandboxView, ApiError> {
    let credentials = state.engine().sandbox_credentials(&sandbox).await?;
    let (playground_id, ended_at) = match sandbox.place {
        Place::Playground(id) => {
            let playground = state.engine().playground(id).await?;
            (Some(id), playground.ended_at)
        }
        Place::Run(run) => {
            let run = state.store().run(run).await?;
            (None, run.and_then(|run| run.value.ended_at()))
        }
    };
    Ok(SandboxView {
        id: sandbox.id,
        simulator_id: sandbox.simulator,
        playground_id,
        kind: sandbox.kind,
        name: sandbox.name,
        status: status(ended_at),
        credentials,
        created_at: sandbox.created_at,
    })
}

pub(super) async fn find_playground(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: PlaygroundId,
) -> Result<Playground, ApiError> {
    let playground = state.store().playground(id).await?;
    playground
        .filter(|playground| playground.organization == caller.id())
        .ok_or_else(|| ApiError::not_found(format!("no playground '{id}'")))
}

pub(super) async fn find_sandbox(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: SandboxId,
) -> Result<Sandbox, ApiError> {
    let sandbox = state.store().sandbox(id).await?;
    sandbox
        .filter(|sandbox| sandbox.organization == caller.id())
        .ok_or_else(|| ApiError::not_found(format!("no sandbox '{id}'")))
}

/// Lists the organization's playgrounds.
#[utoipa::path(
    get,
    path = "/playgrounds",
    tag = "Verial: playgrounds",
    params(VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "The playgrounds, newest first",
            body = VerialList<PlaygroundView>,
        ),
    ),
)]
pub(crate) async fn list_playgrounds(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<PlaygroundKind>,
) -> Result<Json<VerialList<PlaygroundView>>, ApiError> {
    let playgrounds = state.store().playgrounds(caller.id(), page.0).await?;
    Ok(page.answer(playgrounds, |one| one.id, |one| PlaygroundView::of(&one)))
}

/// From which environment.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewPlaygroundBody {
    #[schema(value_type = String, required)]
    environment_id: Option<EnvironmentId>,
}

/// Makes a playground from an environment as it stands.
#[utoipa::path(
    post,
    path = "/playgrounds",
    tag = "Verial: playgrounds",
    request_body = NewPlaygroundBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The playground", body = PlaygroundView)),
)]
pub(crate) async fn create_playground(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewPlaygroundBody>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let environment = body
        .environment_id
        .ok_or_else(|| ApiError::field("environment_id", "is required"))?;
    let (playground, sandboxes) = state
        .engine()
        .create_playground(caller.id(), environment)
        .await?;
    Ok((
        StatusCode::CREATED,
        Json(with_sandboxes(&state, &playground, sandboxes).await?),
    ))
}

async fn with_sandboxes(
    state: &ApiState,
    playground: &Playground,
    sandboxes: Vec<Sandbox>,
) -> Result<Value, ApiError> {
    let mut views = Vec::new();
    for sandbox in sandboxes {
        views.push(show(state, sandbox).await?);
    }
    let mut whole =
        serde_json::to_value(PlaygroundView::of(playground)).map_err(ApiError::internal)?;
    whole["sandboxes"] = serde_json::to_value(views).map_err(ApiError::internal)?;
    Ok(whole)
}

/// Shows a playground with its sandboxes.
#[utoipa::path(
    get,
    path = "/playgrounds/{id}",
    tag = "Verial: playgrounds",
    params(("id" = String, Path, description = "The playground's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The playground", body = PlaygroundView)),
)]
pub(crate) async fn get_playground(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<PlaygroundId>,
) -> Result<Json<Value>, ApiError> {
    let playground = find_playground(&state, &caller, id).await?;
    let sandboxes = state.store().sandboxes_of(Place::Playground(id)).await?;
    with_sandboxes(&state, &playground, sandboxes)
        .await
        .map(Json)
}

/// Freezes a playground for good; its events can still be read.
#[utoipa::path(
    post,
    path = "/playgrounds/{id}/teardown",
    tag = "Verial: playgrounds",
    params(("id" = String, Path, description = "The playground's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The playground as it is now", body = PlaygroundView)),
)]
pub(crate) async fn tear_down_playground(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<PlaygroundId>,
) -> Result<Json<PlaygroundView>, ApiError> {
    let playground = find_playground(&state, &caller, id).await?;
    state.engine().tear_down(&playground).await?;
    let playground = find_playground(&state, &caller, id).await?;
    Ok(Json(PlaygroundView::of(&playground)))
}

/// Lists the organization's sandboxes.
#[utoipa::path(
    get,
    path = "/sandboxes",
    tag = "Verial: playgrounds",
    params(VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The sandboxes, newest first", body = VerialList<SandboxView>),
    ),
)]
pub(crate) async fn list_sandboxes(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    page: VerialPage<SandboxKind>,
) -> Result<Json<VerialList<SandboxView>>, ApiError> {
    let sandboxes = state.store().sandboxes(caller.id(), page.0).await?;
    let mut views = Vec::new();
    for sandbox in &sandboxes.items {
        views.push(show(&state, sandbox.clone()).await?);
    }
    let mut views = views.into_iter();
    Ok(page.answer(
        sandboxes,
        |one| one.id,
        |_| views.next().expect("there is one view for each sandbox"),
    ))
}

/// Of which simulator.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewSandboxBody {
    #[schema(value_type = String, required)]
    simulator_id: Option<SimulatorId>,
}

/// Makes a sandbox of one simulator, in a playground of its own.
#[utoipa::path(
    post,
    path = "/sandboxes",
    tag = "Verial: playgrounds",
    request_body = NewSandboxBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The sandbox", body = SandboxView)),
)]
pub(crate) async fn create_sandbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewSandboxBody>,
) -> Result<(StatusCode, Json<SandboxView>), ApiError> {
    let simulator = body
        .simulator_id
        .ok_or_else(|| ApiError::field("simulator_id", "is required"))?;
    let sandbox = state
        .engine()
        .create_sandbox(caller.id(), simulator)
        .await?;
    Ok((StatusCode::CREATED, Json(show(&state, sandbox).await?)))
}

/// Shows a sandbox.
#[utoipa::path(
    get,
    path = "/sandboxes/{id}",
    tag = "Verial: playgrounds",
    params(("id" = String, Path, description = "The sandbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The sandbox", body = SandboxView)),
)]
pub(crate) async fn get_sandbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SandboxId>,
) -> Result<Json<SandboxView>, ApiError> {
    let sandbox = find_sandbox(&state, &caller, id).await?;
    show(&state, sandbox).await.map(Json)
}

/// Freezes the playground of a sandbox for good.
#[utoipa::path(
    post,
    path = "/sandboxes/{id}/teardown",
    tag = "Verial: playgrounds",
    params(("id" = String, Path, description = "The sandbox's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The sandbox as it is now", body = SandboxView)),
)]
pub(crate) async fn tear_down_sandbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SandboxId>,
) -> Result<Json<SandboxView>, ApiError> {
    let sandbox = find_sandbox(&state, &caller, id).await?;
    let Place::Playground(playground) = sandbox.place else {
        return Err(ApiError::new(
            crate::error::ApiErrorKind::IllegalState,
            "this sandbox belongs to a benchmark run; complete or cancel that instead",
        ));
    };
    let playground = state.engine().playground(playground).await?;
    state.engine().tear_down(&playground).await?;
    show(&state, sandbox).await.map(Json)
}

/// Puts a data set into a sandbox.
#[utoipa::path(
    post,
    path = "/sandboxes/{id}/datasets/{dataset_id}",
    tag = "Verial: playgrounds",
    params(
        ("id" = String, Path, description = "The sandbox's id"),
        ("dataset_id" = String, Path, description = "The data set's id"),
    ),
    security(("organization_key" = [])),
    responses((status = 204, description = "Its data is there")),
)]
pub(crate) async fn attach_dataset(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((id, dataset)): Path<(SandboxId, DatasetId)>,
) -> Result<StatusCode, ApiError> {
    change_data(&state, &caller, id, dataset, true).await
}

/// Takes out of a sandbox what a data set brought.
#[utoipa::path(
    delete,
    path = "/sandboxes/{id}/datasets/{dataset_id}",
    tag = "Verial: playgrounds",
    params(
        ("id" = String, Path, description = "The sandbox's id"),
        ("dataset_id" = String, Path, description = "The data set's id"),
    ),
    security(("organization_key" = [])),
    responses((status = 204, description = "Its data is gone")),
)]
pub(crate) async fn detach_dataset(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((id, dataset)): Path<(SandboxId, DatasetId)>,
) -> Result<StatusCode, ApiError> {
    change_data(&state, &caller, id, dataset, false).await
}

async fn change_data(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: SandboxId,
    dataset: DatasetId,
    attached: bool,
) -> Result<StatusCode, ApiError> {
    let sandbox = find_sandbox(state, caller, id).await?;
    let dataset: Dataset = state
        .engine()
        .dataset(caller.id(), dataset)
        .await?
        .ok_or_else(|| {
            ApiError::not_found(format!("no dataset '{}'", dataset.wire(Dialect::Verial)))
        })?;
    state.engine().attach(&sandbox, &dataset, attached).await?;
    Ok(StatusCode::NO_CONTENT)
}
