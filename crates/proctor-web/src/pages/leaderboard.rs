//! `/ui/benchmarks/{slug}/leaderboard`: who is best, as far as that can be told.
//!
//! Ranks are intervals: agents are compared in pairs over the tasks that both took, and those that cannot be told apart share a rank and a letter.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    response::Response,
    routing::get,
};
use proctor_core::{
    id::kinds::{BenchmarkId, OrganizationId, RunId},
    run::Run,
    time::Timestamp,
};
use proctor_engine::leaderboards::RankedRun;
use proctor_store::page::{PageRequest, PageStart};

use super::{
    benchmarks::{Named, find},
    page,
};
use crate::{
    error::PageError,
    html::{self, Html},
    plots,
    run_model::mark_of_run,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many runs a board is made of.
const LONGEST: u32 = 1_000;
/// How many changes of the log are shown.
const LOGGED: u32 = 50;
/// How many benchmarks are listed.
const LISTED: u32 = 200;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/leaderboards", get(leaderboards))
        .route("/ui/benchmarks/{name}/leaderboard", get(leaderboard))
}

/// A leaderboard, the newest version first.
pub(crate) struct Board {
    pub(crate) versions: Vec<VersionBoard>,
    pub(crate) warnings: Vec<String>,
}

/// The agents of one version.
pub(crate) struct VersionBoard {
    pub(crate) version: Option<u32>,
    pub(crate) rows: Vec<BoardRow>,
}

/// An agent on a board.
pub(crate) struct BoardRow {
    /// Its place as an interval; none if that was not computed.
    pub(crate) rank: Option<(usize, usize)>,
    pub(crate) letters: String,
    pub(crate) agent: String,
    pub(crate) solver: Option<String>,
    pub(crate) score: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) counted: u32,
    pub(crate) void: u32,
    pub(crate) critical: usize,
    pub(crate) mark: html::Mark,
    /// pass@1 and pass^k with k, where the agent has several runs.
    pub(crate) reliability: Option<(f64, u32, f64)>,
    pub(crate) at: Timestamp,
    pub(crate) run: RunId,
    pub(crate) organization: OrganizationId,
    pub(crate) runs: usize,
}

impl BoardRow {
    /// The rank as people say it.
    pub(crate) fn place(&self) -> String {
        match self.rank {
            None => "–".to_owned(),
            Some((low, high)) if low == high => low.to_string(),
            Some((low, high)) => format!("{low}–{high}"),
        }
    }

    /// The score with its interval as a bar.
    pub(crate) fn bar(&self) -> Html {
        plots::score_bar(self.score, self.interval)
    }

    /// The agent's name, and its Solver's if that is another.
    pub(crate) fn name(&self) -> Html {
        html::short(&self.agent, 80)
    }
}

/// The board of a benchmark. What was computed of the same runs before is used again.
pub(crate) async fn board(
    state: &WebState,
    visitor: &Visitor,
    benchmark: BenchmarkId,
) -> Result<Arc<Board>, PageError> {
    let request = PageRequest {
        limit: LONGEST,
        from: PageStart::Newest,
        count: false,
    };
    let ranked = state.store().ranked_runs(benchmark, request).await?;
    let ids: Vec<RunId> = ranked.items.iter().map(|run| run.id).collect();
    let key = (visitor.organization(), benchmark, ids);
    if let Some(known) = state.memo().boards.get(&key) {
        return Ok(known);
    }
    let found = state
        .engine()
        .leaderboard(visitor.organization(), benchmark)
        .await?;
    let board = Board {
        versions: by_version(found.rows),
        warnings: found.warnings,
    };
    Ok(state.memo().boards.put(key, board))
}

/// Who took runs, and these.
type AgentRuns = (
    (OrganizationId, Option<String>, Option<String>),
    Vec<RankedRun>,
);

fn by_version(rows: Vec<RankedRun>) -> Vec<VersionBoard> {
    let mut versions: BTreeMap<Reverse<Option<u32>>, Vec<AgentRuns>> = BTreeMap::new();
    for row in rows {
        let key = (
            row.run.organization,
            row.solver.clone(),
            row.run.agent.clone(),
        );
        let agents = versions.entry(Reverse(row.run.pinned.version)).or_default();
        match agents.iter_mut().find(|(known, _)| *known == key) {
            Some((_, runs)) => runs.push(row),
            None => agents.push((key, vec![row])),
        }
    }
    let versions = versions.into_iter();
    versions
        .map(|(version, agents)| {
            let mut rows: Vec<BoardRow> = agents
                .into_iter()
                .filter_map(|(_, runs)| board_row(runs))
                .collect();
            rows.sort_by(|one, other| {
                let rank = |row: &BoardRow| row.rank.map_or(usize::MAX, |(low, _)| low);
                rank(one)
                    .cmp(&rank(other))
                    .then(other.score.total_cmp(&one.score))
                    .then_with(|| one.agent.cmp(&other.agent))
            });
            VersionBoard {
                version: version.0,
                rows,
            }
        })
        .collect()
}

