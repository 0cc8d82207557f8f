//! The list of benchmarks.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use askama::Template;
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use proctor_core::{definition::Visibility, id::kinds::BenchmarkId, time::Timestamp};
use proctor_store::{
    page::{PageRequest, PageStart},
    run_figures::{RunFigures, RunSummary},
    run_lists::RunFilter,
};

use super::kind;
use crate::{
    aliases::{Aliases, UNNAMED},
    error::PageError,
    html::Html,
    pages::page,
    plots,
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many benchmarks are listed.
const LISTED: u32 = 200;
/// How many runs are looked at.
const LOOKED_AT: u32 = 2_000;
/// How many scores a line has.
const POINTS: usize = 20;
const A_MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An agent on a benchmark: its newest score, and the ones before.
pub(crate) struct AgentLine {
    pub(crate) agent: String,
    pub(crate) newest: RunSummary,
    pub(crate) scores: Vec<f64>,
}

impl AgentLine {
    pub(crate) fn figures(&self) -> &RunFigures {
        &self.newest.figures
    }

    pub(crate) fn line(&self) -> Html {
        plots::sparkline(&self.scores)
    }
}

/// The newest runs by benchmark and agent: completed ones count, the best agent first.
pub(crate) async fn summaries_by_benchmark(
    state: &WebState,
    visitor: &Visitor,
    benchmark: Option<BenchmarkId>,
) -> Result<HashMap<BenchmarkId, BenchmarkRuns>, PageError> {
    let filter = RunFilter {
        solver: visitor.solver(),
        benchmark,
        ..RunFilter::default()
    };
    let request = PageRequest {
        limit: LOOKED_AT,
        from: PageStart::Newest,
        count: false,
    };
    let organization = visitor.organization();
    let found = state
        .store()
        .run_summaries(organization, &filter, request)
        .await?;
    let now = state.store().now();
    let mut aliases = Aliases::new(state, organization);
    let mut all: HashMap<BenchmarkId, BenchmarkRuns> = HashMap::new();
    for run in found.items {
        let alias = aliases.of(run.solver).await?;
        let taker = run.agent.clone().or(alias).or_else(|| run.name.clone());
        let taker = taker.unwrap_or_else(|| UNNAMED.to_owned());
        let of_benchmark = all.entry(run.benchmark).or_default();
        of_benchmark.last = of_benchmark.last.max(Some(run.created_at));
        of_benchmark.recent += usize::from(now.since(run.created_at) <= A_MONTH);
        of_benchmark.total += 1;
        if run.is_completed {
            of_benchmark.agents.entry(taker).or_default().push(run);
        }
    }
    Ok(all)
}

/// The runs of a benchmark.
#[derive(Default)]
pub(crate) struct BenchmarkRuns {
    pub(crate) last: Option<Timestamp>,
    pub(crate) recent: usize,
    pub(crate) total: usize,
    /// Completed ones by agent, newest first.
    agents: BTreeMap<String, Vec<RunSummary>>,
}

impl BenchmarkRuns {
    /// The agents, the best newest score first.
    pub(crate) fn lines(&self) -> Vec<AgentLine> {
        let mut lines: Vec<AgentLine> = self
            .agents
            .iter()
            .filter_map(|(agent, runs)| {
                let newest = runs.first()?.clone();
                let scores = runs.iter().filter_map(|run| run.figures.score);
                let mut scores: Vec<f64> = scores.take(POINTS).collect();
                scores.reverse();
                Some(AgentLine {
                    agent: agent.clone(),
                    newest,
                    scores,
                })
            })
            .collect();
        lines.sort_by(|one, other| {
            let score = |line: &AgentLine| line.newest.figures.score.unwrap_or(-1.0);
            score(other).total_cmp(&score(one))
        });
        lines
    }
}

struct BenchmarkRow {
    href: String,
    name: String,
    slug: Option<String>,
    kind: &'static str,
    is_public: bool,
    is_own: bool,
    version: Option<u32>,
    tasks: usize,
    criteria: usize,
    runs: BenchmarkRuns,
    best: Option<AgentLine>,
    /// Why the definition cannot be read.
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "benchmarks.html")]
struct BenchmarksPage {
    shell: Shell,
    params: Params,
    rows: Vec<BenchmarkRow>,
    is_filtered: bool,
    is_solver: bool,
}

