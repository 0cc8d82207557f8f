//! `/ui/task-runs/{id}`: the criteria on the left, one timeline of all protocols on the right, and the way from each criterion to the
//! event that made it hold or fail.

mod criteria;
mod logs;
mod timeline;

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use proctor_core::{
    definition::Task,
    id::{
        Dialect,
        kinds::{CriterionRunId, TaskRunId},
    },
    task_run::TaskRun,
    time::Timestamp,
};
use proctor_playground::world::WorldEvent;

use self::{
    criteria::{CriterionView, views},
    timeline::Timeline,
};
use super::{page, run};
use crate::{
    error::PageError,
    html::{self, Html, Mark},
    query::Params,
    run_model::{self, RunModel},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/ui/task-runs/{id}", get(task_run))
        .merge(logs::routes())
}

/// Reads the id of a task run in either dialect's spelling.
pub(crate) fn task_run_id(text: &str) -> Result<TaskRunId, PageError> {
    TaskRunId::from_wire(text, Dialect::Verial)
        .or_else(|_| TaskRunId::from_wire(text, Dialect::Runloop))
        .map_err(|_| PageError::not_found("task run"))
}

/// A task run that the visitor may see, with its run.
pub(crate) struct Found {
    pub(crate) task_run: TaskRun,
    pub(crate) model: Arc<RunModel>,
}

impl Found {
    /// Finds a task run of a run that the visitor may see.
    pub(crate) async fn find(
        state: &WebState,
        visitor: &Visitor,
        id: TaskRunId,
    ) -> Result<Self, PageError> {
        let missing = || PageError::not_found("task run");
        let found = state.store().task_run(id).await?.ok_or_else(missing)?;
        let run = found.value.run.ok_or_else(missing)?;
        let model = RunModel::load(state, visitor, run).await?;
        Ok(Self {
            task_run: found.value,
            model,
        })
    }

    pub(crate) fn task(&self) -> Result<&Task, PageError> {
        Ok(self.model.prepared.task(self.task_run.task)?.0)
    }
}

/// One step among the task runs of the filter that the reader came with.
struct Steps {
    place: usize,
    of: usize,
    what: &'static str,
    previous: Option<String>,
    next: Option<String>,
}

fn steps(model: &RunModel, id: TaskRunId, within: Option<&str>, mark: Mark) -> Option<Steps> {
    let is_failed = matches!(mark, Mark::Fail | Mark::Partial);
    let (query, what) = match within {
        Some(query) => (query.to_owned(), "in this filter"),
        None if is_failed => ("show=failed".to_owned(), "not passed"),
        None => (String::new(), "tasks"),
    };
    let rows = run::chosen(model, &Params::read(Some(&query)));
    let ids: Vec<TaskRunId> = rows.iter().filter_map(|row| row.id).collect();
    let place = ids.iter().position(|one| *one == id)?;
    let link = |id: &TaskRunId| format!("/ui/task-runs/{id}?in={}", html::encode(&query));
    Some(Steps {
        place: place + 1,
        of: ids.len(),
        what,
        previous: place
            .checked_sub(1)
            .and_then(|place| ids.get(place))
            .map(link),
        next: ids.get(place + 1).map(link),
    })
}

#[derive(Template)]
#[template(path = "task_run.html")]
struct TaskRunPage<'p> {
    shell: Shell,
    model: &'p RunModel,
    task: &'p Task,
    task_run: &'p TaskRun,
    mark: Mark,
    why: Option<String>,
    params: Params,
    steps: Option<Steps>,
    criteria: Vec<CriterionView>,
    timeline: Option<Timeline>,
    /// Why there is no timeline, if there is none.
    no_timeline: Option<String>,
    tab: &'static str,
    head: Option<String>,
    prompt: Html,
    raw: Html,
    logs: Vec<logs::LogLink>,
}

