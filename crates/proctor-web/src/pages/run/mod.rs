//! `/ui/runs/{id}`: what a run came to, why points were lost, what the platform broke, and its tasks, worst first.

mod export;
mod heat_map;

use std::sync::Arc;

use askama::Template;
use axum::{
    Json, Router,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use proctor_core::{
    id::{Dialect, kinds::RunId},
    run::RunStatus,
    scoring::{CriticalMiss, DEFAULT_AXIS},
};

use super::{
    page,
    run_actions::{Baseline, baseline},
};
use crate::{
    error::PageError,
    html::{self, Given, Html, Mark},
    query::Params,
    run_model::{Loss, RunModel, TaskRow},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// How many tasks are on a page.
const A_PAGE: usize = 100;
/// How many critical misses are listed.
const CRITICAL: usize = 5;
/// How many reasons are listed at first.
const LOSSES: usize = 12;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/runs/{id}", get(run))
        .route("/ui/runs/{id}/tasks/{place}", get(task))
        .route("/ui/runs/{id}/cells/{block}", get(cells))
        .merge(export::routes())
}

/// Reads the id of a run in either dialect's spelling.
pub(crate) fn run_id(text: &str) -> Result<RunId, PageError> {
    RunId::from_wire(text, Dialect::Verial)
        .or_else(|_| RunId::from_wire(text, Dialect::Runloop))
        .map_err(|_| PageError::not_found("run"))
}

/// The rows that a filter leaves, in its order. The task run page steps through the same.
pub(crate) fn chosen<'m>(model: &'m RunModel, params: &Params) -> Vec<&'m TaskRow> {
    let sought = params.get("q").map(str::to_lowercase);
    let show = params.get("show").unwrap_or_default();
    let loss = params
        .number("loss")
        .and_then(|number| model.losses.get(usize::try_from(number).ok()?));
    let mut rows: Vec<&TaskRow> = model
        .rows
        .iter()
        .filter(|row| match show {
            "" | "all" => true,
            "failed" => matches!(row.mark, Mark::Fail | Mark::Partial),
            word => row.mark.word() == word,
        })
        .filter(|row| loss.is_none_or(|loss| loss.places.binary_search(&row.place).is_ok()))
        .filter(|row| {
            sought.as_ref().is_none_or(|sought| {
                let id = row.id.map(|id| id.to_string().to_lowercase());
                row.name.to_lowercase().contains(sought) || id.is_some_and(|id| id.contains(sought))
            })
        })
        .collect();
    let score = |row: &TaskRow| row.score.unwrap_or(2.0);
    match params.get("sort").unwrap_or("worst") {
        "name" => rows.sort_by(|one, other| one.name.cmp(&other.name)),
        "time" => rows.sort_by_key(|row| std::cmp::Reverse(row.took)),
        "order" => {}
        _ => rows.sort_by(|one, other| {
            let critical = other
                .critical_misses
                .min(1)
                .cmp(&one.critical_misses.min(1));
            one.mark
                .cmp(&other.mark)
                .then(critical)
                .then(score(one).total_cmp(&score(other)))
        }),
    }
    rows
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage<'m> {
    shell: Shell,
    model: &'m RunModel,
    params: Params,
    rows: Vec<&'m TaskRow>,
    found: usize,
    part: usize,
    parts: usize,
    heat_map: Option<heat_map::HeatMap>,
    baseline: Option<Baseline>,
    is_organization: bool,
}

/// A chip that filters.
struct Chip {
    label: &'static str,
    sign: &'static str,
    class: &'static str,
    count: usize,
    link: String,
    is_on: bool,
}

impl<'m> RunPage<'m> {
    /// The numbers of a run without a page around them.
    fn alone(model: &'m RunModel) -> Self {
        Self {
            shell: Shell::bare(),
            model,
            params: Params::default(),
            rows: Vec::new(),
            found: 0,
            part: 1,
            parts: 1,
            heat_map: None,
            baseline: None,
            is_organization: false,
        }
    }
}

