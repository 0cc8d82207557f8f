//! `/ui/runs`: all runs that the visitor may see, filtered, sorted and marked for comparing.

mod export;
mod filter;

use askama::Template;
use axum::{
    Router,
    extract::{RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::{
    id::kinds::{BenchmarkId, RunId, SolverId},
    run::Run,
    scoring::DEFAULT_AXIS,
};
use proctor_store::{
    page::{PageRequest, PageStart},
    run_figures::RunOrder,
    run_lists::RunFilter,
};

use self::filter::{NAMES, STATUSES, filter, order};
use super::page;

pub(crate) use self::filter::slug_of;
use crate::{
    aliases::{Aliases, UNNAMED},
    error::PageError,
    html::{self, Mark},
    query::Params,
    run_model::mark_of_run,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many runs are on a page.
const A_PAGE: u32 = 100;
/// Up to where a list is counted.
const COUNTED: u64 = 10_000;
/// How many names there are to choose from in a filter.
const CHOICES: u32 = 200;
/// How many labels of a run are shown.
const LABELS: usize = 4;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/runs", get(runs))
        .route("/ui/runs.csv", get(export::csv))
        .route("/ui/runs.json", get(export::json))
}

/// A run in a list.
pub(crate) struct RunRow {
    /// The run.
    pub(crate) run: Run,
    /// What became of it.
    pub(crate) mark: Mark,
    /// Who takes it.
    pub(crate) taker: String,
    /// The Solver's alias, where it takes the run under another name.
    pub(crate) solver: Option<String>,
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

    /// What it is labelled with: how it reads, and the filter that finds the same.
    pub(crate) fn labels(&self) -> Vec<(html::Html, String)> {
        let labels = self.run.particulars.metadata.iter();
        labels
            .filter(|(name, _)| !name.starts_with("proctor."))
            .take(LABELS)
            .map(|(name, value)| {
                let label = format!("{name}={value}");
                let link = format!("/ui/runs?label={}", html::encode(&label));
                (html::short(&label, 40), link)
            })
            .collect()
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
    let organization = runs.first().map(|run| run.organization);
    let mut aliases = organization.map(|organization| Aliases::new(state, organization));
    let mut rows = Vec::with_capacity(runs.len());
    for run in runs {
        let alias = match &mut aliases {
            Some(aliases) => aliases.of(run.solver).await?,
            None => None,
        };
        let named = run.agent.clone().or_else(|| alias.clone());
        let named = named.or_else(|| run.particulars.name.clone());
        let taker = named.unwrap_or_else(|| UNNAMED.to_owned());
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
            solver: alias.filter(|alias| *alias != taker),
            taker,
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
    choices: Choices,
    verdicts: Vec<(Mark, u64)>,
}

/// What there is to choose from in the filters.
struct Choices {
    benchmarks: Vec<String>,
    agents: Vec<String>,
    solvers: Vec<(SolverId, String)>,
}

impl RunsPage {
    fn plain(&self) -> Params {
        self.params.without("after").without("before")
    }

    fn statuses(&self) -> Vec<(&'static str, String, bool)> {
        let params = self.plain();
        STATUSES
            .iter()
            .map(|(word, _)| {
                let is_on = self.params.is("status", word);
                let link = params.link_with("status", if is_on { "" } else { word });
                (*word, link, is_on)
            })
            .collect()
    }

    /// Verdicts with how many runs of the filter have them.
    fn verdict_chips(&self) -> Vec<(Mark, u64, String, bool)> {
        let params = self.plain();
        let chips = self.verdicts.iter().map(|(mark, count)| {
            let is_on = self.params.is("verdict", mark.word());
            let word = if is_on { "" } else { mark.word() };
            (*mark, *count, params.link_with("verdict", word), is_on)
        });
        chips.collect()
    }

    fn void_chip(&self) -> (String, bool) {
        let is_on = self.params.is("void", "yes");
        let link = self
            .plain()
            .link_with("void", if is_on { "" } else { "yes" });
        (link, is_on)
    }

    /// The filters that are on, each with the address without it.
    fn active(&self) -> Vec<(html::Html, String)> {
        let params = self.plain();
        let chips = ["version", "label", "since", "until", "solver"]
            .into_iter()
            .filter_map(|name| {
                let value = self.params.get(name)?;
                let shown = match name {
                    "solver" => self
                        .choices
                        .solvers
                        .iter()
                        .find(|(id, _)| id.to_string() == value)
                        .map_or(value, |(_, alias)| alias),
                    _ => value,
                };
                let text = html::short(format!("{name} {shown}"), 60);
                Some((text, params.without(name).link()))
            });
        chips.collect()
    }

    /// A heading that sorts: the address, and which way it is sorted now.
    fn sort(&self, first: &str, other: &str) -> Sort {
        let current = self.params.get("sort").unwrap_or("newest");
        let next = if current == first { other } else { first };
        Sort {
            link: self
                .plain()
                .link_with("sort", if next == "newest" { "" } else { next }),
            way: match (current == first, current == other) {
                (true, _) => "↓",
                (_, true) if other != "newest" => "↑",
                _ => "",
            },
        }
    }

    fn export(&self, kind: &str) -> String {
        format!("/ui/runs.{kind}{}", self.plain().without("sort").link())
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.params.is(name, value)
    }
}

/// A heading that sorts.
struct Sort {
    link: String,
    way: &'static str,
}

async fn choices(state: &WebState, visitor: &Visitor) -> Result<Choices, PageError> {
    let organization = visitor.organization();
    let store = state.store();
    let page = PageRequest {
        limit: CHOICES,
        from: PageStart::Newest,
        count: false,
    };
    let known = store.visible_benchmarks(organization, page).await?.items;
    let ids: Vec<BenchmarkId> = known.iter().map(|(_, one)| one.id).collect();
    let versions = store.latest_versions(&ids).await?;
    let mut benchmarks: Vec<String> = versions
        .values()
        .map(|version| version.slug.as_str().to_owned())
        .collect();
    benchmarks.sort_unstable();
    benchmarks.dedup();
    let solvers = match visitor.solver() {
        Some(_) => Vec::new(),
        None => {
            let page = PageRequest {
                limit: CHOICES,
                from: PageStart::Newest,
                count: false,
            };
            let found = store.solvers(organization, page).await?.items;
            let named = found.into_iter().map(|one| (one.id, one.profile.alias));
            named.collect()
        }
    };
    Ok(Choices {
        benchmarks,
        agents: store
            .run_agents(organization, visitor.solver(), CHOICES)
            .await?,
        solvers,
    })
}

/// How many runs of the filter have each verdict, whichever of them is chosen.
async fn verdicts(
    state: &WebState,
    visitor: &Visitor,
    filter: &RunFilter,
) -> Result<Vec<(Mark, u64)>, PageError> {
    let filter = RunFilter {
        verdict: None,
        ..filter.clone()
    };
    let counts = state
        .store()
        .run_counts(visitor.organization(), &filter)
        .await?;
    let mut marks: Vec<(Mark, u64)> = counts
        .into_iter()
        .filter_map(|one| Some((Mark::from_word(one.verdict?.as_str())?, one.count)))
        .collect();
    marks.sort_by_key(|(mark, _)| Mark::ALL.iter().position(|one| one == mark));
    Ok(marks)
}

async fn runs(
    State(state): State<WebState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let (filter, order) = (filter(&visitor, &params)?, order(&params)?);
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
    let organization = visitor.organization();
    // By age the index decides; anything else sorts what the filter leaves.
    let found = match order {
        RunOrder::Newest => {
            state
                .store()
                .find_runs(organization, &filter, request)
                .await?
        }
        order => {
            let store = state.store();
            store
                .sorted_runs(organization, &filter, order, request)
                .await?
        }
    };
    let ends = found.items.first().zip(found.items.last());
    let (first, last) = match ends {
        Some((first, last)) => (Some(first.id), Some(last.id)),
        None => (None, None),
    };
    let plain = params.without("after").without("before");
    let newer = first.filter(|_| found.has_previous);
    let older = last.filter(|_| found.has_more);
    let total = found.total.map(|total| match total > COUNTED {
        true => format!("{}+", html::count(COUNTED)),
        false => html::count(total),
    });
    let is_filtered = params
        .pairs()
        .any(|(name, _)| NAMES.contains(&name) || name == "until");
    page(&RunsPage {
        shell: visitor.shell("Runs", Section::Runs).following("runs"),
        newer: newer.map(|id| plain.link_with("before", &id.to_string())),
        older: older.map(|id| plain.link_with("after", &id.to_string())),
        is_filtered,
        choices: choices(&state, &visitor).await?,
        verdicts: verdicts(&state, &visitor, &filter).await?,
        rows: rows(&state, found.items).await?,
        total,
        params: plain,
    })
}
