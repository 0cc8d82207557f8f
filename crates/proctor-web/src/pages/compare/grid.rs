//! Three to eight runs: a grid of tasks × runs.

use std::{collections::BTreeMap, sync::Arc};

use askama::Template;
use axum::response::Response;
use proctor_core::{
    id::kinds::{RunId, TaskId, TaskRunId},
    run::Run,
};
use proctor_engine::comparisons::TaskOutcome;

use super::sides::{mark, outcomes};
use crate::{
    error::PageError,
    html::{Given, Mark},
    pages::runs::{RunRow, rows},
    query::Params,
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many tasks are on a page.
const A_PAGE: usize = 100;

#[derive(Template)]
#[template(path = "compare_grid.html")]
struct GridPage {
    shell: Shell,
    params: Params,
    runs: Vec<RunRow>,
    rows: Vec<GridRow>,
    /// How many tasks the runs do not agree on, and how many there are.
    differ: usize,
    total: usize,
    found: usize,
    part: usize,
    parts: usize,
    /// Whether the runs are of several versions.
    is_mixed: bool,
}

/// A task and what the runs made of it.
struct GridRow {
    name: String,
    cells: Vec<Option<GridCell>>,
    spread: f64,
    lowest: f64,
}

/// What a run made of a task.
struct GridCell {
    mark: Mark,
    score: Option<f64>,
    is_critical: bool,
    task_run: Option<TaskRunId>,
}

impl GridPage {
    fn part_link(&self, part: impl Given<usize>) -> String {
        self.params.link_with("part", &part.given().to_string())
    }

    fn shows_all(&self) -> bool {
        !self.params.is("show", "differ")
    }

    /// The run against the first of them.
    fn against_first(&self, row: &RunRow) -> String {
        let first = self.runs.first().map(|first| first.run.id);
        first.map_or_else(String::new, |first: RunId| {
            format!("/ui/compare?a={first}&b={}", row.run.id)
        })
    }

    fn without(&self, row: &RunRow) -> String {
        let kept = self.runs.iter().filter(|one| one.run.id != row.run.id);
        let kept: Vec<String> = kept.map(|one| format!("run={}", one.run.id)).collect();
        format!("/ui/compare?{}", kept.join("&"))
    }
}

pub(super) async fn page(
    state: &WebState,
    visitor: &Visitor,
    params: &Params,
    runs: Vec<Run>,
) -> Result<Response, PageError> {
    let mut found: Vec<Arc<Vec<TaskOutcome>>> = Vec::with_capacity(runs.len());
    let mut names: BTreeMap<TaskId, String> = BTreeMap::new();
    for run in &runs {
        found.push(outcomes(state, run).await?);
        let prepared = state.engine().definition_of(run).await?;
        for task in &prepared.benchmark.tasks {
            names.entry(task.id).or_insert_with(|| task.name.clone());
        }
    }
    let is_mixed = runs
        .iter()
        .any(|run| run.pinned.digest != runs[0].pinned.digest);
    let mut all = grid(&found, &names);
    let total = all.len();
    let differ = all.iter().filter(|row| row.spread > 1e-9).count();
    if params.is("show", "differ") {
        all.retain(|row| row.spread > 1e-9);
    }
    if params.is("sort", "name") {
        all.sort_by(|one, other| one.name.cmp(&other.name));
    }
    let count = all.len();
    let parts = count.div_ceil(A_PAGE).max(1);
    let part = usize::try_from(params.number("part").unwrap_or(1)).unwrap_or(1);
    let part = part.clamp(1, parts);
    crate::pages::page(&GridPage {
        shell: visitor.shell(format!("{} runs", runs.len()), Section::Compare),
        params: params.clone(),
        runs: rows(state, runs).await?,
        rows: all
            .into_iter()
            .skip((part - 1) * A_PAGE)
            .take(A_PAGE)
            .collect(),
        differ,
        total,
        found: count,
        part,
        parts,
        is_mixed,
    })
}

/// The rows, what the runs agree on least first.
fn grid(found: &[Arc<Vec<TaskOutcome>>], names: &BTreeMap<TaskId, String>) -> Vec<GridRow> {
    let mut by_task: BTreeMap<TaskId, Vec<Option<&TaskOutcome>>> = BTreeMap::new();
    for (place, of_run) in found.iter().enumerate() {
        for outcome in of_run.iter() {
            let row = by_task
                .entry(outcome.task)
                .or_insert_with(|| vec![None; found.len()]);
            row[place] = Some(outcome);
        }
    }
    let mut rows: Vec<GridRow> = by_task
        .into_iter()
        .map(|(task, outcomes)| {
            let scores = outcomes.iter().filter_map(|one| (*one)?.score);
            let (low, high) = scores.fold((f64::MAX, f64::MIN), |(low, high), score| {
                (low.min(score), high.max(score))
            });
            let cells: Vec<Option<GridCell>> =
                outcomes.into_iter().map(|one| one.map(cell)).collect();
            // What is critical to one and not to another differs most, whatever the scores.
            let mut critical = cells.iter().flatten().map(|cell| cell.is_critical);
            let first = critical.next();
            let is_harm = critical.any(|one| Some(one) != first);
            let harm = if is_harm { 2.0 } else { 0.0 };
            GridRow {
                name: names
                    .get(&task)
                    .cloned()
                    .unwrap_or_else(|| task.to_string()),
                spread: harm + (high - low).max(0.0),
                lowest: low,
                cells,
            }
        })
        .collect();
    rows.sort_by(|one, other| {
        other
            .spread
            .total_cmp(&one.spread)
            .then(one.lowest.total_cmp(&other.lowest))
            .then_with(|| one.name.cmp(&other.name))
    });
    rows
}

fn cell(outcome: &TaskOutcome) -> GridCell {
    GridCell {
        mark: mark(outcome),
        score: outcome.score,
        is_critical: outcome.critical_misses > 0,
        task_run: outcome.task_runs.first().copied(),
    }
}
