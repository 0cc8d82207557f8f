//! One benchmark: its versions, what changed, its tasks and what runs show about them.

use std::{collections::BTreeMap, sync::Arc};

use askama::Template;
use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use proctor_core::{
    definition::{Benchmark, Task, Visibility},
    scoring::DEFAULT_AXIS,
    time::Timestamp,
};
use proctor_engine::catalog::Prepared;
use serde_json::Value;

use super::{
    AgentLine, Named,
    changes::{self, Changes, EditedTask},
    digest, find, kind,
    statistics::{TaskFigures, TaskStatistics, statistics},
    summaries_by_benchmark,
};
use crate::{
    error::PageError,
    html::{self, Given, Html},
    pages::{leaderboard, page},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many tasks are on a page.
const A_PAGE: usize = 100;
/// How many tasks of a change are named.
const NAMED: usize = 20;
/// How many tasks are named in a sentence, and how many agents are listed.
const FEW: usize = 4;
const AGENTS: usize = 8;
/// How many rows of the leaderboard are shown.
const BEST: usize = 5;

#[derive(Template)]
#[template(path = "benchmark.html")]
struct BenchmarkPage {
    shell: Shell,
    params: Params,
    named: Named,
    prepared: Option<Arc<Prepared>>,
    digest: String,
    kind: &'static str,
    statistics: Option<TaskStatistics>,
    /// The places of the tasks that are shown.
    chosen: Vec<usize>,
    found: usize,
    part: usize,
    parts: usize,
    axes: Vec<AxisRow>,
    flags: [Vec<String>; 2],
    changes: Option<(u32, u32, Changes)>,
    certificate: Option<(Value, Timestamp)>,
    lines: Vec<AgentLine>,
    board: Option<Arc<leaderboard::Board>>,
    /// Whether what is checked may be seen.
    shows_criteria: bool,
}

/// The criteria of an axis.
struct AxisRow {
    axis: String,
    criteria: usize,
    weight: f64,
    share: f64,
    critical: usize,
}

impl BenchmarkPage {
    fn tasks(&self) -> Vec<&Task> {
        let Some(prepared) = &self.prepared else {
            return Vec::new();
        };
        let tasks = &prepared.benchmark.tasks;
        self.chosen
            .iter()
            .filter_map(|place| tasks.get(*place))
            .collect()
    }

    fn figures(&self, task: &Task) -> TaskFigures {
        let statistics = self.statistics.as_ref();
        let found = statistics.and_then(|one| one.tasks.get(&task.id));
        found.cloned().unwrap_or_default()
    }

    fn task_link(&self, task: &Task) -> String {
        format!(
            "/ui/benchmarks/{}/tasks/{}",
            self.named.versioned(),
            task.id
        )
    }

    fn part_link(&self, part: impl Given<usize>) -> String {
        self.params.link_with("part", &part.given().to_string())
    }

    fn sorts(&self) -> Vec<(&'static str, String, bool)> {
        let current = self.params.get("sort").unwrap_or("order");
        let plain = self.params.without("part");
        [
            ("order", "task order"),
            ("hard", "hardest first"),
            ("easy", "easiest first"),
            ("tells", "tells agents apart"),
            ("void", "most void"),
            ("slow", "slowest"),
            ("name", "name"),
        ]
        .into_iter()
        .map(|(word, label)| (label, plain.link_with("sort", word), word == current))
        .collect()
    }

    fn is_public(&self) -> bool {
        let version = self.named.version.as_ref();
        version.is_some_and(|one| one.visibility == Visibility::Public)
    }

    fn best(&self) -> Vec<&leaderboard::BoardRow> {
        let board = self.board.as_ref();
        let newest = board.and_then(|board| board.versions.first());
        newest.map_or_else(Vec::new, |one| one.rows.iter().take(BEST).collect())
    }

    fn certificate_says(&self) -> Option<Certificate> {
        let (found, at) = self.certificate.as_ref()?;
        let number = |name: &str| found[name].as_u64().unwrap_or(0);
        Some(Certificate {
            is_admitted: found["admitted"].as_bool().unwrap_or(false),
            harm_kinds: number("harm_kinds"),
            harms_tried: number("harms_tried"),
            harms_passed: number("harms_passed"),
            mutation: found["mutation_score"].as_f64().unwrap_or(0.0),
            problems: found["problems"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|one| one.as_str().map(str::to_owned))
                .take(NAMED)
                .collect(),
            at: *at,
        })
    }

    /// The first tasks that nobody passes, by name.
    fn first_names(&self) -> Html {
        let names = self.flags[0].iter().take(FEW);
        let names: Vec<String> = names.map(|name| name.chars().take(60).collect()).collect();
        let more = if self.flags[0].len() > FEW {
            ", …"
        } else {
            ""
        };
        html::text(format!("{}{more}", names.join(", ")))
    }

    fn edited_few<'c>(&self, changes: &'c Changes) -> Vec<&'c EditedTask> {
        changes.edited.iter().take(NAMED).collect()
    }

    fn named_few<'n>(&self, names: &'n [String]) -> Vec<&'n String> {
        names.iter().take(NAMED).collect()
    }
}