impl BenchmarksPage {
    fn chips(&self) -> Vec<(&'static str, String, bool)> {
        let chip = |name: &str, word: &'static str| {
            let is_on = self.params.is(name, word);
            let link = self.params.link_with(name, if is_on { "" } else { word });
            (word, link, is_on)
        };
        vec![
            chip("kind", "clinical"),
            chip("kind", "coding"),
            chip("visibility", "public"),
            chip("visibility", "private"),
        ]
    }

    fn sorts(&self) -> Vec<(&'static str, String, bool)> {
        let current = self.params.get("sort").unwrap_or("last");
        [
            ("last", "last run"),
            ("name", "name"),
            ("runs", "runs"),
            ("tasks", "tasks"),
        ]
        .into_iter()
        .map(|(word, label)| (label, self.params.link_with("sort", word), word == current))
        .collect()
    }
}

pub(super) async fn benchmarks(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let mut rows = rows(&state, &visitor).await?;
    let sought = params.get("q").map(str::to_lowercase);
    rows.retain(|row| {
        let is_kind = params
            .get("kind")
            .is_none_or(|kind| row.kind == kind || row.kind == "mixed");
        let is_shown = match params.get("visibility") {
            Some("public") => row.is_public,
            Some("private") => !row.is_public,
            _ => true,
        };
        let is_called = sought.as_ref().is_none_or(|sought| {
            let slug = row.slug.as_ref().is_some_and(|slug| slug.contains(sought));
            row.name.to_lowercase().contains(sought) || slug
        });
        is_kind && is_shown && is_called
    });
    match params.get("sort").unwrap_or("last") {
        "name" => rows.sort_by_key(|row| row.name.to_lowercase()),
        "runs" => rows.sort_by_key(|row| std::cmp::Reverse(row.runs.recent)),
        "tasks" => rows.sort_by_key(|row| std::cmp::Reverse(row.tasks)),
        _ => rows.sort_by_key(|row| std::cmp::Reverse(row.runs.last)),
    }
    let is_filtered = ["q", "kind", "visibility"]
        .iter()
        .any(|name| params.get(name).is_some());
    page(&BenchmarksPage {
        shell: visitor.shell("Benchmarks", Section::Benchmarks),
        is_filtered,
        is_solver: visitor.solver().is_some(),
        params,
        rows,
    })
}

async fn rows(state: &WebState, visitor: &Visitor) -> Result<Vec<BenchmarkRow>, PageError> {
    let store = state.store();
    let request = PageRequest {
        limit: LISTED,
        from: PageStart::Newest,
        count: false,
    };
    let known = store
        .visible_benchmarks(visitor.organization(), request)
        .await?;
    let ids: Vec<BenchmarkId> = known.items.iter().map(|(_, one)| one.id).collect();
    let versions = store.latest_versions(&ids).await?;
    let mut runs = summaries_by_benchmark(state, visitor, None).await?;
    let mut rows = Vec::with_capacity(known.items.len());
    for (owner, record) in known.items {
        let version = versions.get(&record.id);
        let of_benchmark = runs.remove(&record.id).unwrap_or_default();
        let newest = of_benchmark.lines().into_iter().next();
        let digest = version
            .map(|version| version.digest)
            .or(newest.as_ref().map(|line| line.newest.digest));
        let (mut kind_of, mut tasks, mut criteria, mut problem) = ("draft", 0, 0, None);
        if let Some(digest) = digest {
            match state.engine().definition(&digest).await {
                Ok(prepared) => {
                    let benchmark = &prepared.benchmark;
                    kind_of = kind(benchmark);
                    tasks = benchmark.tasks.len();
                    criteria = benchmark.tasks.iter().map(|task| task.criteria.len()).sum();
                }
                Err(error) => {
                    tracing::warn!(%digest, %error, "a definition cannot be read");
                    problem = Some(format!("digest {} cannot be read", &digest.hex()[..12]));
                }
            }
        }
        let slug = version.map(|version| version.slug.as_str().to_owned());
        let path = slug.clone().unwrap_or_else(|| record.id.to_string());
        rows.push(BenchmarkRow {
            href: format!("/ui/benchmarks/{path}"),
            name: record.content.name,
            slug,
            kind: kind_of,
            is_public: version.is_some_and(|one| one.visibility == Visibility::Public),
            is_own: owner == visitor.organization(),
            version: version.map(|one| one.version),
            tasks,
            criteria,
            best: newest,
            runs: of_benchmark,
            problem,
        });
    }
    Ok(rows)
}
