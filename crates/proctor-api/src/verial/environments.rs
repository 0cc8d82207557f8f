//! `/environments`: simulators that belong together.

use proctor_core::id::kinds::{EnvironmentId, EnvironmentKind, SimulatorId};
use proctor_store::environments::{EnvironmentDraft, EnvironmentRecord};

use super::{prelude::*, simulators};

/// An environment.
#[derive(Serialize, ToSchema)]
pub(crate) struct EnvironmentView {
    #[schema(value_type = String, example = "env_01K0000000000000000000000A")]
    id: EnvironmentId,
    /// What people call it.
    name: String,
    /// What it is about.
    description: Option<String>,
    /// Its simulators, in order. Where one of a type is meant, the first is.
    #[schema(value_type = Vec<String>)]
    simulator_ids: Vec<SimulatorId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl EnvironmentView {
    fn of(environment: EnvironmentRecord, simulator_ids: Option<Vec<SimulatorId>>) -> Self {
        Self {
            id: environment.id,
            name: environment.content.name,
            description: environment.content.description,
            simulator_ids: simulator_ids.unwrap_or_default(),
            created_at: environment.created_at,
            updated_at: environment.updated_at,
        }
    }
}

// Lengths in characters.
const NAME: usize = 200;
const DESCRIPTION: usize = 1000;

/// What a new environment is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewEnvironmentBody {
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    name: Option<String>,
    #[schema(max_length = 1000)]
    description: Option<String>,
}

impl NewEnvironmentBody {
    fn into_draft(self) -> Result<EnvironmentDraft, ApiError> {
        let mut checks = Checks::default();
        let draft = EnvironmentDraft {
            name: checks.text("name", self.name, 1..=NAME),
            description: checks.optional_text("description", self.description, 0..=DESCRIPTION),
        };
        checks.finish()?;
        Ok(draft)
    }
}

/// What is to change; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct EnvironmentChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    name: Option<Option<String>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 1000)]
    description: Option<Option<String>>,
}

impl EnvironmentChanges {
    fn apply(self, old: &EnvironmentDraft) -> Result<EnvironmentDraft, ApiError> {
        let mut checks = Checks::default();
        let mut draft = old.clone();
        if let Some(name) = checks.replaced_text("name", self.name, 1..=NAME) {
            draft.name = name;
        }
        if let Some(description) = self.description {
            draft.description = checks.optional_text("description", description, 0..=DESCRIPTION);
        }
        checks.finish()?;
        Ok(draft)
    }
}

/// The environment with its simulators.
async fn view(
    state: &ApiState,
    environment: EnvironmentRecord,
) -> Result<Json<EnvironmentView>, ApiError> {
    let mut of = state.store().simulators_of(&[environment.id]).await?;
    let simulators = of.remove(&environment.id);
    Ok(Json(EnvironmentView::of(environment, simulators)))
}

authored! {
    EnvironmentId at "/environments/{id}", "Verial: environments", "The environment's id";
    store(environment -> EnvironmentRecord, delete_environment);
    /// Shows an environment.
    get get_environment -> EnvironmentView "The environment", shown by view;
    /// Removes an environment, not its simulators.
    delete delete_environment "The environment is gone", 409 "A benchmark takes place in it";
}

authored_list! {
    /// Lists the organization's environments.
    list_environments at "/environments", "Verial: environments" -> EnvironmentView "The environments, newest first";
    store(environments by EnvironmentKind, with simulators_of), each as of;
}

/// Makes an environment without simulators.
#[utoipa::path(
    post,
    path = "/environments",
    tag = "Verial: environments",
    request_body = NewEnvironmentBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The environment", body = EnvironmentView)),
)]
pub(crate) async fn create_environment(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewEnvironmentBody>,
) -> Result<(StatusCode, Json<EnvironmentView>), ApiError> {
    let draft = body.into_draft()?;
    let environment = state.store().create_environment(caller.id(), draft).await?;
    Ok((
        StatusCode::CREATED,
        Json(EnvironmentView::of(environment, None)),
    ))
}

/// Changes an environment.
///
/// Fields that are absent stay as they are. Published versions keep what they froze.
#[utoipa::path(
    patch,
    path = "/environments/{id}",
    tag = "Verial: environments",
    params(("id" = String, Path, description = "The environment's id")),
    request_body = EnvironmentChanges,
    security(("organization_key" = [])),
    responses((status = 200, description = "The environment as it is now", body = EnvironmentView)),
)]
pub(crate) async fn update_environment(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<EnvironmentId>,
    Json(changes): Json<EnvironmentChanges>,
) -> Result<Json<EnvironmentView>, ApiError> {
    let environment = find(&state, &caller, id).await?;
    let draft = changes.apply(&environment.content)?;
    let environment = state
        .store()
        .update_environment(&environment, draft)
        .await?;
    view(&state, environment).await
}

/// Puts a simulator behind those that the environment has, unless it has it.
#[utoipa::path(
    post,
    path = "/environments/{id}/simulators/{simulator_id}",
    tag = "Verial: environments",
    params(
        ("id" = String, Path, description = "The environment's id"),
        ("simulator_id" = String, Path, description = "The simulator's id"),
    ),
    security(("organization_key" = [])),
    responses((status = 200, description = "The environment as it is now", body = EnvironmentView)),
)]
pub(crate) async fn add_simulator(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((id, simulator)): Path<(EnvironmentId, SimulatorId)>,
) -> Result<Json<EnvironmentView>, ApiError> {
    let environment = find(&state, &caller, id).await?;
    let simulator = simulators::find(&state, &caller, simulator).await?;
    state
        .store()
        .add_simulator(&environment, &simulator)
        .await?;
    view(&state, environment).await
}

/// Takes a simulator out of the environment.
#[utoipa::path(
    delete,
    path = "/environments/{id}/simulators/{simulator_id}",
    tag = "Verial: environments",
    params(
        ("id" = String, Path, description = "The environment's id"),
        ("simulator_id" = String, Path, description = "The simulator's id"),
    ),
    security(("organization_key" = [])),
    responses((status = 204, description = "The environment no longer has the simulator")),
)]
pub(crate) async fn remove_simulator(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path((id, simulator)): Path<(EnvironmentId, SimulatorId)>,
) -> Result<StatusCode, ApiError> {
    let environment = find(&state, &caller, id).await?;
    let was_there = state
        .store()
        .remove_simulator(&environment, simulator)
        .await?;
    removed(simulator, was_there)
}