/// What an admission found.
struct Certificate {
    is_admitted: bool,
    harm_kinds: u64,
    harms_tried: u64,
    harms_passed: u64,
    mutation: f64,
    problems: Vec<String>,
    at: Timestamp,
}

pub(super) async fn benchmark(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::read(query.as_deref());
    let named = find(&state, &visitor, &name).await?;
    let digest = digest(&state, &visitor, &named).await?;
    let shows_criteria = visitor.solver().is_none() && named.is_own;
    let (prepared, statistics) = match digest {
        None => (None, None),
        Some(digest) => {
            let prepared = state.engine().definition(&digest).await?;
            let tasks = prepared.benchmark.tasks.len();
            let found = statistics(&state, &visitor, named.id, digest, tasks).await?;
            (Some(prepared), Some(found))
        }
    };
    let chosen = chosen(prepared.as_deref(), statistics.as_ref(), &params);
    let found = chosen.len();
    let parts = found.div_ceil(A_PAGE).max(1);
    let part = usize::try_from(params.number("part").unwrap_or(1)).unwrap_or(1);
    let part = part.clamp(1, parts);
    let certificate = match digest.filter(|_| shows_criteria) {
        None => None,
        Some(digest) => state.store().admission(&digest).await?,
    };
    let mut runs = summaries_by_benchmark(&state, &visitor, Some(named.id)).await?;
    let lines = runs.remove(&named.id).map(|runs| runs.lines());
    let board = match visitor.solver() {
        None => Some(leaderboard::board(&state, &visitor, named.id).await?),
        Some(_) => None,
    };
    page(&BenchmarkPage {
        shell: visitor.shell(named.title.clone(), Section::Benchmarks),
        digest: digest.map(|digest| digest.to_string()).unwrap_or_default(),
        kind: prepared
            .as_ref()
            .map_or("draft", |one| kind(&one.benchmark)),
        axes: match (&prepared, shows_criteria) {
            (Some(prepared), true) => axes(&prepared.benchmark),
            _ => Vec::new(),
        },
        flags: flags(prepared.as_deref(), statistics.as_ref()),
        changes: changes_asked(&state, &named, &params, shows_criteria).await?,
        certificate: certificate.map(|one| (one.certificate, one.created_at)),
        lines: lines.unwrap_or_default().into_iter().take(AGENTS).collect(),
        board,
        chosen: chosen
            .into_iter()
            .skip((part - 1) * A_PAGE)
            .take(A_PAGE)
            .collect(),
        found,
        part,
        parts,
        shows_criteria,
        prepared,
        statistics,
        named,
        params,
    })
}