impl RunPage<'_> {
    fn chips(&self) -> Vec<Chip> {
        let counts = self.model.counts();
        let plain = self.params.without("part");
        let current = self.params.get("show").unwrap_or("all");
        let mut chips = vec![Chip {
            label: "all",
            sign: "",
            class: "",
            count: self.model.rows.len(),
            link: plain.without("show").link(),
            is_on: current == "all",
        }];
        let failed = self.model.count(Mark::Fail) + self.model.count(Mark::Partial);
        chips.push(Chip {
            label: "not passed",
            sign: "",
            class: "",
            count: failed,
            link: plain.link_with("show", "failed"),
            is_on: current == "failed",
        });
        chips.extend(Mark::ALL.into_iter().filter_map(|mark| {
            let count = *counts.get(&mark)?;
            Some(Chip {
                label: mark.word(),
                sign: mark.sign(),
                class: mark.word(),
                count,
                link: plain.link_with("show", mark.word()),
                is_on: current == mark.word(),
            })
        }));
        chips
    }

    fn sorts(&self) -> Vec<(&'static str, String, bool)> {
        let plain = self.params.without("part");
        [
            ("worst", "worst first"),
            ("name", "name"),
            ("time", "slowest"),
            ("order", "task order"),
        ]
        .into_iter()
        .map(|(word, label)| {
            let is_on = self.params.get("sort").unwrap_or("worst") == word;
            (label, plain.link_with("sort", word), is_on)
        })
        .collect()
    }

    fn axes(&self) -> Vec<(String, f64)> {
        let axes = self.model.run.card().map(|card| card.axes.iter());
        let axes = axes.into_iter().flatten().map(|(name, axis)| {
            let name = if name == DEFAULT_AXIS {
                "general"
            } else {
                name
            };
            (name.to_owned(), axis.score.value())
        });
        axes.collect()
    }

    /// The marks as one bar.
    fn split(&self) -> Html {
        let total = self.model.rows.len().max(1) as f64;
        let mut at = 0.0;
        let mut bar = String::new();
        let mut words = Vec::new();
        for (mark, count) in Mark::ALL
            .iter()
            .filter_map(|mark| Some((mark, *self.model.counts().get(mark)?)))
        {
            let width = count as f64 / total * 100.0;
            bar.push_str(&format!(
                "<rect class=fill-{} x={at:.2} width={width:.2} height=12 />",
                mark.word()
            ));
            at += width;
            words.push(format!("{count} {}", mark.word()));
        }
        Html::trusted(format!(
            "<svg class=split viewBox=\"0 0 100 12\" preserveAspectRatio=none role=img aria-label=\"{}\">{bar}</svg>",
            words.join(", ")
        ))
    }

    fn score(&self) -> String {
        html::score(self.model.summary.score)
    }

    fn interval(&self) -> Option<(String, String)> {
        let interval = self.model.summary.interval?;
        Some((html::score(interval.low), html::score(interval.high)))
    }

    /// The score as the API counts, where that is another.
    fn api_score(&self) -> Option<String> {
        let api = self.model.run.card()?.score.value();
        let own = self.model.summary.score?;
        ((api - own).abs() > 5e-4).then(|| html::score(api))
    }

    fn losses(&self) -> impl Iterator<Item = (usize, &Loss)> {
        self.model.losses.iter().enumerate().take(LOSSES)
    }

    fn loss_link(&self, number: impl Given<usize>) -> String {
        let plain = self.params.without("part").without("show");
        plain.link_with("loss", &number.given().to_string())
    }

    fn voids(&self) -> Vec<&TaskRow> {
        self.model
            .rows
            .iter()
            .filter(|row| row.mark == Mark::Void)
            .collect()
    }

    fn first_voids(&self) -> Vec<&TaskRow> {
        self.voids().into_iter().take(4).collect()
    }

    /// The critical criteria that were missed, by task and criterion, the first few.
    fn critical(&self) -> Vec<&CriticalMiss> {
        let misses = self
            .model
            .run
            .card()
            .map(|card| card.critical_misses.iter());
        misses.into_iter().flatten().take(CRITICAL).collect()
    }

    fn critical_count(&self) -> usize {
        let card = self.model.run.card();
        card.map_or(0, |card| card.critical_misses.len())
    }

    /// The task run in which something critical was missed.
    fn row_of(&self, miss: &CriticalMiss) -> Option<&TaskRow> {
        let mut rows = self.model.rows.iter();
        rows.find(|row| row.task == miss.task && row.id.is_some())
    }

    fn is_ranked(&self) -> bool {
        self.model.run.ranked_at.is_some()
    }

    fn can_be_ranked(&self) -> bool {
        let run = &self.model.run;
        self.is_organization && run.status() == RunStatus::Completed && run.pinned.version.is_some()
    }

    fn took(&self) -> Option<String> {
        let run = &self.model.run;
        let (began, ended) = (run.started_at()?, run.ended_at()?);
        Some(html::duration(ended.since(began)))
    }

    fn done(&self) -> usize {
        let open = |row: &&TaskRow| matches!(row.mark, Mark::Running | Mark::Waiting);
        self.model.rows.len() - self.model.rows.iter().filter(open).count()
    }

    fn task_link(&self, row: &TaskRow) -> String {
        let params = self.params.without("part").link();
        match row.id {
            Some(id) if params == "?" => format!("/ui/task-runs/{id}"),
            Some(id) => format!("/ui/task-runs/{id}?in={}", html::encode(&params[1..])),
            None => String::new(),
        }
    }

    fn part_link(&self, part: impl Given<usize>) -> String {
        self.params.link_with("part", &part.given().to_string())
    }
}

