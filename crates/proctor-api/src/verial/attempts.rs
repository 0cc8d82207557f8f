//! Running an agent from outside: its token for one attempt, how it failed, and another try where that says nothing about it.

use std::collections::BTreeMap;

use axum::extract::State;
use http::StatusCode;
use proctor_core::{
    devbox::{BaseRequest, DevboxRequest},
    id::{
        Dialect,
        kinds::{BlueprintId, ObjectId, RunId, TaskRunId},
    },
    mount::Mount,
    network_policy::HostPattern,
    task_run::{Cause, Fault},
    time::Timestamp,
};
use proctor_devbox::SERVER_URL;
use proctor_engine::runs::NewAgentBox;
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
/// Where the files of an agent are in its box, below the home of its user.
const AGENT_DIRECTORY: &str = "agent";
/// How many hosts an agent may declare.
const MOST_HOSTS: usize = 100;
/// How many seconds an agent's box lives if nobody says so, and at most.
const USUAL_BOX: u32 = 3600;
const LONGEST_BOX: u32 = 2 * 24 * 3600;

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

/// A devbox in which an agent is to work.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AgentBoxBody {
    /// The blueprint that its disk starts from; the server's own system without it.
    blueprint_id: Option<String>,
    /// An object with the agent's files: an archive is unpacked into the directory `agent` of the box's user.
    object_id: Option<String>,
    /// The hosts that the agent must reach: names, `*.domain` or addresses, each with or without a port.
    hosts: Option<Vec<String>>,
    /// How many seconds it may live; an hour if absent.
    #[schema(minimum = 1, maximum = 172800)]
    timeout: Option<u32>,
}

/// A devbox in which an agent works.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentBoxView {
    devbox_id: String,
    /// Where commands and files of that devbox are.
    devbox_url: String,
    /// The server's address, seen from inside the devbox: only this attempt can be asked for there.
    server_url: &'static str,
    /// Where the agent's files are in the devbox, if there are any.
    directory: Option<&'static str>,
}

/// Makes a devbox for the agent that works on a task run which was started.
///
/// From inside, it reaches the world of this task run at `server_url`, and the hosts that are given here; nothing else. It ends with the task run. Asking again
/// answers the same devbox.
#[utoipa::path(
    post,
    path = "/task-runs/{id}/devbox",
    tag = "Verial: runs",
    params(("id" = String, Path, description = "The task run's id")),
    request_body = AgentBoxBody,
    security(("organization_key" = [])),
    responses((status = 201, description = "The devbox, which comes up", body = AgentBoxView)),
)]
pub(crate) async fn make_agent_box(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<TaskRunId>,
    Json(body): Json<AgentBoxBody>,
) -> Result<(StatusCode, Json<AgentBoxView>), ApiError> {
    let (_, run) = find(&state, &caller, id).await?;
    let new = body.read()?;
    let has_files = !new.request.mounts.is_empty();
    let devbox = state.engine().agent_box(run.id, id, new).await?;
    let devbox = devbox.wire(Dialect::Runloop);
    let view = AgentBoxView {
        devbox_url: format!("/v1/devboxes/{devbox}"),
        devbox_id: devbox,
        server_url: SERVER_URL,
        directory: has_files.then_some(AGENT_DIRECTORY),
    };
    Ok((StatusCode::CREATED, Json(view)))
}

impl AgentBoxBody {
    fn read(self) -> Result<NewAgentBox, ApiError> {
        let mut checks = Checks::default();
        let mut request = DevboxRequest::default();
        if let Some(blueprint) = self.blueprint_id {
            match BlueprintId::from_wire(&blueprint, Dialect::Runloop) {
                Ok(id) => request.base = BaseRequest::Blueprint(id),
                Err(bad) => checks.refuse("blueprint_id", bad.to_string()),
            }
        }
        if let Some(object) = self.object_id {
            match ObjectId::from_wire(&object, Dialect::Runloop) {
                Ok(object) => request.mounts.push(Mount::Object {
                    object,
                    target: AGENT_DIRECTORY.to_owned(),
                }),
                Err(bad) => checks.refuse("object_id", bad.to_string()),
            }
        }
        let hosts = self.hosts.unwrap_or_default();
        if hosts.len() > MOST_HOSTS {
            checks.refuse("hosts", format!("must have at most {MOST_HOSTS} elements"));
        }
        for (number, host) in hosts.iter().enumerate() {
            if let Err(bad) = host.parse::<HostPattern>() {
                checks.refuse(&format!("hosts.{number}"), bad.to_string());
            }
        }
        checks.within("timeout", self.timeout, 1..=LONGEST_BOX);
        checks.finish()?;
        request.launch.keep_alive_seconds = Some(self.timeout.unwrap_or(USUAL_BOX));
        Ok(NewAgentBox {
            name: "agent".to_owned(),
            request,
            hosts,
        })
    }
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