/// The tasks in the order that the address asks for, by their places.
fn chosen(
    prepared: Option<&Prepared>,
    statistics: Option<&TaskStatistics>,
    params: &Params,
) -> Vec<usize> {
    let Some(prepared) = prepared else {
        return Vec::new();
    };
    let tasks = &prepared.benchmark.tasks;
    let figures = |place: usize| statistics.and_then(|all| all.tasks.get(&tasks[place].id));
    let sought = params.get("q").map(str::to_lowercase);
    let mut places: Vec<usize> = (0..tasks.len())
        .filter(|place| {
            let name = || tasks[*place].name.to_lowercase();
            sought.as_ref().is_none_or(|sought| name().contains(sought))
        })
        .filter(|place| {
            let flag = || figures(*place).and_then(TaskFigures::flag);
            match params.get("flag") {
                Some("nobody") => flag() == Some("nobody passes"),
                Some("everybody") => flag() == Some("everybody passes"),
                _ => true,
            }
        })
        .collect();
    let by = |places: &mut Vec<usize>, key: &dyn Fn(usize) -> f64| {
        places.sort_by(|one, other| key(*one).total_cmp(&key(*other)));
    };
    let mean = |place: usize| figures(place).and_then(|one| one.mean);
    match params.get("sort").unwrap_or("order") {
        "hard" => by(&mut places, &|place| mean(place).unwrap_or(2.0)),
        "easy" => by(&mut places, &|place| -mean(place).unwrap_or(-1.0)),
        "tells" => by(&mut places, &|place| {
            -figures(place)
                .and_then(|one| one.discrimination)
                .unwrap_or(-2.0)
        }),
        "void" => by(&mut places, &|place| {
            -figures(place).map_or(0.0, |one| one.void_rate)
        }),
        "slow" => by(&mut places, &|place| {
            let time = figures(place).and_then(|one| one.median_time);
            -time.map_or(0.0, |time| time.as_secs_f64())
        }),
        "name" => places.sort_by(|one, other| tasks[*one].name.cmp(&tasks[*other].name)),
        _ => {}
    }
    places
}

/// The names of tasks that nobody passes, and that everybody passes.
fn flags(prepared: Option<&Prepared>, statistics: Option<&TaskStatistics>) -> [Vec<String>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    let Some((prepared, statistics)) = prepared.zip(statistics) else {
        return found;
    };
    for task in &prepared.benchmark.tasks {
        let flag = statistics.tasks.get(&task.id).and_then(TaskFigures::flag);
        match flag {
            Some("nobody passes") => found[0].push(task.name.clone()),
            Some(_) => found[1].push(task.name.clone()),
            None => {}
        }
    }
    found
}

fn axes(benchmark: &Benchmark) -> Vec<AxisRow> {
    let mut axes: BTreeMap<&str, AxisRow> = BTreeMap::new();
    let mut total = 0.0;
    for task in &benchmark.tasks {
        for criterion in &task.criteria {
            let name = match criterion.axis.as_deref() {
                None | Some(DEFAULT_AXIS) => "general",
                Some(axis) => axis,
            };
            let row = axes.entry(name).or_insert_with(|| AxisRow {
                axis: name.to_owned(),
                criteria: 0,
                weight: 0.0,
                share: 0.0,
                critical: 0,
            });
            row.criteria += 1;
            row.weight += criterion.weight.value();
            row.critical += usize::from(task.is_critical(criterion));
            total += criterion.weight.value();
        }
    }
    let mut rows: Vec<AxisRow> = axes.into_values().collect();
    for row in &mut rows {
        row.share = if total > 0.0 { row.weight / total } else { 0.0 };
    }
    rows.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    rows
}

/// What changed between the two versions of the address, or the two newest.
async fn changes_asked(
    state: &WebState,
    named: &Named,
    params: &Params,
    shows_criteria: bool,
) -> Result<Option<(u32, u32, Changes)>, PageError> {
    if !shows_criteria || named.versions.len() < 2 {
        return Ok(None);
    }
    let version = |name: &str| {
        params
            .number(name)
            .and_then(|number| u32::try_from(number).ok())
    };
    let newest = named.version.as_ref().map_or(0, |one| one.version);
    let to = version("to").unwrap_or(newest);
    let older = named.versions.iter().find(|one| one.version < to);
    let from = version("from").or(older.map(|one| one.version));
    let find = |number: u32| named.versions.iter().find(|one| one.version == number);
    let Some((from, to)) = from.and_then(find).zip(find(to)) else {
        return Ok(None);
    };
    let before = state.engine().definition(&from.digest).await?;
    let after = state.engine().definition(&to.digest).await?;
    let found = changes::between(&before.benchmark, &after.benchmark);
    Ok(Some((from.version, to.version, found)))
}
