//! `/benchmarks/{id}/trend`: scores over time, as numbers and as a drawing.

mod drawing;

use std::collections::BTreeMap;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use proctor_core::{
    id::kinds::{BenchmarkId, RunId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::drawing::{Point, drawn};
use super::page::Parameters;
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    results::SummaryView,
    state::ApiState,
};

const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");

/// Whose scores are shown.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TrendQuery {
    /// Only runs of this agent, in its taker's own words.
    agent: Option<String>,
}

/// A completed run in a trend.
#[derive(Serialize, ToSchema)]
pub(crate) struct TrendPoint {
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    agent: Option<String>,
    /// The version of the benchmark; null for a draft. Scores of two versions are not of one exam.
    version: Option<u32>,
    /// The taker's own labels, such as the version of the agent.
    labels: BTreeMap<String, String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    /// Null for runs of before there were such numbers.
    summary: Option<SummaryView>,
}

/// Scores over time, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct TrendView {
    data: Vec<TrendPoint>,
}

/// Shows the organization's scores of a benchmark over time.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/trend",
    tag = "Proctor: comparisons",
    params(("id" = String, Path, description = "The benchmark's id"), TrendQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The 500 newest completed runs, oldest first", body = TrendView)),
)]
pub(crate) async fn get_trend(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Parameters(query): Parameters<TrendQuery>,
) -> Result<Json<TrendView>, ApiError> {
    let runs = state.engine().trend(caller.id(), id, query.agent).await?;
    let data = runs.into_iter().map(|run| TrendPoint {
        benchmark_run_id: run.id,
        version: run.pinned.version,
        completed_at: run.ended_at(),
        summary: run.own_numbers().map(SummaryView::of),
        agent: run.agent,
        labels: run.particulars.metadata,
    });
    Ok(Json(TrendView {
        data: data.collect(),
    }))
}

/// Draws the organization's scores of a benchmark over time, a line for each agent.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/trend.svg",
    tag = "Proctor: comparisons",
    params(("id" = String, Path, description = "The benchmark's id"), TrendQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The same as a drawing", body = String, content_type = "image/svg+xml")),
)]
pub(crate) async fn draw_trend(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    Parameters(query): Parameters<TrendQuery>,
) -> Result<Response, ApiError> {
    let runs = state.engine().trend(caller.id(), id, query.agent).await?;
    let points: Vec<Point> = runs.iter().filter_map(Point::of).collect();
    Ok(([(header::CONTENT_TYPE, SVG)], drawn(&points)).into_response())
}
