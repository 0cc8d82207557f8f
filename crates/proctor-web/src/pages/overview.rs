//! `/ui/`: what needs attention, the last runs, each benchmark with its agents, how to begin.

use askama::Template;
use axum::{Router, extract::State, response::Response, routing::get};
use proctor_core::{id::Kind, run::RunStatus};
use proctor_store::{
    page::{PageRequest, PageStart},
    run_lists::RunFilter,
};

use super::{
    benchmarks::{AgentLine, summaries_by_benchmark},
    gates, page,
    runs::{RunRow, rows},
};
use crate::{
    error::PageError,
    html::{self, Mark},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many runs are looked at for what needs attention.
const LOOKED_AT: u32 = 60;
/// How many things that need somebody are listed.
const NEEDS: usize = 6;
/// How many are listed.
const LISTED: usize = 10;
/// How many gates that failed are looked at.
const GATES: u32 = 3;
/// How many benchmarks are shown, and how many agents of each.
const BENCHMARKS: usize = 12;
const AGENTS: usize = 4;

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/", get(overview))
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    running: Vec<RunRow>,
    attention: Vec<Attention>,
    rows: Vec<RunRow>,
    is_solver: bool,
    benchmarks: Vec<Excerpt>,
    steps: Vec<FirstStep>,
}

/// A benchmark with the newest score of each agent.
struct Excerpt {
    href: String,
    name: html::Html,
    lines: Vec<AgentLine>,
    /// How many agents are not shown.
    more: usize,
}

/// A step of whoever begins.
struct FirstStep {
    what: &'static str,
    command: &'static str,
    is_done: bool,
}

impl OverviewPage {
    /// Whether there is a step left.
    fn is_new_here(&self) -> bool {
        !self.is_solver && self.steps.iter().any(|step| !step.is_done)
    }
}

/// Something that needs somebody.
struct Attention {
    mark: Mark,
    href: String,
    what: html::Html,
    why: String,
    score: String,
}

fn attention(row: &RunRow) -> Option<Attention> {
    let critical = match row.critical() {
        1 => "1 critical criterion missed".to_owned(),
        many => format!("{many} critical criteria missed"),
    };
    let why = match (row.void(), row.critical()) {
        (1, _) => {
            "1 task is void: the platform broke it, so it says nothing about the agent".to_owned()
        }
        (void @ 2.., _) => format!(
            "{void} tasks are void: the platform broke them, so they say nothing about the agent"
        ),
        (0, 1..) => format!("{critical}; the score alone would be {}", row.score()),
        (0, 0) => return None,
    };
    Some(Attention {
        mark: if row.void() > 0 {
            Mark::Void
        } else {
            Mark::Fail
        },
        href: format!("/ui/runs/{}", row.run.id),
        what: html::short(format!("{} on {}", row.taker, row.benchmark), 90),
        why,
        score: row.score(),
    })
}

async fn overview(State(state): State<WebState>, visitor: Visitor) -> Result<Response, PageError> {
    let filter = RunFilter {
        solver: visitor.solver(),
        ..RunFilter::default()
    };
    let request = PageRequest {
        limit: LOOKED_AT,
        from: PageStart::Newest,
        count: false,
    };
    let found = state
        .store()
        .find_runs(visitor.organization(), &filter, request)
        .await?;
    let all = rows(&state, found.items).await?;
    // Void first; then what looks best and still failed, which is missed most easily.
    let mut attention: Vec<Attention> = all.iter().filter_map(attention).collect();
    attention.sort_by(|one, other| {
        let rank = |one: &Attention| one.mark != Mark::Void;
        rank(one)
            .cmp(&rank(other))
            .then_with(|| other.score.cmp(&one.score))
    });
    let mut needs = failed_gates(&state, &visitor).await?;
    needs.append(&mut attention);
    let mut attention = needs;
    attention.truncate(NEEDS);
    let is_open =
        |row: &RunRow| matches!(row.run.status(), RunStatus::Created | RunStatus::Started);
    let (running, mut done): (Vec<RunRow>, Vec<RunRow>) = all.into_iter().partition(is_open);
    done.truncate(LISTED);
    page(&OverviewPage {
        shell: visitor
            .shell("Overview", Section::Overview)
            .following("runs"),
        running,
        attention,
        rows: done,
        is_solver: visitor.solver().is_some(),
        steps: steps(&state, &visitor).await?,
        benchmarks: benchmarks(&state, &visitor).await?,
    })
}

