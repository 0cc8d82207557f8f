//! `/benchmarks/{id}/leaderboard`: runs that their organizations show to others, with ranks as intervals, and the log of what came and went.

use axum::extract::State;
use proctor_core::{
    id::kinds::{BenchmarkId, LeaderboardChangeId, LeaderboardChangeKind, RunId},
    time::Timestamp,
};
use proctor_engine::leaderboards::RankedRun;
use proctor_store::leaderboard_log::LeaderboardChange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    internal_runs::{find, view},
    page::{NoParameters, VerialList, VerialPage, VerialPageQuery},
    run_views::{Axes, Outcome, RunView},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path},
    results::SummaryView,
    state::ApiState,
};

const LONGEST_REASON: usize = 1000;

/// Why a run is put on the leaderboard or taken off.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RankBody {
    /// For the log, in words.
    #[schema(max_length = 1000)]
    reason: Option<String>,
}

async fn change(
    state: &ApiState,
    caller: &OrganizationCaller,
    id: RunId,
    ranked: bool,
    body: RankBody,
) -> Result<Json<RunView>, ApiError> {
    let mut checks = Checks::default();
    let reason = checks.optional_text("reason", body.reason, 1..=LONGEST_REASON);
    checks.finish()?;
    find(state, caller, id).await?;
    let run = state.engine().rank_run(id, ranked, reason).await?;
    view(state, &run).await.map(Json)
}

/// Puts a completed run on the leaderboard.
#[utoipa::path(
    post,
    path = "/benchmark-runs/{id}/publish",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The run's id")),
    request_body = RankBody,
    security(("organization_key" = [])),
    responses((status = 200, description = "The run as it is now", body = RunView)),
)]
pub(crate) async fn publish_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
    Json(body): Json<RankBody>,
) -> Result<Json<RunView>, ApiError> {
    change(&state, &caller, id, true, body).await
}

/// Takes a run off the leaderboard; the log keeps that it was there.
#[utoipa::path(
    post,
    path = "/benchmark-runs/{id}/unpublish",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The run's id")),
    request_body = RankBody,
    security(("organization_key" = [])),
    responses((status = 200, description = "The run as it is now", body = RunView)),
)]
pub(crate) async fn unpublish_benchmark_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<RunId>,
    Json(body): Json<RankBody>,
) -> Result<Json<RunView>, ApiError> {
    change(&state, &caller, id, false, body).await
}

/// A run on a leaderboard.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankedView {
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    /// The Solver's alias; null for a run of the organization itself.
    solver: Option<String>,
    agent: Option<String>,
    /// The version of the benchmark; null for a draft.
    version: Option<u32>,
    scored: bool,
    verdict: Option<&'static str>,
    score: Option<f64>,
    #[schema(value_type = Option<Object>)]
    axes: Option<Axes>,
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    /// Our own numbers, with what is missing and how sure they are.
    summary: Option<SummaryView>,
    /// Where its agent stands among those of the same version; null if ranks were not computed.
    rank: Option<RankView>,
}

/// A rank as an interval: what pairs of agents, compared over the tasks that both took, can tell apart (paired test, Holm over all pairs, 5 %).
#[derive(Serialize, ToSchema)]
pub(crate) struct RankView {
    /// The agent's score over all its runs here, pooled by task: what ranks are made of. `score` is that of this run alone.
    mean: f64,
    /// How many attempts that count the mean is made of.
    attempts: usize,
    /// The best rank that it may have.
    low: usize,
    /// The worst rank that it may have.
    high: usize,
    /// Agents that share a letter cannot be told apart.
    letters: String,
    /// Among how many agents. Several runs of one agent pool by task.
    agents: usize,
}

/// A leaderboard, the best first.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeaderboardView {
    data: Vec<RankedView>,
    /// What should be known about the ranks.
    warnings: Vec<String>,
}

impl RankedView {
    fn of(row: RankedRun) -> Self {
        let run = &row.run;
        let result = Outcome::of_run(run);
        Self {
            benchmark_run_id: run.id,
            solver: row.solver,
            agent: run.agent.clone(),
            version: run.pinned.version,
            scored: run.scored,
            verdict: result.verdict,
            score: result.score,
            axes: result.axes,
            completed_at: run.ended_at(),
            summary: run.own_numbers().map(SummaryView::of),
            rank: row.standing.map(|rank| RankView {
                mean: rank.mean,
                attempts: rank.attempts,
                low: rank.low,
                high: rank.high,
                letters: rank.letters,
                agents: rank.agents,
            }),
        }
    }
}

/// Shows the runs of a benchmark that their organizations published, the best first.
///
/// Only agents of the same version are ranked together.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/leaderboard",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The benchmark's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The leaderboard", body = LeaderboardView)),
)]
pub(crate) async fn get_leaderboard(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    _: NoParameters,
) -> Result<Json<LeaderboardView>, ApiError> {
    let board = state.engine().leaderboard(caller.id(), id).await?;
    Ok(Json(LeaderboardView {
        data: board.rows.into_iter().map(RankedView::of).collect(),
        warnings: board.warnings,
    }))
}

/// A run that was put on a leaderboard or taken off.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeaderboardChangeView {
    #[schema(value_type = String)]
    id: LeaderboardChangeId,
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    /// `added` or `removed`.
    change: &'static str,
    reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
}

impl LeaderboardChangeView {
    fn of(change: LeaderboardChange) -> Self {
        Self {
            id: change.id,
            benchmark_run_id: change.run,
            change: if change.added { "added" } else { "removed" },
            reason: change.reason,
            at: change.at,
        }
    }
}

/// Lists what was put on the leaderboard and taken off.
#[utoipa::path(
    get,
    path = "/benchmarks/{id}/leaderboard/log",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The benchmark's id"), VerialPageQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The changes, newest first", body = VerialList<LeaderboardChangeView>)),
)]
pub(crate) async fn list_leaderboard_changes(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<BenchmarkId>,
    page: VerialPage<LeaderboardChangeKind>,
) -> Result<Json<VerialList<LeaderboardChangeView>>, ApiError> {
    let log = state
        .engine()
        .leaderboard_log(caller.id(), id, page.0)
        .await?;
    Ok(page.answer(log, |change| change.id, LeaderboardChangeView::of))
}