impl TaskRunPage<'_> {
    fn score(&self) -> String {
        html::score(run_model::counted_score(self.task_run))
    }

    fn took(&self) -> Option<String> {
        let began = self.task_run.started_at()?;
        Some(html::duration(self.task_run.ended_at()?.since(began)))
    }

    fn limit(&self) -> Option<String> {
        let limit: Duration = self.task.timeout?.into();
        Some(html::duration(limit))
    }

    fn critical(&self) -> Vec<&proctor_core::scoring::CriticalMiss> {
        let misses = self.task_run.card().map(|card| card.critical_misses.iter());
        misses.into_iter().flatten().collect()
    }

    fn failed(&self) -> usize {
        self.criteria.iter().filter(|one| one.is_failed).count()
    }

    fn tabs(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut tabs = vec![("timeline", "Timeline")];
        if self.task_run.devbox.is_some() {
            tabs = vec![("timeline", "Scorers")];
        }
        tabs.extend([("prompt", "Prompt"), ("raw", "Raw")]);
        let plain = self.params.without("event").without("q");
        let link = |word: &str| match word {
            "timeline" => plain.without("tab").link(),
            word => plain.link_with("tab", word),
        };
        tabs.into_iter()
            .map(|(word, label)| (word, label, link(word)))
            .collect()
    }

    fn is_devbox(&self) -> bool {
        self.task_run.devbox.is_some()
    }
}

async fn task_run(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let id = task_run_id(&id)?;
    let params = Params::read(query.as_deref());
    let found = Found::find(&state, &visitor, id).await?;
    let (model, task) = (&found.model, found.task()?);
    let task_run = &found.task_run;
    let shows = model.shows_evidence;
    let (events, problem) = match shows {
        true => events(&state, id).await,
        false => (Vec::new(), None),
    };
    let criterion_runs = match shows {
        true => state.store().criterion_runs(id).await?,
        false => Vec::new(),
    };
    let selected = params
        .get("criterion")
        .and_then(|id| id.parse::<CriterionRunId>().ok());
    let criteria = views(task, &criterion_runs, &events, selected, &params);
    let began = task_run.started_at().unwrap_or(task_run.created_at);
    let timeline = (shows && task_run.devbox.is_none())
        .then(|| Timeline::of(&events, &criteria, &params, began, task_run.ended_at()));
    let mark = run_model::mark_of(task_run);
    let mut shell = visitor.shell(task.name.clone(), Section::Runs);
    if !task_run.is_over() {
        shell = shell.following(format!("task-run:{id}"));
    }
    let tab = match params.get("tab") {
        Some("prompt") => "prompt",
        Some("raw") if shows => "raw",
        _ => "timeline",
    };
    page(&TaskRunPage {
        shell,
        steps: steps(model, id, params.get("in"), mark),
        model,
        task,
        mark,
        why: run_model::why(task_run),
        criteria,
        no_timeline: problem.filter(|_| timeline.is_some()),
        timeline,
        tab,
        head: match shows && task_run.devbox.is_none() {
            true => head(&state, id).await,
            false => None,
        },
        prompt: match &task.brief {
            serde_json::Value::String(text) => html::text(text),
            other => html::json(other),
        },
        raw: match tab {
            "raw" => raw(task_run, &criterion_runs),
            _ => Html::default(),
        },
        logs: match shows {
            true => logs::links(task_run),
            false => Vec::new(),
        },
        params,
        task_run,
    })
}

/// The events of a task run's world. Where they cannot be read, the rest of the page is still shown.
pub(crate) async fn events(state: &WebState, id: TaskRunId) -> (Vec<WorldEvent>, Option<String>) {
    match state.engine().task_run_events(id).await {
        Ok(events) => (events, None),
        Err(error) => {
            let error = proctor_core::causes::with_causes(&error).to_string();
            tracing::warn!(task_run = %id, error, "the events of a world cannot be read");
            (Vec::new(), Some(error))
        }
    }
}

/// The head of the journal: what an auditor compares.
async fn head(state: &WebState, id: TaskRunId) -> Option<String> {
    let world = proctor_core::id::kinds::WorldId::from_uuid(id.uuid());
    let head = state.store().journal().head(world).await.ok()?;
    let hash = head.hash.iter().map(|byte| format!("{byte:02x}"));
    (head.next > 0).then(|| hash.collect())
}

fn raw(task_run: &TaskRun, criterion_runs: &[proctor_core::criterion_run::CriterionRun]) -> Html {
    let found: Vec<serde_json::Value> = criterion_runs
        .iter()
        .map(|one| {
            serde_json::json!({
                "id": one.id, "criterion_id": one.criterion, "passed": one.passed, "score": one.score,
                "details": one.details, "evidence": one.evidence,
                "started_at": one.started_at, "completed_at": one.completed_at,
            })
        })
        .collect();
    html::json(&serde_json::json!({
        "id": task_run.id, "task_id": task_run.task, "created_at": task_run.created_at,
        "state": task_run.state, "criterion_runs": found,
    }))
}

/// How long after the beginning something happened.
fn offset(at: Timestamp, began: Timestamp) -> String {
    html::offset(at, began)
}
