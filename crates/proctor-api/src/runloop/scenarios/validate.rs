//! `/v1/scenarios/{id}/validate`: proves a scenario with its reference. An extension of ours.

use axum::extract::State;
use proctor_core::id::kinds::TaskId;
use proctor_engine::scenarios::{NewValidation, Trial};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    runloop::{
        ids::wire,
        profile::{RunProfileBody, particulars},
        runs::ScenarioRunView,
    },
    state::ApiState,
};

/// Where scenarios are proved; it takes as long as their scorers.
pub(crate) const PATH: &str = "/v1/scenarios/{id}/validate";

/// How a scenario is to be proved.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ScenarioValidateParameters {
    #[serde(rename = "runProfile")]
    run_profile: Option<RunProfileBody>,
}

/// What was found out about a scenario.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScenarioValidationView {
    scenario_id: String,
    /// FORWARD: the reference must solve it. REVERSE: it is solved, and taking the reference back must break it.
    #[schema(value_type = String, example = "FORWARD")]
    validation_type: &'static str,
    valid: bool,
    /// Why, in a sentence.
    verdict: String,
    /// A devbox that nobody touched.
    untouched: TrialView,
    /// A devbox that the reference was applied to, or taken from.
    reference: TrialView,
}

/// A devbox that was scored to prove something.
#[derive(Serialize, ToSchema)]
pub(crate) struct TrialView {
    /// Whether every scorer gave everything.
    solved: bool,
    /// How applying the reference ended; 0 is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    /// What applying the reference printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    run: ScenarioRunView,
}

impl TrialView {
    fn of(trial: Trial) -> Self {
        Self {
            solved: trial.is_solved(),
            exit_status: trial.applied.as_ref().map(|end| end.status),
            output: trial.applied.map(|end| end.output),
            run: ScenarioRunView::of(trial.run),
        }
    }
}

/// Proves a scenario with its reference.
///
/// Two devboxes are scored: one that nobody touched, and one that `reference_output` was applied to.
#[utoipa::path(
    post,
    path = "/v1/scenarios/{id}/validate",
    tag = "Runloop: scenarios",
    params(("id" = String, Path, description = "The scenario's id")),
    request_body = ScenarioValidateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "What was found out", body = ScenarioValidationView)),
)]
pub(crate) async fn validate_scenario(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskId>,
    Json(body): Json<ScenarioValidateParameters>,
) -> Result<Json<ScenarioValidationView>, ApiError> {
    let new = NewValidation {
        organization: caller.id(),
        scenario: id,
        profile: particulars(None, None, body.run_profile)?.profile,
    };
    let validated = state.engine().validate_scenario(new).await?;
    Ok(Json(ScenarioValidationView {
        scenario_id: wire(id),
        validation_type: validated.validation.as_str(),
        valid: validated.holds,
        verdict: validated.verdict,
        untouched: TrialView::of(validated.untouched),
        reference: TrialView::of(validated.changed),
    }))
}
