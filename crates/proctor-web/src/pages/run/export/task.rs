//! A task run in an export: its criteria with all of their evidence, and events.

use askama::Template;
use proctor_core::{
    definition::Task,
    id::kinds::{TaskRunId, WorldId},
    task_run::TaskRun,
};
use proctor_store::journal::Head;

use super::Export;
use crate::{
    error::PageError,
    evidence::{self, Evidence},
    html::{self, Html, Mark},
    pages::task_run::criteria::{CriterionView, views},
    query::Params,
    run_model::{self, TaskRow},
    timeline::{
        describe::{Line, line},
        detail::{Part, parts},
        index::{Depth, WorldIndex},
    },
};

/// How many events are on a page of the archive; the journal beside it has all.
const MOST_EVENTS: usize = 2000;

/// Which events belong to a task run's section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Events {
    /// Those behind its criteria.
    Linked,
    /// All, up to a bound.
    All,
}

/// A task run as a section.
#[derive(Template)]
#[template(path = "export_task.html")]
pub(super) struct TaskSection<'e> {
    row: &'e TaskRow,
    task: &'e Task,
    task_run: TaskRun,
    mark: Mark,
    criteria: Vec<ExportedCriterion>,
    events: Vec<ExportedEvent>,
    /// How many events the world has.
    total: usize,
    head: Option<Head>,
    shows_evidence: bool,
    problem: Option<String>,
}

struct ExportedCriterion {
    view: CriterionView,
    evidence: Evidence,
}

struct ExportedEvent {
    line: Line,
    at: String,
    parts: Vec<Part>,
}

impl TaskSection<'_> {
    fn took(&self) -> Option<String> {
        self.row.took.map(html::duration)
    }

    fn head(&self) -> Option<String> {
        let head = self.head?;
        Some(head.hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn prompt(&self) -> Html {
        match &self.task.brief {
            serde_json::Value::String(text) => html::text(text),
            other => html::json(other),
        }
    }

    /// Where a journal ends, for whoever wants to check it.
    pub(super) fn journal_head(&self) -> Option<Head> {
        self.head
    }
}

/// Reads a task run for an export.
pub(super) async fn section<'e>(
    export: &'e Export,
    row: &'e TaskRow,
    id: TaskRunId,
    which: Events,
) -> Result<TaskSection<'e>, PageError> {
    let store = export.state.store();
    let missing = || PageError::not_found("task run");
    let task_run = store.task_run(id).await?.ok_or_else(missing)?.value;
    let task = export.model.prepared.task(row.task)?.0;
    let shows = export.model.shows_evidence;
    let mut judged = match shows {
        true => store.criterion_runs(id).await?,
        false => Vec::new(),
    };
    let world = match shows && task_run.devbox.is_none() && task_run.started_at().is_some() {
        true => export.state.world(id).await.ok(),
        false => None,
    };
    let mut nothing = WorldIndex::new(None);
    let mut world = match &world {
        Some(world) => Some(world.lock().await),
        None => None,
    };
    let index = world.as_deref_mut().unwrap_or(&mut nothing);
    index.follow(&judged, Depth::All).await;
    export.state.note_world(id, index);
    for found in &mut judged {
        found.details = export.redaction.text(&found.details);
        export.redaction.value(&mut found.evidence);
    }
    let criteria = views(task, &judged, index, None, &Params::default());
    let places = match which {
        Events::Linked => linked(&criteria),
        Events::All => (0..index.entries().len().min(MOST_EVENTS) as u64).collect(),
    };
    let mut problem = index.problem().map(str::to_owned);
    let events = index.at(&places).await.unwrap_or_else(|error| {
        problem = Some(error.to_string());
        Vec::new()
    });
    let began = task_run.started_at().unwrap_or(task_run.created_at);
    let events = events.into_iter().map(|mut event| {
        export.redaction.value(&mut event.payload);
        let line = line(&event);
        ExportedEvent {
            at: html::offset(line.at, began),
            parts: parts(&event),
            line,
        }
    });
    let head = match task_run.devbox {
        Some(_) => None,
        None => {
            let head = store.journal().head(WorldId::from_uuid(id.uuid())).await?;
            Some(head).filter(|head| head.next > 0 && shows)
        }
    };
    let criteria = criteria.into_iter().map(|view| {
        let found = judged.iter().find(|found| Some(found.id) == view.id);
        ExportedCriterion {
            evidence: found.map_or_else(Evidence::default, |found| evidence::read(&found.evidence)),
            view,
        }
    });
    Ok(TaskSection {
        mark: run_model::mark_of(&task_run),
        criteria: criteria.collect(),
        events: events.collect(),
        total: index.entries().len(),
        shows_evidence: shows,
        head,
        problem,
        row,
        task,
        task_run,
    })
}

/// The places of the events that criteria rest on, in their order.
fn linked(criteria: &[CriterionView]) -> Vec<u64> {
    let of = criteria.iter().flat_map(|one| {
        let shown = one.events.iter().chain(&one.nearest);
        shown.map(|event| event.seq)
    });
    let mut places: Vec<u64> = of.collect();
    places.sort_unstable();
    places.dedup();
    places
}
