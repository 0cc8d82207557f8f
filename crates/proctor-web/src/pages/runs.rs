//! `/ui/runs`: all runs that the visitor may see.

use askama::Template;
use axum::{
    Router,
    extract::{RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::{
    definition::Slug,
    id::kinds::{BenchmarkId, RunId},
    run::{Run, RunStatus},
    scoring::DEFAULT_AXIS,
};
use proctor_store::{
    names::Sought,
    page::{PageRequest, PageStart},
    run_lists::RunFilter,
};

use super::page;
use crate::{
    error::PageError,
    html::{self, Mark},
    query::Params,
    run_model::{mark_of_run, taker},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many runs are on a page.
const A_PAGE: u32 = 100;
/// Up to where a list is counted.
const COUNTED: u64 = 10_000;

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/runs", get(runs))
}

/// A run in a list.
pub(crate) struct RunRow {
    /// The run.
    pub(crate) run: Run,
    /// What became of it.
    pub(crate) mark: Mark,
    /// Who takes it.
    pub(crate) taker: String,
    /// What is taken.
    pub(crate) benchmark: String,
    /// Its axes with their scores.
    pub(crate) axes: Vec<(String, f64)>,
}

impl RunRow {
    /// Our own score: void is left out.
    pub(crate) fn score(&self) -> String {
        let numbers = self.run.own_numbers().and_then(|numbers| numbers.score);
        html::score(numbers.or_else(|| self.run.card().map(|card| card.score.value())))
    }

    /// Half the width of its interval.
    pub(crate) fn interval(&self) -> Option<String> {
        let interval = self.run.own_numbers()?.interval?;
        Some(format!("± {:.3}", (interval.high - interval.low) / 2.0))
    }

    /// How many attempts count.
    pub(crate) fn counted(&self) -> Option<u32> {
        self.run.own_numbers().map(|numbers| numbers.scored)
    }

    /// How many are void.
    pub(crate) fn void(&self) -> u32 {
        self.run.own_numbers().map_or(0, |numbers| numbers.void)
    }

    /// How long it took.
    pub(crate) fn took(&self) -> String {
        let span = self.run.started_at().zip(self.run.ended_at());
        span.map_or_else(String::new, |(began, ended)| {
            html::duration(ended.since(began))
        })
    }

    /// How many critical criteria were missed.
    pub(crate) fn critical(&self) -> usize {
        self.run.card().map_or(0, |card| card.critical_misses.len())
    }
}

/// The rows of runs, with names instead of ids.
pub(crate) async fn rows(state: &WebState, runs: Vec<Run>) -> Result<Vec<RunRow>, PageError> {
    let mut benchmarks: Vec<BenchmarkId> = runs.iter().map(|run| run.pinned.benchmark).collect();
    benchmarks.sort_unstable();
    benchmarks.dedup();
    let mut versions = Vec::new();
    for benchmark in benchmarks {
        versions.extend(state.store().benchmark_versions(benchmark).await?);
    }
    let mut rows = Vec::with_capacity(runs.len());
    for run in runs {
        let pinned = &run.pinned;
        let version = versions
            .iter()
            .find(|one| one.benchmark == pinned.benchmark && Some(one.version) == pinned.version);
        let benchmark = match version {
            Some(version) => format!("{}@{}", version.slug.as_str(), version.version),
            None => state
                .engine()
                .definition_of(&run)
                .await?
                .benchmark
                .name
                .clone(),
        };
        let axes = run.card().map(|card| card.axes.iter());
        let axes = axes.into_iter().flatten().map(|(name, axis)| {
            let name = if name == DEFAULT_AXIS {
                "general"
            } else {
                name
            };
            (name.to_owned(), axis.score.value())
        });
        rows.push(RunRow {
            mark: mark_of_run(&run),
            taker: taker(state, &run).await?,
            benchmark,
            axes: axes.collect(),
            run,
        });
    }
    Ok(rows)
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    shell: Shell,
    params: Params,
    rows: Vec<RunRow>,
    total: Option<String>,
    newer: Option<String>,
    older: Option<String>,
    is_filtered: bool,
}

const STATUSES: [(&str, &[RunStatus]); 4] = [
    ("running", &[RunStatus::Created, RunStatus::Started]),
    ("completed", &[RunStatus::Completed]),
    ("cancelled", &[RunStatus::Cancelled]),
    ("failed", &[RunStatus::Failed]),
];

impl RunsPage {
    fn statuses(&self) -> Vec<(&'static str, String, bool)> {
        let params = self.params.without("after").without("before");
        STATUSES
            .iter()
            .map(|(word, _)| {
                let is_on = self.params.is("status", word);
                let link = params.link_with("status", if is_on { "" } else { word });
                (*word, link, is_on)
            })
            .collect()
    }
}

fn filter(visitor: &Visitor, params: &Params) -> Result<RunFilter, PageError> {
    let status = params.get("status");
    let statuses = STATUSES.iter().find(|(word, _)| Some(*word) == status);
    if status.is_some() && statuses.is_none() {
        return Err(PageError::bad_request(
            "The status of runs is running, completed, cancelled or failed.",
        ));
    }
    let slug = match params.get("benchmark") {
        None => None,
        Some(text) => {
            let slug = text.split('@').next().unwrap_or(text);
            let bad = |_| PageError::bad_request("This is not the slug of a benchmark.");
            Some(Slug::try_from(slug.to_owned()).map_err(bad)?)
        }
    };
    Ok(RunFilter {
        solver: visitor.solver(),
        statuses: statuses.map(|(_, statuses)| statuses.to_vec()),
        agent: params.get("agent").map(str::to_owned),
        slug,
        sought: Sought {
            search: params.get("q").map(str::to_owned),
            ..Sought::default()
        },
        ..RunFilter::default()
    })
}

async fn runs(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let filter = filter(&visitor, &params)?;
    let place = |name: &str| -> Result<Option<RunId>, PageError> {
        let id = params.get(name).map(str::parse).transpose();
        id.map_err(|_| PageError::bad_request("This is not a place in the list of runs."))
    };
    let from = match (place("after")?, place("before")?) {
        (Some(after), _) => PageStart::After(after),
        (None, Some(before)) => PageStart::Before(before),
        (None, None) => PageStart::Newest,
    };
    let request = PageRequest {
        limit: A_PAGE,
        from,
        count: true,
    };
    let found = state
        .store()
        .find_runs(visitor.organization(), &filter, request)
        .await?;
    let ends = found.items.first().zip(found.items.last());
    let (newest, oldest) = match ends {
        Some((first, last)) => (Some(first.id), Some(last.id)),
        None => (None, None),
    };
    let plain = params.without("after").without("before");
    let newer = newest.filter(|_| found.has_previous);
    let older = oldest.filter(|_| found.has_more);
    let total = found.total.map(|total| match total > COUNTED {
        true => format!("{}+", html::count(COUNTED)),
        false => html::count(total),
    });
    page(&RunsPage {
        shell: visitor.shell("Runs", Section::Runs).following("runs"),
        newer: newer.map(|id| plain.link_with("before", &id.to_string())),
        older: older.map(|id| plain.link_with("after", &id.to_string())),
        is_filtered: plain.link() != "?",
        rows: rows(&state, found.items).await?,
        total,
        params: plain,
    })
}
