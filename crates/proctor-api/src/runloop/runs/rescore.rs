//! `/v1/scenarios/runs/{id}/rescore`: scores again what was scored before. An extension of ours.

use axum::extract::State;
use proctor_core::id::kinds::TaskRunId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::ScoringContractResultView;
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    rubrics,
    runloop::ids::wire,
    state::ApiState,
};

/// Where scenario runs are scored again; it takes as long as their scorers.
pub(crate) const PATH: &str = "/v1/scenarios/runs/{id}/rescore";

/// By which scorers to score again.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ScenarioRunRescoreParameters {
    /// `own` (those that the run was started with) or `draft` (those that the scenario has now).
    #[schema(value_type = String, default = "own")]
    criteria: Option<String>,
}

/// What scoring again found, beside what is on record. The record is as it was.
#[derive(Serialize, ToSchema)]
pub(crate) struct RescoredScenarioRunView {
    scenario_run_id: String,
    /// `own` or `draft`.
    criteria: &'static str,
    /// In which way scorers were run this time: `clone` or `artifacts`.
    scoring_mode: Option<String>,
    /// Whether the time for all scorers was over before the last of them had ended.
    timed_out: bool,
    scoring_contract_result: ScoringContractResultView,
    /// In which way scorers were run for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_scoring_mode: Option<String>,
    /// What is on record; absent for a scenario run whose scorers took too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_scoring_contract_result: Option<ScoringContractResultView>,
}

/// Scores a scenario run again, without touching its record.
///
/// The scorers run in a fresh devbox on the disk as it was when the scenario run was scored; the scenario run's own
/// devbox need not be there any more. 400 if that disk is not kept.
#[utoipa::path(
    post,
    path = "/v1/scenarios/runs/{id}/rescore",
    tag = "Runloop: scenario runs",
    params(("id" = String, Path, description = "The scenario run's id")),
    request_body = ScenarioRunRescoreParameters,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "What was found this time", body = RescoredScenarioRunView),
    ),
)]
pub(crate) async fn rescore_scenario_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(body): Json<ScenarioRunRescoreParameters>,
) -> Result<Json<RescoredScenarioRunView>, ApiError> {
    let by = rubrics::read(body.criteria.as_deref())?;
    let engine = state.engine();
    let rescored = engine.rescore_scenario(caller.id(), id, by).await?;
    let in_box = rescored.again.in_box;
    let original = &rescored.original;
    Ok(Json(RescoredScenarioRunView {
        scenario_run_id: wire(id),
        criteria: rubrics::word(by),
        timed_out: in_box.as_ref().is_some_and(|how| how.timed_out),
        scoring_mode: in_box.map(|how| how.mode),
        scoring_contract_result: ScoringContractResultView::of(
            &rescored.again.card,
            &rescored.functions,
        ),
        original_scoring_mode: original.mode().map(str::to_owned),
        original_scoring_contract_result: original
            .card()
            .map(|card| ScoringContractResultView::of(card, &original.functions)),
    }))
}
