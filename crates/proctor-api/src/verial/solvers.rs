//! `/solvers`: the parties that take benchmarks.

use proctor_core::id::kinds::{SolverId, SolverKind};
use proctor_store::solvers::{Solver, SolverProfile};

use super::prelude::*;

/// A Solver.
#[derive(Serialize, ToSchema)]
pub(crate) struct SolverView {
    #[schema(value_type = String, example = "slv_01K0000000000000000000000A")]
    id: SolverId,
    /// The name on leaderboards; unique within the organization.
    alias: String,
    /// Who it really is.
    real_name: String,
    /// What its agent is.
    agent_description: String,
    /// Whom to write to.
    contact_email: String,
    /// Which version of its agent.
    agent_version: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl SolverView {
    fn of(solver: Solver) -> Self {
        let profile = solver.profile;
        Self {
            id: solver.id,
            alias: profile.alias,
            real_name: profile.real_name,
            agent_description: profile.agent_description,
            contact_email: profile.contact_email,
            agent_version: profile.agent_version,
            created_at: solver.created_at,
            updated_at: solver.updated_at,
        }
    }
}

// Lengths in characters.
const ALIAS: usize = 100;
const REAL_NAME: usize = 200;
const AGENT_DESCRIPTION: usize = 2000;
const CONTACT_EMAIL: usize = 254;
const AGENT_VERSION: usize = 100;

/// What a new Solver says of itself.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewSolverBody {
    #[schema(value_type = String, required, min_length = 1, max_length = 100)]
    alias: Option<String>,
    #[schema(value_type = String, required, min_length = 1, max_length = 200)]
    real_name: Option<String>,
    #[schema(value_type = String, required, min_length = 1, max_length = 2000)]
    agent_description: Option<String>,
    /// An e-mail address.
    #[schema(value_type = String, required, format = Email, max_length = 254)]
    contact_email: Option<String>,
    #[schema(min_length = 1, max_length = 100)]
    agent_version: Option<String>,
}

impl NewSolverBody {
    fn into_profile(self) -> Result<SolverProfile, ApiError> {
        let mut checks = Checks::default();
        let profile = SolverProfile {
            alias: checks.text("alias", self.alias, 1..=ALIAS),
            real_name: checks.text("real_name", self.real_name, 1..=REAL_NAME),
            agent_description: checks.text(
                "agent_description",
                self.agent_description,
                1..=AGENT_DESCRIPTION,
            ),
            contact_email: checks.text("contact_email", self.contact_email, 1..=CONTACT_EMAIL),
            agent_version: checks.optional_text(
                "agent_version",
                self.agent_version,
                1..=AGENT_VERSION,
            ),
        };
        checks.email("contact_email", &profile.contact_email);
        checks.finish()?;
        Ok(profile)
    }
}

/// What is to change; what is absent stays.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SolverChanges {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 100)]
    alias: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    real_name: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 2000)]
    agent_description: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, format = Email, max_length = 254)]
    contact_email: Option<Option<String>>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100)]
    agent_version: Option<Option<String>>,
}

impl SolverChanges {
    fn apply(self, old: &SolverProfile) -> Result<SolverProfile, ApiError> {
        let mut checks = Checks::default();
        let mut replaced = |field, change, old: &String, longest| {
            checks
                .replaced_text(field, change, 1..=longest)
                .unwrap_or_else(|| old.clone())
        };
        let mut profile = SolverProfile {
            alias: replaced("alias", self.alias, &old.alias, ALIAS),
            real_name: replaced("real_name", self.real_name, &old.real_name, REAL_NAME),
            agent_description: replaced(
                "agent_description",
                self.agent_description,
                &old.agent_description,
                AGENT_DESCRIPTION,
            ),
            contact_email: replaced(
                "contact_email",
                self.contact_email,
                &old.contact_email,
                CONTACT_EMAIL,
            ),
            agent_version: old.agent_version.clone(),
        };
        if let Some(version) = self.agent_version {
            profile.agent_version =
                checks.optional_text("agent_version", version, 1..=AGENT_VERSION);
        }
        checks.email("contact_email", &profile.contact_email);
        checks.finish()?;
        Ok(profile)
    }
}

authored! {
    SolverId at "/solvers/{id}", "Verial: Solvers", "The Solver's id";
    store(solver -> Solver, delete_solver);
    /// Shows a Solver.
    get get_solver -> SolverView "The Solver", shown as SolverView::of;
    /// Removes a Solver and revokes its keys.
    delete delete_solver "The Solver is gone";
}

authored_list! {
    /// Lists the organization's Solvers.
    list_solvers at "/solvers", "Verial: Solvers" -> SolverView "The Solvers, newest first";
    store(solvers by SolverKind), each as of;
}

/// Makes a Solver.
#[utoipa::path(
    post,
    path = "/solvers",
    tag = "Verial: Solvers",
    request_body = NewSolverBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The Solver", body = SolverView)),
)]
pub(crate) async fn create_solver(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NewSolverBody>,
) -> Result<(StatusCode, Json<SolverView>), ApiError> {
    let profile = body.into_profile()?;
    let solver = state.store().create_solver(caller.id(), profile).await?;
    Ok((StatusCode::CREATED, Json(SolverView::of(solver))))
}

/// Changes a Solver.
///
/// Fields that are absent stay as they are.
#[utoipa::path(
    patch,
    path = "/solvers/{id}",
    tag = "Verial: Solvers",
    params(("id" = String, Path, description = "The Solver's id")),
    request_body = SolverChanges,
    security(("organization_key" = [])),
    responses((status = 200, description = "The Solver as it is now", body = SolverView)),
)]
pub(crate) async fn update_solver(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SolverId>,
    Json(changes): Json<SolverChanges>,
) -> Result<Json<SolverView>, ApiError> {
    let solver = find(&state, &caller, id).await?;
    let profile = changes.apply(&solver.profile)?;
    let solver = state
        .store()
        .update_solver(caller.id(), &solver, profile)
        .await?;
    Ok(Json(SolverView::of(solver)))
}
