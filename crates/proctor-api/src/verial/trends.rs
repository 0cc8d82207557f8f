//! `/benchmarks/{id}/trend`: scores over time, as numbers and as a drawing.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use proctor_core::{
    id::kinds::{BenchmarkId, RunId},
    run::Run,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

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

/// Draws the organization's scores of a benchmark over time.
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
    Ok(([(header::CONTENT_TYPE, SVG)], drawn(&runs)).into_response())
}

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 40.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 30.0;

/// Points with their intervals, in the order of time; a dashed line wherever another version of the benchmark begins.
fn drawn(runs: &[Run]) -> String {
    let scored: Vec<_> = runs
        .iter()
        .filter_map(|run| Some((run, run.own_numbers()?, run.own_numbers()?.score?)))
        .collect();
    let step = (WIDTH - LEFT - 20.0) / scored.len().max(2).saturating_sub(1) as f64;
    let x = |place: usize| LEFT + place as f64 * step;
    let y = |score: f64| TOP + (1.0 - score) * (HEIGHT - TOP - BOTTOM);
    let mut drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\">\
         <title>Scores of {} runs over time, with 95 % intervals</title>",
        scored.len()
    );
    for score in [0.0, 0.25, 0.5, 0.75, 1.0] {
        drawing += &format!(
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"4\" y=\"{text:.1}\">{score:.2}</text>",
            at = y(score),
            text = y(score) + 4.0
        );
    }
    let mut version = None;
    for (place, (run, numbers, score)) in scored.iter().enumerate() {
        let at = x(place);
        let is_other = version.replace(run.pinned.digest) != Some(run.pinned.digest);
        if is_other && place > 0 {
            drawing += &format!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\" stroke=\"#999\" stroke-dasharray=\"4\"/>",
                HEIGHT - BOTTOM
            );
        }
        if let Some(interval) = numbers.interval {
            drawing += &format!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#1565c0\" stroke-width=\"2\"/>",
                y(interval.high),
                y(interval.low)
            );
        }
        let named = run.pinned.version.map_or_else(
            || "draft".to_owned(),
            |version| format!("version {version}"),
        );
        drawing += &format!(
            "<circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#1565c0\"><title>{} {named}: {score:.3}, {} of {} scored, {} void</title></circle>",
            y(*score),
            run.id,
            numbers.scored,
            numbers.planned,
            numbers.void
        );
    }
    drawing + "</svg>\n"
}
