//! What is done from the page of a run: ranking it, judging it again, and the look at what it should be compared with.

use askama::Template;
use axum::{
    Form, Router,
    extract::{Path, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::post,
};
use proctor_core::{
    id::kinds::{RunId, TaskRunId},
    run::{Run, RunStatus},
};
use proctor_engine::runs::{Judges, Rubrics};
use proctor_store::{
    page::{PageRequest, PageStart},
    run_lists::RunFilter,
};
use serde::Deserialize;

use super::{
    compare::sides::{Compared, compared, question},
    page,
    run::run_id,
};
use crate::{
    error::PageError,
    html::{self, Html, Mark},
    query::Params,
    run_model::{RunModel, counted_score, mark_of, taker},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

/// The most characters of a reason.
const LONGEST_REASON: usize = 1000;
/// How many task runs are judged again at once.
const AT_ONCE: usize = 25;
/// Up to how many tasks a run is compared with the one before without being asked.
const SMALL: usize = 20_000;
/// How many earlier runs are looked at for one to compare with.
const LOOKED_AT: u32 = 30;

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/runs/{id}/rank", post(rank))
        .route("/ui/runs/{id}/score-again", post(score_again))
}

/// The run that a run is compared with, and what that came to.
pub(crate) struct Baseline {
    pub(crate) href: String,
    pub(crate) taker: Html,
    pub(crate) run: RunId,
    pub(crate) difference: String,
    pub(crate) low: String,
    pub(crate) high: String,
    pub(crate) tone: &'static str,
    pub(crate) word: &'static str,
    pub(crate) counts: [usize; 3],
    pub(crate) is_same_agent: bool,
}

/// What a completed run is compared with: the newest one before it of the same frozen tasks, of the same agent if there is one.
pub(crate) async fn baseline(
    state: &WebState,
    visitor: &Visitor,
    model: &RunModel,
) -> Result<Option<Baseline>, PageError> {
    let run = &model.run;
    if run.status() != RunStatus::Completed || model.rows.len() > SMALL {
        return Ok(None);
    }
    let filter = RunFilter {
        benchmark: Some(run.pinned.benchmark),
        solver: visitor.solver(),
        statuses: Some(vec![RunStatus::Completed]),
        ..RunFilter::default()
    };
    let request = PageRequest {
        limit: LOOKED_AT,
        from: PageStart::After(run.id),
        count: false,
    };
    let earlier = state
        .store()
        .find_runs(visitor.organization(), &filter, request)
        .await?;
    let same: Vec<&Run> = earlier
        .items
        .iter()
        .filter(|one| one.pinned.digest == run.pinned.digest)
        .collect();
    let is_same = |one: &&&Run| one.agent == run.agent && one.solver == run.solver;
    let own = same.iter().find(is_same).copied();
    let Some(before) = own.or_else(|| same.first().copied()) else {
        return Ok(None);
    };
    let (a, b) = (std::slice::from_ref(before), std::slice::from_ref(run));
    let asked = question(state, visitor, a, b, &Params::default()).await?;
    let Ok(found) = compared(state, &asked).await? else {
        return Ok(None);
    };
    let Compared { report, .. } = &*found;
    let numbers = &report.comparison;
    Ok(Some(Baseline {
        href: format!("/ui/compare?a={}&b={}", before.id, run.id),
        taker: html::short(taker(state, before).await?, 60),
        run: before.id,
        difference: html::difference(numbers.difference),
        low: html::difference(numbers.low),
        high: html::difference(numbers.high),
        tone: report.tone(),
        word: match report.tone() {
            "better" => "This run is better",
            "worse" => "This run is worse",
            _ => "No difference can be seen",
        },
        counts: [numbers.better, numbers.worse, numbers.same],
        is_same_agent: own.is_some(),
    }))
}

#[derive(Deserialize)]
struct Rank {
    token: String,
    ranked: String,
    #[serde(default)]
    reason: String,
}

/// Puts a run on the leaderboard, or takes it off.
async fn rank(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    Form(form): Form<Rank>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let id = run_id(&id)?;
    let found = state.store().run(id).await?.map(|found| found.value);
    found
        .filter(|run| visitor.sees(run))
        .ok_or_else(|| PageError::not_found("run"))?;
    let reason = form.reason.trim();
    if reason.chars().count() > LONGEST_REASON {
        return Err(PageError::bad_request(
            "A reason has at most 1,000 characters.",
        ));
    }
    let reason = (!reason.is_empty()).then(|| reason.to_owned());
    state
        .engine()
        .rank_run(id, form.ranked == "yes", reason)
        .await?;
    Ok(Redirect::to(&format!("/ui/runs/{id}")).into_response())
}

#[derive(Deserialize)]
struct Again {
    token: String,
    #[serde(default)]
    from: usize,
}

/// A task run that was judged again.
struct AgainRow {
    href: String,
    name: Html,
    before: (Mark, Option<f64>),
    now: Option<(Mark, f64)>,
    why_not: Option<String>,
}

impl AgainRow {
    fn differs(&self) -> bool {
        match (self.before.1, &self.now) {
            (Some(before), Some((_, now))) => (before - now).abs() > 1e-9,
            _ => false,
        }
    }
}

#[derive(Template)]
#[template(path = "score_again.html")]
struct AgainPage<'m> {
    shell: Shell,
    model: &'m RunModel,
    rows: Vec<AgainRow>,
    from: usize,
    total: usize,
    next: Option<usize>,
}

impl AgainPage<'_> {
    fn differ(&self) -> usize {
        self.rows.iter().filter(|row| row.differs()).count()
    }
}

/// Judges the task runs of a run again, some at a time, beside what is on record. Nothing is written.
async fn score_again(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    Form(form): Form<Again>,
) -> Result<Response, PageError> {
    visitor.check_token(&form.token)?;
    visitor.require_organization()?;
    let model = RunModel::load(&state, &visitor, run_id(&id)?).await?;
    if !model.shows_evidence {
        return Err(PageError::forbidden(
            "This run shows scores only; the benchmark's owner may judge it again.",
        ));
    }
    let judged: Vec<(TaskRunId, &str)> = model
        .rows
        .iter()
        .filter_map(|row| Some((row.id?, row.name.as_str())))
        .collect();
    let total = judged.len();
    let mut rows = Vec::new();
    for (id, name) in judged.iter().skip(form.from).take(AT_ONCE) {
        rows.push(again(&state, *id, name).await?);
    }
    let reached = form.from + rows.len();
    page(&AgainPage {
        shell: visitor.shell(format!("{}: scored again", model.title()), Section::Runs),
        from: form.from,
        next: (reached < total).then_some(reached),
        total,
        rows,
        model: &model,
    })
}

async fn again(state: &WebState, id: TaskRunId, name: &str) -> Result<AgainRow, PageError> {
    let found = state.store().task_run(id).await?;
    let task_run = found.ok_or_else(|| PageError::not_found("task run"))?.value;
    let before = (mark_of(&task_run), counted_score(&task_run));
    let mut row = AgainRow {
        href: format!("/ui/task-runs/{id}"),
        name: html::short(name, 120),
        before,
        now: None,
        why_not: None,
    };
    if task_run.devbox.is_some() {
        row.why_not = Some("its scorers run in a box; score it again through the API".to_owned());
        return Ok(row);
    }
    let judged = state
        .engine()
        .rescore(id, Rubrics::Own, Judges::Recorded)
        .await;
    match judged {
        Ok(judged) => row.now = Some((judged.card.verdict.into(), judged.card.score.value())),
        Err(error) => row.why_not = Some(error.to_string()),
    }
    Ok(row)
}
