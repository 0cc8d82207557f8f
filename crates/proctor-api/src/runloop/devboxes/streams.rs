//! Output as it comes, as server-sent events.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::stream::{self, BoxStream, StreamExt as _};
use proctor_core::id::kinds::DevboxId;
use proctor_devbox::{Execution, Stream};
use proctor_fleet::{
    Command,
    output::{Piece, Pieces},
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};

use super::executions::{ExecutionName, find};
use crate::{
    auth::BoxCaller,
    error::ApiError,
    extract::{Path, Query},
    state::ApiState,
};

/// How often something is sent when there is nothing to send, so that nobody takes the connection for dead.
const QUIET: Duration = Duration::from_secs(10);

/// Events until there are no more.
pub(super) type Events =
    Sse<axum::response::sse::KeepAliveStream<BoxStream<'static, Result<Event, Infallible>>>>;

/// Where to begin.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// The position in bytes to go on from; the beginning when absent.
    #[param(value_type = Option<u64>)]
    offset: Option<String>,
}

impl StreamQuery {
    fn offset(&self) -> Result<u64, ApiError> {
        match self.offset.as_deref() {
            None | Some("") => Ok(0),
            Some(text) => text
                .parse()
                .map_err(|_| ApiError::field("offset", "must be a whole number")),
        }
    }
}

/// A piece of output.
#[derive(Serialize, ToSchema)]
pub(crate) struct OutputChunkView {
    output: String,
    /// The position behind it, in bytes: where to go on.
    offset: u64,
}

/// Sends events, and comments when there are none.
pub(super) fn events(events: impl futures::Stream<Item = Event> + Send + 'static) -> Events {
    let events: BoxStream<'static, _> = events.map(Ok).boxed();
    Sse::new(events).keep_alive(KeepAlive::new().interval(QUIET))
}

/// An event with a JSON document.
pub(super) fn event(view: &impl Serialize) -> Event {
    Event::default()
        .json_data(view)
        .unwrap_or_else(|_| Event::default().comment("an event that cannot be written"))
}

async fn output(
    state: &ApiState,
    caller: &BoxCaller,
    path: (DevboxId, ExecutionName),
    query: &StreamQuery,
    stream: Stream,
) -> Result<Events, ApiError> {
    let offset = query.offset()?;
    let command = find(state, caller, path.0, path.1).await?;
    let closing = state.fleet()?.closing().clone();
    Ok(events(pieces(command, stream, offset, closing).map(
        |Piece { text, end }| {
            event(&OutputChunkView {
                output: text,
                offset: end,
            })
        },
    )))
}

/// Where a stream of pieces is.
enum Reading {
    /// The program may not run yet.
    Begin(Arc<Command>),
    Going(Arc<dyn Execution>, Pieces),
    Over,
}

/// What a command writes from `offset` on, until it has ended or the server is about to.
fn pieces(
    command: Arc<Command>,
    stream: Stream,
    offset: u64,
    closing: CancellationToken,
) -> impl futures::Stream<Item = Piece> + Send + 'static {
    let begin = (Reading::Begin(command), closing);
    stream::unfold(begin, move |(mut reading, closing)| async move {
        loop {
            reading = match reading {
                Reading::Begin(command) => {
                    let program = tokio::select! {
                        program = command.program() => program,
                        () = closing.cancelled() => return None,
                    };
                    match program {
                        Some(program) => Reading::Going(program, Pieces::from(stream, offset)),
                        None => {
                            let piece = remains(&command, stream, offset)?;
                            return Some((piece, (Reading::Over, closing)));
                        }
                    }
                }
                Reading::Going(program, mut pieces) => {
                    let piece = tokio::select! {
                        piece = pieces.next(&*program) => piece.ok().flatten()?,
                        () = closing.cancelled() => return None,
                    };
                    return Some((piece, (Reading::Going(program, pieces), closing)));
                }
                Reading::Over => return None,
            };
        }
    })
}

/// What is left of a command whose program is no more.
fn remains(command: &Command, stream: Stream, offset: u64) -> Option<Piece> {
    let text = command.remains(stream);
    let from = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
    Some(Piece {
        text: rest.to_owned(),
        end: text.len() as u64,
    })
}

/// Streams what a command writes to standard output.
#[utoipa::path(
    get,
    path = "/v1/devboxes/{id}/executions/{execution_id}/stream_stdout_updates",
    tag = "Runloop: devboxes",
    params(
        ("id" = String, Path, description = "The devbox's id"),
        ("execution_id" = String, Path, description = "The execution's id"),
        StreamQuery,
    ),
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (
            status = 200,
            description = "Pieces of output until the command has ended and everything was sent",
            body = OutputChunkView,
            content_type = "text/event-stream",
        ),
    ),
)]
pub(crate) async fn stream_execution_stdout(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(path): Path<(DevboxId, ExecutionName)>,
    Query(query): Query<StreamQuery>,
) -> Result<Events, ApiError> {
    output(&state, &caller, path, &query, Stream::Stdout).await
}

/// Streams what a command writes to standard error.
#[utoipa::path(
    get,
    path = "/v1/devboxes/{id}/executions/{execution_id}/stream_stderr_updates",
    tag = "Runloop: devboxes",
    params(
        ("id" = String, Path, description = "The devbox's id"),
        ("execution_id" = String, Path, description = "The execution's id"),
        StreamQuery,
    ),
    security(("organization_key" = []), ("attempt_token" = [])),
    responses(
        (
            status = 200,
            description = "Pieces of output until the command has ended and everything was sent",
            body = OutputChunkView,
            content_type = "text/event-stream",
        ),
    ),
)]
pub(crate) async fn stream_execution_stderr(
    State(state): State<ApiState>,
    caller: BoxCaller,
    Path(path): Path<(DevboxId, ExecutionName)>,
    Query(query): Query<StreamQuery>,
) -> Result<Events, ApiError> {
    output(&state, &caller, path, &query, Stream::Stderr).await
}