/// The newest gates that do not let an agent through.
async fn failed_gates(state: &WebState, visitor: &Visitor) -> Result<Vec<Attention>, PageError> {
    if visitor.solver().is_some() {
        return Ok(Vec::new());
    }
    let organization = visitor.organization();
    let (rows, _) = gates::list(state, organization, Some("FAIL"), GATES, None).await?;
    let attention = rows.into_iter().map(|row| Attention {
        mark: Mark::Fail,
        href: row.href,
        what: html::short(format!("Gate: {} on {}", row.agent, row.benchmark), 90),
        why: match row.sentence.char_indices().nth(180) {
            Some((end, _)) => format!("{}…", &row.sentence[..end]),
            None => row.sentence,
        },
        score: String::new(),
    });
    Ok(attention.collect())
}

/// Benchmarks that were taken, what was taken last first.
async fn benchmarks(state: &WebState, visitor: &Visitor) -> Result<Vec<Excerpt>, PageError> {
    let mut taken: Vec<_> = summaries_by_benchmark(state, visitor, None)
        .await?
        .into_iter()
        .collect();
    taken.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.last));
    let ids: Vec<_> = taken.iter().map(|(id, _)| *id).collect();
    let versions = state.store().latest_versions(&ids).await?;
    let mut found = Vec::new();
    for (id, runs) in taken {
        let mut lines = runs.lines();
        if lines.is_empty() || found.len() >= BENCHMARKS {
            continue;
        }
        let known = state
            .store()
            .visible_benchmark(visitor.organization(), id)
            .await?;
        let Some((_, record)) = known else {
            continue;
        };
        let more = lines.len().saturating_sub(AGENTS);
        lines.truncate(AGENTS);
        let path = versions
            .get(&id)
            .map_or_else(|| id.to_string(), |one| one.slug.as_str().to_owned());
        found.push(Excerpt {
            href: format!("/ui/benchmarks/{path}"),
            name: html::short(record.content.name, 60),
            lines,
            more,
        });
    }
    Ok(found)
}

/// What somebody who begins has done, and what comes next.
async fn steps(state: &WebState, visitor: &Visitor) -> Result<Vec<FirstStep>, PageError> {
    let (store, organization) = (state.store(), visitor.organization());
    let has_benchmark = !store
        .visible_benchmarks(organization, one())
        .await?
        .items
        .is_empty();
    let has_solver = !store.solvers(organization, one()).await?.items.is_empty();
    let filter = RunFilter::default();
    let has_run = !store
        .run_summaries(organization, &filter, one())
        .await?
        .items
        .is_empty();
    let has_compared = !store
        .comparisons(organization, one())
        .await?
        .items
        .is_empty()
        || !store
            .gates(organization, None, one())
            .await?
            .items
            .is_empty();
    Ok(vec![
        FirstStep {
            what: "Bring a benchmark.",
            command: "proctor benchmark push FILE --publish",
            is_done: has_benchmark,
        },
        FirstStep {
            what: "Make a Solver, if others are to take it with keys of their own.",
            command: "",
            is_done: has_solver,
        },
        FirstStep {
            what: "Take it with your agent.",
            command: "proctor run BENCHMARK --agent COMMAND",
            is_done: has_run,
        },
        FirstStep {
            what: "Change the agent, take it again, and compare.",
            command: "proctor compare A B",
            is_done: has_compared,
        },
    ])
}

/// The newest alone: whether there is any.
fn one<K: Kind>() -> PageRequest<K> {
    PageRequest {
        limit: 1,
        from: PageStart::Newest,
        count: false,
    }
}