async fn run(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let model: Arc<RunModel> = RunModel::load(&state, &visitor, run_id(&id)?).await?;
    let params = Params::read(query.as_deref());
    let rows = chosen(&model, &params);
    let found = rows.len();
    let parts = found.div_ceil(A_PAGE).max(1);
    let part = params
        .number("part")
        .and_then(|part| usize::try_from(part).ok());
    let part = part.unwrap_or(1).clamp(1, parts);
    let rows = rows
        .into_iter()
        .skip((part - 1) * A_PAGE)
        .take(A_PAGE)
        .collect();
    let title = format!("{} on {}", model.title(), model.benchmark);
    let mut shell = visitor.shell(title, Section::Runs);
    if !model.run.is_over() {
        shell = shell.following(format!("run:{}", model.run.id));
    }
    page(&RunPage {
        shell,
        heat_map: heat_map::draw(&model.rows),
        baseline: baseline(&state, &visitor, &model).await?,
        is_organization: visitor.solver().is_none(),
        model: &model,
        params,
        rows,
        found,
        part,
        parts,
    })
}

/// Leads to the task run at a place: the heat map knows places, not ids.
async fn task(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((id, place)): Path<(String, usize)>,
) -> Result<Response, PageError> {
    let model = RunModel::load(&state, &visitor, run_id(&id)?).await?;
    let row = place.checked_sub(1).and_then(|place| model.rows.get(place));
    let task_run = row.and_then(|row| row.id);
    let task_run = task_run.ok_or_else(|| PageError::not_found("task run"))?;
    Ok(Redirect::to(&format!("/ui/task-runs/{task_run}")).into_response())
}

/// What a block of the heat map's cells is called, as JSON: maps of thousands have no names in the page.
async fn cells(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((id, block)): Path<(String, usize)>,
) -> Result<Response, PageError> {
    let model = RunModel::load(&state, &visitor, run_id(&id)?).await?;
    let begin = block
        .saturating_mul(heat_map::A_BLOCK)
        .min(model.rows.len());
    let end = (begin + heat_map::A_BLOCK).min(model.rows.len());
    Ok(Json(heat_map::names_of(&model.rows[begin..end])).into_response())
}
