//! A task as it was frozen: what is asked, where, and what is checked.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use proctor_core::{
    definition::{Check, Criterion, Task, World},
    id::{
        Dialect,
        kinds::{TaskId, TaskRunId},
    },
};
use proctor_engine::catalog::Prepared;
use serde_json::Value;

use super::{Named, digest, find, statistics::TaskFigures, statistics::statistics};
use crate::{
    error::PageError,
    html::{self, Html, Mark},
    pages::{
        compare::sides::{mark, outcomes},
        page,
    },
    session::Visitor,
    shell::{Section, Shell},
    state::WebState,
};

#[derive(Template)]
#[template(path = "task_definition.html")]
struct TaskPage {
    shell: Shell,
    named: Named,
    prepared: Arc<Prepared>,
    place: usize,
    prompt: Html,
    doors: Vec<(String, String)>,
    figures: TaskFigures,
    strips: Vec<Strip>,
    shows_criteria: bool,
}

/// The task runs of an agent.
struct Strip {
    agent: String,
    cells: Vec<(Mark, Option<f64>, Option<TaskRunId>)>,
}

impl TaskPage {
    fn task(&self) -> &Task {
        &self.prepared.benchmark.tasks[self.place]
    }

    fn neighbour(&self, step: isize) -> Option<String> {
        let place = self.place.checked_add_signed(step)?;
        let task = self.prepared.benchmark.tasks.get(place)?;
        let name = self.named.versioned();
        Some(format!("/ui/benchmarks/{name}/tasks/{}", task.id))
    }

    fn count(&self) -> usize {
        self.prepared.benchmark.tasks.len()
    }

    fn limit(&self) -> Option<String> {
        let limit = self.task().timeout.or(self.prepared.benchmark.timeout)?;
        Some(html::duration(Duration::from(limit)))
    }

    fn is_critical(&self, criterion: &Criterion) -> bool {
        self.task().is_critical(criterion)
    }

    fn reference(&self) -> Option<Html> {
        let reference = &self.task().reference;
        (!reference.is_null()).then(|| match reference {
            Value::String(text) => html::short(text, 60_000),
            other => html::json(other),
        })
    }

    fn scenario(&self) -> Option<Html> {
        match &self.task().world {
            World::Playground { scenario, .. } if !scenario.is_empty() => {
                Some(html::json(&Value::Array(scenario.clone())))
            }
            _ => None,
        }
    }

    fn is_box(&self) -> bool {
        matches!(self.task().world, World::Devbox { .. })
    }
}

/// How a criterion is checked, in words, as far as its members tell.
fn in_words(criterion: &Criterion) -> Html {
    let assertion = match &criterion.check {
        Check::Scorer(_) => {
            return html::text("A scorer runs in the box after the agent and prints a score.");
        }
        Check::Assertion(assertion) => assertion,
    };
    let text = |name: &str| assertion[name].as_str().map(str::to_owned);
    let kind = text("assert")
        .or_else(|| text("type"))
        .or_else(|| text("check"));
    let kind = kind.unwrap_or_else(|| "assertion".to_owned());
    let mut said = format!("{}:", kind.replace(['-', '_'], " "));
    let Some(members) = assertion.as_object() else {
        return html::short(said, 200);
    };
    for (name, value) in members {
        if matches!(name.as_str(), "assert" | "type" | "check") {
            continue;
        }
        let shown = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) if items.iter().any(Value::is_object) => {
                format!("{} conditions", items.len())
            }
            Value::Object(members) => {
                let names: Vec<&str> = members.keys().map(String::as_str).collect();
                names.join(", ")
            }
            other => other.to_string(),
        };
        let shown: String = shown.chars().take(90).collect();
        said.push_str(&format!(" {} {shown};", name.replace(['-', '_'], " ")));
    }
    html::short(said.trim_end_matches(';'), 400)
}

fn assertion(criterion: &Criterion) -> Html {
    match &criterion.check {
        Check::Assertion(value) => html::json(value),
        Check::Scorer(scorer) => html::json(&serde_json::to_value(scorer).unwrap_or_default()),
    }
}

pub(super) async fn task(
    State(state): State<WebState>,
    visitor: Visitor,
    Path((name, id)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let missing = || PageError::not_found("task");
    let named = find(&state, &visitor, &name).await?;
    let digest = digest(&state, &visitor, &named)
        .await?
        .ok_or_else(missing)?;
    let id = TaskId::from_wire(&id, Dialect::Verial)
        .or_else(|_| TaskId::from_wire(&id, Dialect::Runloop))
        .map_err(|_| missing())?;
    let prepared = state.engine().definition(&digest).await?;
    let tasks = &prepared.benchmark.tasks;
    let place = tasks
        .iter()
        .position(|task| task.id == id)
        .ok_or_else(missing)?;
    let found = statistics(&state, &visitor, named.id, digest, tasks.len()).await?;
    let mut strips: Vec<Strip> = Vec::new();
    for row in &found.runs {
        let outcomes = outcomes(&state, &row.run).await?;
        let Some(outcome) = outcomes.iter().find(|one| one.task == id) else {
            continue;
        };
        let cell = (
            mark(outcome),
            outcome.score,
            outcome.task_runs.first().copied(),
        );
        match strips.iter_mut().find(|strip| strip.agent == row.taker) {
            Some(strip) => strip.cells.push(cell),
            None => strips.push(Strip {
                agent: row.taker.clone(),
                cells: vec![cell],
            }),
        }
    }
    let doors = prepared.task(id)?.1.playground.as_ref();
    let doors = doors.map_or_else(Vec::new, |playground| {
        let doors = playground.blueprint.doors().iter();
        doors
            .map(|door| (door.kind().to_string(), door.name.clone()))
            .collect()
    });
    page(&TaskPage {
        shell: visitor.shell(tasks[place].name.clone(), Section::Benchmarks),
        prompt: match &tasks[place].brief {
            Value::String(text) => html::text(text),
            other => html::json(other),
        },
        doors,
        figures: found.tasks.get(&id).cloned().unwrap_or_default(),
        strips,
        shows_criteria: visitor.solver().is_none() && named.is_own,
        place,
        named,
        prepared,
    })
}
