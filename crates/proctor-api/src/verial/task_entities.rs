//! `/tasks/{id}/entities`: what a task is about.

use axum::extract::State;
use http::StatusCode;
use proctor_core::id::kinds::{EntityId, EntityKind, TaskId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    entities::{self, EntityView},
    found::removed,
    page::{VerialList, VerialPage, VerialPageQuery},
    tasks,
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

/// Which entity.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TaskEntityBody {
    #[schema(value_type = String, example = "ent_01K0000000000000000000000A")]
    entity_id: EntityId,
}

/// Lists the entities that a task is about.
#[utoipa::path(
    get,
    path = "/tasks/{id}/entities",
    tag = "Verial: tasks",
    params(("id" = String, Path, description = "The task's id"), VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The entities, newest first", body = VerialList<EntityView>),
    ),
)]
pub(crate) async fn list_task_entities(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(task): Path<TaskId>,
    page: VerialPage<EntityKind>,
) -> Result<Json<VerialList<EntityView>>, ApiError> {
    let task = tasks::find(&state, &caller, task).await?;
    let entities = state
        .store()
        .task_entities(caller.id(), task.id, page.0)
        .await?;
    Ok(page.answer(entities, |one| one.id, EntityView::of))
}

/// Makes a task be about an entity, unless it is.
#[utoipa::path(
    post,
    path = "/tasks/{id}/entities",
    tag = "Verial: tasks",
    params(("id" = String, Path, description = "The task's id")),
    request_body = TaskEntityBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The entity", body = EntityView)),
)]
pub(crate) async fn add_task_entity(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(task): Path<TaskId>,
    Json(body): Json<TaskEntityBody>,
) -> Result<(StatusCode, Json<EntityView>), ApiError> {
    let task = tasks::find(&state, &caller, task).await?;
    let entity = entities::find(&state, &caller, body.entity_id).await?;
    state.store().add_task_entity(&task, &entity).await?;
    Ok((StatusCode::CREATED, Json(EntityView::of(entity))))
}

/// Makes a task no longer be about an entity.
#[utoipa::path(
    delete,
    path = "/tasks/{id}/entities/{entity_id}",
    tag = "Verial: tasks",
    params(
        ("id" = String, Path, description = "The task's id"),
        ("entity_id" = String, Path, description = "The entity's id"),
    ),
    security(("organization_key" = [])),
    responses((status = 204, description = "The task is no longer about the entity")),
)]
pub(crate) async fn remove_task_entity(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((task, entity)): Path<(TaskId, EntityId)>,
) -> Result<StatusCode, ApiError> {
    let task = tasks::find(&state, &caller, task).await?;
    let was_there = state.store().remove_task_entity(&task, entity).await?;
    removed(entity, was_there)
}
