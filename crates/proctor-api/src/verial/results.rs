//! `/benchmark-runs/{id}/results`: our own numbers of a run. Run tokens and Solver keys do not reach them, as they reach none of the
//! internal routes: what they may know is at `/v1/benchmark-runs/{id}`.

use axum::extract::State;
use proctor_core::id::{Dialect, kinds::RunId};

use super::internal_runs::find;
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    results::ResultsView,
    state::ApiState,
};

/// Shows what came of a run by our own rule: what its agent ended itself counts 0, what says nothing about the agent is left out and
/// counted.
#[utoipa::path(
    get,
    path = "/benchmark-runs/{id}/results",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The run's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What came of its agent", body = ResultsView)),
)]
pub(crate) async fn get_benchmark_run_results(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
) -> Result<Json<ResultsView>, ApiError> {
    find(&state, &caller, id).await?;
    let results = state.engine().run_results(caller.id(), id).await?;
    Ok(Json(ResultsView::of(results, Dialect::Verial)))
}
