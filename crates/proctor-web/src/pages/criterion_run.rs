//! `/ui/criterion-runs/{id}`: a criterion with all of its evidence, and the events behind it.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    response::Response,
    routing::get,
};
use proctor_core::{
    criterion_run::CriterionRun,
    definition::{Check, Criterion},
    id::kinds::CriterionRunId,
};
use serde_json::Value;

use super::{page, task_run::Found};
use crate::{
    error::PageError,
    evidence::{self, Evidence},
    html::{self, Html, Mark},
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
    timeline::{
        describe::{Line, line},
        index::{Depth, WorldIndex},
        links::Linked,
    },
};

/// How many events are listed.
const EVENTS: usize = 200;

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/criterion-runs/{id}", get(criterion_run))
}

#[derive(Template)]
#[template(path = "criterion_run.html")]
struct CriterionRunPage<'p> {
    shell: Shell,
    found: &'p Found,
    task_name: &'p str,
    criterion: &'p Criterion,
    run: &'p CriterionRun,
    mark: Mark,
    evidence: Evidence,
    phrases: Vec<Phrase>,
    events: Vec<Line>,
    nearest: Vec<Line>,
    more: usize,
    kind: Option<String>,
    assertion: Html,
    raw: Html,
}

struct Phrase {
    phrase: String,
    turn: Option<u64>,
    href: Option<String>,
}

impl CriterionRunPage<'_> {
    fn event_link(&self, event: &Line) -> String {
        let (task_run, run) = (self.found.task_run.id, self.run.id);
        format!(
            "/ui/task-runs/{task_run}?criterion={run}&event={}#{}",
            event.id, event.id
        )
    }

    fn violation_link(&self, event: &str) -> String {
        let (task_run, run) = (self.found.task_run.id, self.run.id);
        let event = html::encode(event);
        format!("/ui/task-runs/{task_run}?criterion={run}&event={event}#{event}")
    }

    fn own_score(&self) -> Option<f64> {
        evidence::own_score(&self.run.evidence)
    }
}

async fn criterion_run(
    State(state): State<WebState>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let missing = || PageError::not_found("criterion run");
    let id: CriterionRunId = id.parse().map_err(|_| missing())?;
    let run = state.store().criterion_run(id).await?.ok_or_else(missing)?;
    let found = Found::find(&state, &visitor, run.task_run).await?;
    if !found.model.shows_evidence {
        return Err(missing());
    }
    let task = found.task()?;
    let criterion = task.criteria.iter().find(|one| one.id == run.criterion);
    let criterion = criterion.ok_or_else(missing)?;
    let world = state.world(run.task_run).await?;
    let mut index = world.lock().await;
    index.follow(std::slice::from_ref(&run), Depth::All).await;
    state.note_world(run.task_run, &index);
    let read = evidence::read(&run.evidence);
    let links = index.links(id);
    let more = links.events.len().saturating_sub(EVENTS);
    let events = lines(&index, &links.events).await;
    let nearest = lines(&index, &links.nearest).await;
    let assertion = match &criterion.check {
        Check::Assertion(value) => value.clone(),
        Check::Scorer(scorer) => serde_json::to_value(scorer).unwrap_or(Value::Null),
    };
    let phrases = read.phrases.iter().map(|one| Phrase {
        phrase: one.phrase.clone(),
        turn: one.turn,
        href: one
            .turn
            .and_then(|turn| index.event_of_turn(turn))
            .map(|event| {
                format!(
                    "/ui/task-runs/{}?criterion={id}&event={event}#{event}",
                    run.task_run
                )
            }),
    });
    page(&CriterionRunPage {
        shell: visitor.shell(criterion.label.clone(), Section::Runs),
        task_name: &task.name,
        mark: Mark::of_score(run.score.value()),
        phrases: phrases.collect(),
        events,
        nearest,
        more,
        kind: ["type", "check", "kind"]
            .iter()
            .find_map(|name| assertion[*name].as_str().map(str::to_owned)),
        assertion: html::json(&assertion),
        raw: html::json(&run.evidence),
        evidence: read,
        criterion,
        run: &run,
        found: &found,
    })
}

/// Events as lines; where they cannot be read, none.
async fn lines(index: &WorldIndex, linked: &[Linked]) -> Vec<Line> {
    let places: Vec<u64> = linked.iter().take(EVENTS).map(|one| one.seq).collect();
    let events = index.at(&places).await.unwrap_or_default();
    events.iter().map(line).collect()
}
