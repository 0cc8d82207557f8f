//! Running an agent from outside: its token for one attempt, how it failed, and another try where that says nothing about it.

use std::collections::BTreeMap;

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    id::{
        Dialect,
        kinds::{RunId, TaskRunId},
    },
    task_run::{Cause, Fault},
    time::Timestamp,
};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    internal_tasks::find,
    public_tasks::{StartedView, started_view},
    run_views::{endpoints, status_of_task_run},
};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, shortened},
    state::ApiState,
};

/// The most characters of a reason.
const REASON: usize = 1000;

/// What opens one attempt.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttemptTokenView {
    #[schema(value_type = String)]
    task_run_id: TaskRunId,
    #[schema(value_type = String)]
    benchmark_run_id: RunId,
    /// Opens the world or the devbox of this task run, and nothing else; shown only here.
    token: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Addresses of what the world has; empty for a task that is done in a devbox.
    endpoints: BTreeMap<&'static str, String>,
    /// The devbox that it is done in, if it is.
    devbox_id: Option<String>,
    /// Where commands and files of that devbox are.
    devbox_url: Option<String>,
}

/// Makes a token for the agent that works on a task run which was started.
///
/// It opens the world of this task run below `/v1/task-runs/{id}/`, or the commands and files of its devbox, and completes the
/// task run. It reads no criteria, references, scorers, lists or other runs.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/token",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    security(("organization_key" = [])),
    responses((status = 201, description = "The token", body = AttemptTokenView)),
)]
pub(crate) async fn issue_attempt_token(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<(StatusCode, Json<AttemptTokenView>), ApiError> {
    let (_, run) = find(&state, &caller, id).await?;
    let (task_run, issued) = state.engine().attempt_token(run.id, id).await?;
    let prepared = state.engine().definition_of(&run).await?;
    let blueprint = match task_run.devbox {
        Some(_) => None,
        None => prepared.blueprint(),
    };
    let devbox = task_run.devbox.map(|devbox| devbox.wire(Dialect::Runloop));
    let view = AttemptTokenView {
        task_run_id: id,
        benchmark_run_id: run.id,
        token: issued.secret.expose_secret().to_owned(),
        expires_at: issued.key.expires_at,
        endpoints: endpoints(
            blueprint.map(|blueprint| &**blueprint),
            &format!("/v1/task-runs/{id}"),
        ),
        devbox_url: devbox.as_ref().map(|id| format!("/v1/devboxes/{id}")),
        devbox_id: devbox,
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// How an agent failed.
#[derive(Deserialize, ToSchema)]
pub(crate) struct FailureBody {
    /// `agent_crash` or `agent_timeout` count 0; `infrastructure`, if what ran the agent broke, is void.
    #[schema(value_type = String, required, example = "agent_crash")]
    cause: Option<String>,
    /// What happened, in words.
    #[schema(max_length = 1000)]
    reason: Option<String>,
}

/// A task run whose agent failed.
#[derive(Serialize, ToSchema)]
pub(crate) struct FailedView {
    #[schema(value_type = String)]
    task_run_id: TaskRunId,
    status: &'static str,
    /// Why it does not count with a score; null if it was over before, with one.
    cause: Option<&'static str>,
    reason: Option<String>,
}

/// Ends a task run because its agent failed, as whoever ran the agent saw it.
///
/// After a failure of the agent a playground is frozen and judged, as evidence. What is over stays as it is.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/fail",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = FailureBody,
    security(("organization_key" = [])),
    responses((status = 200, description = "The task run as it is now", body = FailedView)),
)]
pub(crate) async fn fail_task_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(body): Json<FailureBody>,
) -> Result<Json<FailedView>, ApiError> {
    const CAUSES: [Cause; 3] = [
        Cause::AgentCrash,
        Cause::AgentTimeout,
        Cause::Infrastructure,
    ];
    let mut checks = Checks::default();
    let named = checks.required("cause", body.cause).unwrap_or_default();
    let cause = CAUSES.into_iter().find(|cause| cause.as_str() == named);
    if cause.is_none() && !named.is_empty() {
        checks.refuse(
            "cause",
            format!(
                "'{}' is none of agent_crash, agent_timeout, infrastructure",
                shortened(&named)
            ),
        );
    }
    let reason = checks.optional_text("reason", body.reason, 1..=REASON);
    checks.finish()?;
    let cause = cause.ok_or_else(|| ApiError::field("cause", "is required"))?;
    let (_, run) = find(&state, &caller, id).await?;
    let fault = match reason {
        Some(reason) => Fault::new(cause, reason),
        None => cause.into(),
    };
    let ended = state.engine().fail_task(run.id, id, fault).await?;
    Ok(Json(FailedView {
        task_run_id: id,
        status: status_of_task_run(&ended),
        cause: ended.cause().map(Cause::as_str),
        reason: ended.reason().map(|reason| reason.as_str().to_owned()),
    }))
}

/// Tries a task again whose last try is void, in a run that is held open.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/retry",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The id of the task run that is void")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The further try, which is started", body = StartedView)),
)]
pub(crate) async fn retry_task_run(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
) -> Result<Json<StartedView>, ApiError> {
    let (_, run) = find(&state, &caller, id).await?;
    let started = state.engine().retry_task(run.id, id).await?;
    Ok(Json(started_view(&started)?))
}
