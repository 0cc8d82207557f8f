//! What happened in worlds: at one door of them, or in the whole world of a task run.

use std::collections::HashMap;

use axum::extract::State;
use proctor_core::{
    id::kinds::{EventId, EventKind, SandboxId, TaskRunId},
    time::Timestamp,
};
use proctor_playground::world::WorldEvent;
use proctor_store::{
    page::{Page, PageStart},
    playgrounds::Place,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    internal_tasks::readable,
    page::{VerialList, VerialPage, VerialPageQuery},
    playgrounds::find_sandbox,
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Json, Path},
    state::ApiState,
};

/// Something that happened in a sandbox.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventView {
    #[schema(value_type = String)]
    id: EventId,
    #[schema(value_type = Option<String>)]
    sandbox_id: Option<SandboxId>,
    /// Its place among the events that are listed, counted from 0.
    seq: u64,
    #[serde(rename = "type")]
    kind: String,
    /// `outbound`: from the agent; `inbound`: to it.
    direction: String,
    payload: Value,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl EventView {
    fn of(event: WorldEvent, sandbox: Option<SandboxId>) -> Self {
        Self {
            id: event.id,
            sandbox_id: sandbox,
            seq: event.seq,
            kind: event.kind,
            direction: event.direction,
            payload: event.payload,
            created_at: event.at,
        }
    }
}

/// Lists everything that happened in a sandbox.
#[utoipa::path(
    get,
    path = "/sandboxes/{id}/events",
    tag = "Verial: playgrounds",
    params(("id" = String, Path, description = "The sandbox's id"), VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The events, newest first", body = VerialList<EventView>),
    ),
)]
pub(crate) async fn list_events(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<SandboxId>,
    page: VerialPage<EventKind>,
) -> Result<Json<VerialList<EventView>>, ApiError> {
    let sandbox = find_sandbox(&state, &caller, id).await?;
    let events = state.engine().sandbox_events(&sandbox).await?;
    let part = part_of(events, &page);
    Ok(page.answer(
        part,
        |event| event.id,
        |event| EventView::of(event, Some(id)),
    ))
}

/// Lists everything that happened in the world of a task run, at all doors.
///
/// An extension of ours. Nothing happens in the world of a task run that was not started, and a task in a devbox has none.
#[utoipa::path(
    get,
    path = "/task-runs/{id}/events",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id"), VerialPageQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The events, newest first", body = VerialList<EventView>),
    ),
)]
pub(crate) async fn list_task_run_events(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    page: VerialPage<EventKind>,
) -> Result<Json<VerialList<EventView>>, ApiError> {
    let run = readable(&state, &caller, id)
        .await?
        .ok_or_else(|| ApiError::not_found(format!("no task run '{id}'")))?;
    let doors = state.store().sandboxes_of(Place::Run(run.id)).await?;
    let doors: HashMap<usize, SandboxId> = doors
        .iter()
        .map(|sandbox| (sandbox.door as usize, sandbox.id))
        .collect();
    let events = state.engine().task_run_events(id).await?;
    let part = part_of(events, &page);
    let view = |event: WorldEvent| {
        let sandbox = event.door.and_then(|door| doors.get(&door).copied());
        EventView::of(event, sandbox)
    };
    Ok(page.answer(part, |event| event.id, view))
}

/// The page of a list that was read as a whole, oldest first.
fn part_of(mut events: Vec<WorldEvent>, page: &VerialPage<EventKind>) -> Page<WorldEvent> {
    events.reverse();
    let limit = page.0.limit as usize;
    let place = |id: EventId| events.iter().position(|event| event.id == id);
    let (begin, end) = match page.0.from {
        PageStart::Newest => (0, limit.min(events.len())),
        PageStart::After(id) => {
            let begin = place(id).map_or(0, |place| place + 1);
            (begin, (begin + limit).min(events.len()))
        }
        PageStart::Before(id) => {
            let end = place(id).unwrap_or(0);
            (end.saturating_sub(limit), end)
        }
    };
    let (has_more, has_previous) = (end < events.len(), begin > 0);
    Page {
        items: events.drain(begin..end).collect(),
        has_more,
        has_previous,
        total: None,
    }
}
