//! `/ui/task-runs/{id}`: the criteria on the left, one timeline of all protocols on the right, and the way from each criterion to the
//! event that made it hold or fail.

pub(crate) mod criteria;
mod disk;
mod logs;
mod timeline;
mod trajectory;

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery, State},
    response::Response,
    routing::get,
};
use http::{HeaderValue, header};
use proctor_core::{
    definition::Task,
    id::{
        Dialect,
        kinds::{CriterionRunId, TaskRunId},
    },
    task_run::TaskRun,
    time::Timestamp,
};

use self::{
    criteria::{CriterionView, views},
    disk::DiskView,
    timeline::Timeline,
    trajectory::TrajectoryView,
};
use super::{page, run};
use crate::{
    error::PageError,
    html::{self, Html, Mark},
    query::Params,
    run_model::{self, RunModel},
    session::Visitor,
    shell::{Section, Shell},
    state::{SharedIndex, WebState},
    timeline::index::{Depth, WorldIndex},
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
    trajectory: Option<TrajectoryView>,
    has_trajectory: bool,
    /// What was changed on the disk of its box.
    disk: Option<DiskView>,
    has_disk: bool,
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
        if self.has_trajectory {
            tabs.push(("trajectory", "Trajectory"));
        }
        if self.has_disk {
            tabs.push(("disk", "Files and diff"));
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
    let criterion_runs = match shows {
        true => state.store().criterion_runs(id).await?,
        false => Vec::new(),
    };
    let selected = params
        .get("criterion")
        .and_then(|id| id.parse::<CriterionRunId>().ok());
    let (world, problem) = match shows {
        true => world(&state, id).await,
        false => (None, None),
    };
    let mut nothing = WorldIndex::new(None);
    let mut world = match &world {
        Some(world) => Some(world.lock().await),
        None => None,
    };
    let index = world.as_deref_mut().unwrap_or(&mut nothing);
    // Whoever asks for something in particular waits until all is read.
    let asks = ["from", "go", "event", "criterion", "lane", "show", "q"];
    let depth = match asks.iter().any(|name| params.get(name).is_some()) {
        true => Depth::All,
        false => Depth::FirstLook,
    };
    index.follow(&criterion_runs, depth).await;
    state.note_world(id, index);
    let criteria = views(task, &criterion_runs, index, selected, &params);
    let began = task_run.started_at().unwrap_or(task_run.created_at);
    let timeline = match shows && task_run.devbox.is_none() {
        true => Some(Timeline::of(index, &criteria, &params, began, task_run.ended_at()).await),
        false => None,
    };
    let is_behind = index.is_behind();
    let mark = run_model::mark_of(task_run);
    let mut shell = visitor.shell(task.name.clone(), Section::Runs);
    if !task_run.is_over() {
        shell = shell.following(format!("task-run:{id}"));
    }
    let tab = match params.get("tab") {
        Some("prompt") => "prompt",
        Some("raw") if shows => "raw",
        Some("trajectory") if shows => "trajectory",
        Some("disk") if shows => "disk",
        _ => "timeline",
    };
    let told = match shows {
        true => state.store().trajectory(id).await?,
        false => None,
    };
    let has_trajectory = told.is_some();
    let trajectory = match told.filter(|_| tab == "trajectory") {
        Some(document) => {
            let usage = state.store().usage_of_task_run(id).await?;
            Some(TrajectoryView::of(&document, &usage, &params))
        }
        None => None,
    };
    let has_disk = shows && disk::is_kept(&state, task_run).await?;
    let disk = match has_disk && tab == "disk" {
        true => Some(disk::view(&state, task_run).await),
        false => None,
    };
    let mut answer = page(&TaskRunPage {
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
        trajectory,
        has_trajectory,
        disk,
        has_disk,
        params,
        task_run,
    })?;
    if is_behind {
        // The page comes again until all is read, with or without a script.
        answer
            .headers_mut()
            .insert(header::REFRESH, HeaderValue::from_static("1"));
    }
    Ok(answer)
}

/// The index of a task run's world. Where it cannot be read, the rest of the page is still shown.
async fn world(state: &WebState, id: TaskRunId) -> (Option<SharedIndex>, Option<String>) {
    match state.world(id).await {
        Ok(world) => (Some(world), None),
        Err(error) => {
            let error = proctor_core::causes::with_causes(&error).to_string();
            tracing::warn!(task_run = %id, error, "the events of a world cannot be read");
            (None, Some(error))
        }
    }
}

/// The head of the journal: what an auditor compares.
async fn head(state: &WebState, id: TaskRunId) -> Option<String> {
    let world = proctor_core::id::kinds::WorldId::from_uuid(id.uuid());
    let head = state.store().journal().head(world).await.ok()?;
    (head.next > 0).then(|| head.hex())
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
