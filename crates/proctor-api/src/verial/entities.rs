//! `/datasets/{id}/entities`: what tasks are about.

use proctor_core::id::kinds::{DatasetId, EntityId, EntityKind};
use proctor_store::entities::{EntityDraft, EntityRecord};
use serde_json::{Map, Value};

use super::{datasets, prelude::*};

/// Something that tasks are about.
#[derive(Serialize, ToSchema)]
pub(crate) struct EntityView {
    #[schema(value_type = String, example = "ent_01K0000000000000000000000A")]
    id: EntityId,
    /// Where it is kept.
    #[schema(value_type = String, example = "ds_01K0000000000000000000000A")]
    dataset_id: DatasetId,
    /// What it is, in the author's words.
    kind: String,
    /// What templates call it; unique within its data set.
    key: String,
    /// Its values.
    #[schema(value_type = Object)]
    data: Value,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl EntityView {
    pub(super) fn of(entity: EntityRecord) -> Self {
        Self {
            id: entity.id,
            dataset_id: entity.content.dataset,
            kind: entity.content.kind,
            key: entity.content.key,
            data: entity.content.data,
            created_at: entity.created_at,
            updated_at: entity.updated_at,
        }
    }
}

// Lengths in characters.
const KIND: usize = 100;
const KEY: usize = 200;

/// What a new entity is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewEntityBody {
    /// What it is, in your words: a patient, a member, an order.
    #[schema(value_type = String, required, min_length = 1, max_length = 100)]
    kind: Option<String>,
    /// What templates call it; unique within its data set.
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    key: Option<String>,
    /// Its values.
    #[schema(value_type = Object, required)]
    data: Option<Map<String, Value>>,
}

impl NewEntityBody {
    fn into_draft(self, dataset: DatasetId) -> Result<EntityDraft, ApiError> {
        let mut checks = Checks::default();
        let draft = EntityDraft {
            dataset,
            kind: checks.text("kind", self.kind, 1..=KIND),
            key: checks.text("key", self.key, 1..=KEY),
            data: Value::Object(checks.required("data", self.data).unwrap_or_default()),
        };
        checks.document("data", &draft.data);
        checks.finish()?;
        Ok(draft)
    }
}

/// What is to change; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct EntityChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 100)]
    kind: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    key: Option<Option<String>>,
    /// Replaces all values.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Object)]
    data: Option<Option<Map<String, Value>>>,
}

impl EntityChanges {
    fn apply(self, old: &EntityDraft) -> Result<EntityDraft, ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(kind) = checks.replaced_text("kind", self.kind, 1..=KIND) {
            draft.kind = kind;
        }
        if let Some(key) = checks.replaced_text("key", self.key, 1..=KEY) {
            draft.key = key;
        }
        let data = self.data.map(|data| data.map(Value::Object));
        draft.data = checks.replaced("data", data, draft.data);
        checks.document("data", &draft.data);
        checks.finish()?;
        Ok(draft)
    }
}

/// The caller's entity of this id, in whatever data set.
pub(super) async fn find(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: EntityId,
) -> Result<EntityRecord, ApiError> {
    found(id, state.store().entity(caller.id(), id).await?)
}

/// The caller's entity of this id in this data set.
async fn find_in(
    state: &ApiState,
    caller: &OrganizationCaller,
    dataset: DatasetId,
    id: EntityId,
) -> Result<EntityRecord, ApiError> {
    let dataset = datasets::find(state, caller, dataset).await?;
    let entity = find(state, caller, id).await?;
    if entity.content.dataset == dataset.id {
        Ok(entity)
    } else {
        Err(not_found(id))
    }
}

/// Lists the entities of a data set.
#[utoipa::path(
    get,
    path = "/datasets/{id}/entities",
    tag = "Verial: datasets",
    params(("id" = String, Path, description = "The data set's id"), VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The entities, newest first", body = VerialList<EntityView>),
    ),
)]
pub(crate) async fn list_entities(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(dataset): Path<DatasetId>,
    page: VerialPage<EntityKind>,
) -> Result<Json<VerialList<EntityView>>, ApiError> {
    let dataset = datasets::find(&state, &caller, dataset).await?;
    let entities = state
        .store()
        .entities(caller.id(), dataset.id, page.0)
        .await?;
    Ok(page.answer(entities, |one| one.id, EntityView::of))
}

/// Makes an entity.
#[utoipa::path(
    post,
    path = "/datasets/{id}/entities",
    tag = "Verial: datasets",
    params(("id" = String, Path, description = "The data set's id")),
    request_body = NewEntityBody,
    security(("organization_key" = [])),
    responses(
        (status = 201, description = "The entity", body = EntityView),
        (status = 409, description = "The data set has an entity with this key"),
    ),
)]
pub(crate) async fn create_entity(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(dataset): Path<DatasetId>,
    Json(body): Json<NewEntityBody>,
) -> Result<(StatusCode, Json<EntityView>), ApiError> {
    let dataset = datasets::find(&state, &caller, dataset).await?;
    let draft = body.into_draft(dataset.id)?;
    let entity = state.store().create_entity(caller.id(), draft).await?;
    Ok((StatusCode::CREATED, Json(EntityView::of(entity))))
}

/// Shows an entity.
#[utoipa::path(
    get,
    path = "/datasets/{id}/entities/{entity_id}",
    tag = "Verial: datasets",
    params(
        ("id" = String, Path, description = "The data set's id"),
        ("entity_id" = String, Path, description = "The entity's id"),
    ),
    security(("organization_key" = [])),
    responses((status = 200, description = "The entity", body = EntityView)),
)]
pub(crate) async fn get_entity(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((dataset, id)): Path<(DatasetId, EntityId)>,
) -> Result<Json<EntityView>, ApiError> {
    let entity = find_in(&state, &caller, dataset, id).await?;
    Ok(Json(EntityView::of(entity)))
}

/// Changes an entity.
///
/// Fields that are absent stay as they are. Published versions keep what they froze.
#[utoipa::path(
    patch,
    path = "/datasets/{id}/entities/{entity_id}",
    tag = "Verial: datasets",
    params(
        ("id" = String, Path, description = "The data set's id"),
        ("entity_id" = String, Path, description = "The entity's id"),
    ),
    request_body = EntityChanges,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The entity as it is now", body = EntityView),
        (status = 409, description = "The data set has an entity with this key"),
    ),
)]
pub(crate) async fn update_entity(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((dataset, id)): Path<(DatasetId, EntityId)>,
    Json(changes): Json<EntityChanges>,
) -> Result<Json<EntityView>, ApiError> {
    let entity = find_in(&state, &caller, dataset, id).await?;
    let draft = changes.apply(&entity.content)?;
    let entity = state.store().update_entity(&entity, draft).await?;
    Ok(Json(EntityView::of(entity)))
}

/// Removes an entity.
#[utoipa::path(
    delete,
    path = "/datasets/{id}/entities/{entity_id}",
    tag = "Verial: datasets",
    params(
        ("id" = String, Path, description = "The data set's id"),
        ("entity_id" = String, Path, description = "The entity's id"),
    ),
    security(("organization_key" = [])),
    responses(
        (status = 204, description = "The entity is gone"),
        (status = 409, description = "A task or a criterion is about it"),
    ),
)]
pub(crate) async fn delete_entity(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((dataset, id)): Path<(DatasetId, EntityId)>,
) -> Result<StatusCode, ApiError> {
    find_in(&state, &caller, dataset, id).await?;
    removed(id, state.store().delete_entity(caller.id(), id).await?)
}
