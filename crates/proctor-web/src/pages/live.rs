//! Live updates: a stream that says when what a page shows has changed. The page then loads itself again and exchanges the regions
//! that differ, so a filter, a selection and a scroll position stay as they are.
//!
//! The database is looked at: it is what all nodes share. A look is one small query, at most once a second for each reader.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    extract::{Query, State},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use futures::{Stream, stream};
use http::{HeaderMap, StatusCode};
use proctor_core::id::kinds::{DevboxId, JobId, RunId, TaskRunId, WorldId};
use serde::Deserialize;

use crate::{error::PageError, session::Visitor, state::WebState};

/// How often is looked.
const LOOK: Duration = Duration::from_millis(700);
/// How often a silent stream says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long a browser waits before it connects again.
const RETRY: Duration = Duration::from_secs(1);

pub(crate) fn routes() -> Router<WebState> {
    Router::new().route("/ui/live", get(live))
}

#[derive(Deserialize)]
struct LiveQuery {
    of: String,
}

/// What can be followed.
#[derive(Clone, Copy, Debug)]
enum Topic {
    /// All runs that the reader sees.
    Runs,
    /// A run with its task runs.
    Run(RunId),
    /// A task run with its world, or with the log of its box.
    TaskRun(TaskRunId),
    /// All jobs of the organization.
    Jobs,
    /// A job with its tries.
    Job(JobId),
    /// All devboxes of the organization.
    Devboxes,
    /// A devbox with its log.
    Devbox(DevboxId),
}

impl Topic {
    fn read(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "runs" => Some(Self::Runs),
            Some(("run", id)) => id.parse().ok().map(Self::Run),
            Some(("task-run", id)) => id.parse().ok().map(Self::TaskRun),
            None if text == "jobs" => Some(Self::Jobs),
            None if text == "devboxes" => Some(Self::Devboxes),
            Some(("job", id)) => id.parse().ok().map(Self::Job),
            Some(("devbox", id)) => id.parse().ok().map(Self::Devbox),
            _ => None,
        }
    }

    /// Something that differs whenever what is followed has changed.
    async fn version(self, state: &WebState, visitor: &Visitor) -> Result<String, PageError> {
        let store = state.store();
        Ok(match self {
            Self::Runs => store.runs_version(visitor.organization()).await?,
            Self::Run(id) => store.run_version(id).await?,
            Self::TaskRun(id) => {
                let world = WorldId::from_uuid(id.uuid());
                let events = store.journal().head(world).await?.next;
                let devbox = store
                    .task_run(id)
                    .await?
                    .and_then(|found| found.value.devbox);
                let log = match devbox {
                    Some(devbox) => log_length(state, devbox).await,
                    None => 0,
                };
                format!("{}.{events}.{log}", store.task_run_version(id).await?)
            }
            Self::Jobs => store.jobs_version(visitor.organization()).await?,
            Self::Job(id) => store.job_version(id).await?,
            Self::Devboxes => store.devboxes_version(visitor.organization()).await?,
            Self::Devbox(id) => {
                let log = log_length(state, id).await;
                format!("{}.{log}", store.devbox_version(id).await?)
            }
        })
    }

    /// Refuses what the reader may not know of.
    async fn check(self, state: &WebState, visitor: &Visitor) -> Result<(), PageError> {
        let run = match self {
            Self::Runs => return Ok(()),
            Self::Jobs | Self::Devboxes => return visitor.require_organization(),
            Self::Job(id) => {
                visitor.require_organization()?;
                let job = state.store().job(id).await?;
                let is_theirs =
                    job.is_some_and(|job| job.value.organization == visitor.organization());
                return is_theirs
                    .then_some(())
                    .ok_or_else(|| PageError::not_found("job"));
            }
            Self::Devbox(id) => {
                visitor.require_organization()?;
                let devbox = state.store().devbox(id).await?;
                let is_theirs = devbox
                    .is_some_and(|devbox| devbox.value.organization == visitor.organization());
                return is_theirs
                    .then_some(())
                    .ok_or_else(|| PageError::not_found("devbox"));
            }
            Self::Run(id) => Some(id),
            Self::TaskRun(id) => state
                .store()
                .task_run(id)
                .await?
                .and_then(|found| found.value.run),
        };
        let missing = || PageError::not_found("run");
        let run = state.store().run(run.ok_or_else(missing)?).await?;
        run.filter(|run| visitor.sees(&run.value))
            .map(|_| ())
            .ok_or_else(missing)
    }
}

/// How long the log of a devbox is now.
async fn log_length(state: &WebState, devbox: DevboxId) -> u64 {
    match state.fleet() {
        Some(fleet) => fleet.log_length(devbox).await,
        None => 0,
    }
}

async fn live(
    State(state): State<WebState>,
    visitor: Visitor,
    headers: HeaderMap,
    Query(query): Query<LiveQuery>,
) -> Result<Response, PageError> {
    let topic = Topic::read(&query.of)
        .ok_or_else(|| PageError::bad_request("Nothing of this kind can be followed."))?;
    topic.check(&state, &visitor).await?;
    let Ok(permit) = state.live().clone().try_acquire_owned() else {
        // The script falls back to asking now and then.
        return Err(PageError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many readers follow something at once.",
        ));
    };
    // What the page showed before the connection broke; the first connection names what the page was drawn with.
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let follow = Follow {
        seen: seen.map(str::to_owned),
        topic,
        state,
        visitor,
        _permit: permit,
        is_first: true,
    };
    let keep_alive = KeepAlive::new().interval(HEARTBEAT);
    Ok(Sse::new(changes(follow))
        .keep_alive(keep_alive)
        .into_response())
}

struct Follow {
    topic: Topic,
    state: WebState,
    visitor: Visitor,
    /// The version that the page shows.
    seen: Option<String>,
    is_first: bool,
    _permit: tokio::sync::OwnedSemaphorePermit,
}

fn changes(follow: Follow) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(follow, async |mut follow| {
        loop {
            if !follow.is_first {
                let stop = follow.state.stop();
                if tokio::time::timeout(LOOK, stop.cancelled()).await.is_ok() {
                    return None;
                }
            }
            let is_first = std::mem::take(&mut follow.is_first);
            // A look that fails is no change; the next one may work.
            let Ok(version) = follow.topic.version(&follow.state, &follow.visitor).await else {
                continue;
            };
            if follow.seen.as_ref() == Some(&version) && !is_first {
                continue;
            }
            let kind = match follow.seen.as_ref() == Some(&version)
                || (is_first && follow.seen.is_none())
            {
                true => "at",
                false => "changed",
            };
            follow.seen = Some(version.clone());
            let event = Event::default()
                .event(kind)
                .id(version)
                .data("1")
                .retry(RETRY);
            return Some((Ok(event), follow));
        }
    })
}