/// An agent with all its runs: the newest is linked, the numbers are of all.
fn board_row(mut runs: Vec<RankedRun>) -> Option<BoardRow> {
    runs.sort_by_key(|row| Reverse(row.run.id));
    let count = runs.len();
    let newest = runs.first()?;
    let own = newest.run.own_numbers();
    let standing = newest.standing.as_ref();
    let summary = standing.map(|one| &one.summary).or(own);
    let api = newest.run.card().map(|card| card.score.value());
    let score = standing.map(|one| one.mean);
    let agent = newest.run.agent.clone().or_else(|| newest.solver.clone());
    Some(BoardRow {
        rank: standing.map(|one| (one.low, one.high)),
        letters: standing.map_or_else(String::new, |one| one.letters.clone()),
        solver: newest
            .solver
            .clone()
            .filter(|solver| Some(solver) != agent.as_ref()),
        agent: agent.unwrap_or_else(|| "unnamed agent".to_owned()),
        score: score
            .or_else(|| summary.and_then(|one| one.score))
            .or(api)
            .unwrap_or(0.0),
        interval: summary
            .and_then(|one| one.interval)
            .map(|interval| (interval.low, interval.high)),
        counted: summary.map_or(0, |one| one.scored),
        void: summary.map_or(0, |one| one.void),
        critical: runs.iter().map(critical).sum(),
        mark: mark_of_run(&newest.run),
        reliability: standing
            .and_then(|one| one.reliability.as_ref())
            .map(|(one, all)| (one.pass_at.mean, all.k, all.pass_all.mean)),
        at: newest.run.ended_at().unwrap_or(newest.run.created_at),
        run: newest.run.id,
        organization: newest.run.organization,
        runs: count,
    })
}

fn critical(row: &RankedRun) -> usize {
    row.run.card().map_or(0, |card| card.critical_misses.len())
}

/// A line of the log.
struct LogRow {
    at: Timestamp,
    is_added: bool,
    run: RunId,
    is_own: bool,
    taker: Option<String>,
    reason: Option<String>,
}

#[derive(Template)]
#[template(path = "leaderboard.html")]
struct LeaderboardPage {
    shell: Shell,
    named: Named,
    board: Arc<Board>,
    log: Vec<LogRow>,
    organization: OrganizationId,
}

impl LeaderboardPage {
    fn is_own(&self, row: &BoardRow) -> bool {
        row.organization == self.organization
    }

    fn label(&self, version: &VersionBoard) -> String {
        match version.version {
            Some(number) => format!("{}@{number}", self.named.path),
            None => "drafts".to_owned(),
        }
    }

    fn has_letters(&self, version: &VersionBoard) -> bool {
        version.rows.len() > 1 && version.rows.iter().any(|row| !row.letters.is_empty())
    }

    fn has_reliability(&self, version: &VersionBoard) -> bool {
        version.rows.iter().any(|row| row.reliability.is_some())
    }
}

async fn leaderboard(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(name): Path<String>,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let named = find(&state, &visitor, &name).await?;
    let board = board(&state, &visitor, named.id).await?;
    let request = PageRequest {
        limit: LOGGED,
        from: PageStart::Newest,
        count: false,
    };
    let organization = visitor.organization();
    let changes = state
        .engine()
        .leaderboard_log(organization, named.id, request)
        .await?;
    let mut log = Vec::with_capacity(changes.items.len());
    for change in changes.items {
        let is_own = change.organization == organization;
        let run: Option<Run> = match is_own {
            true => state.store().run(change.run).await?.map(|run| run.value),
            false => None,
        };
        let taker = match &run {
            Some(run) => Some(crate::run_model::taker(&state, run).await?),
            None => None,
        };
        log.push(LogRow {
            at: change.at,
            is_added: change.added,
            run: change.run,
            is_own: run.is_some(),
            taker,
            reason: change.reason,
        });
    }
    page(&LeaderboardPage {
        shell: visitor.shell(
            format!("Leaderboard of {}", named.title),
            Section::Leaderboards,
        ),
        named,
        board,
        log,
        organization,
    })
}

/// A benchmark in the list of leaderboards.
struct ListedBoard {
    href: String,
    name: Html,
    board: Arc<Board>,
}

impl ListedBoard {
    fn best(&self) -> Vec<&BoardRow> {
        let newest = self.board.versions.first();
        newest.map_or_else(Vec::new, |board| board.rows.iter().take(3).collect())
    }

    fn agents(&self) -> usize {
        self.board.versions.first().map_or(0, |one| one.rows.len())
    }
}

#[derive(Template)]
#[template(path = "leaderboards.html")]
struct LeaderboardsPage {
    shell: Shell,
    boards: Vec<ListedBoard>,
}

async fn leaderboards(
    State(state): State<WebState>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    visitor.require_organization()?;
    let request = PageRequest {
        limit: LISTED,
        from: PageStart::Newest,
        count: false,
    };
    let store = state.store();
    let known = store
        .visible_benchmarks(visitor.organization(), request)
        .await?;
    let ids: Vec<BenchmarkId> = known.items.iter().map(|(_, one)| one.id).collect();
    let versions = store.latest_versions(&ids).await?;
    let mut boards = Vec::new();
    for (_, record) in known.items {
        let Some(version) = versions.get(&record.id) else {
            continue;
        };
        let board = board(&state, &visitor, record.id).await?;
        if board.versions.is_empty() {
            continue;
        }
        boards.push(ListedBoard {
            href: format!("/ui/benchmarks/{}/leaderboard", version.slug.as_str()),
            name: html::short(&record.content.name, 80),
            board,
        });
    }
    page(&LeaderboardsPage {
        shell: visitor.shell("Leaderboards", Section::Leaderboards),
        boards,
    })
}
