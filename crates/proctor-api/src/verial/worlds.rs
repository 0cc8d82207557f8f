//! The sandboxes of runs and playgrounds over HTTP: requests go to the world that they mean.
//!
//! Translation only. What a request does is decided by the simulator behind it.

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header};
use proctor_core::{
    id::kinds::{RunId, SandboxId, TaskRunId},
    time::Timestamp,
};
use proctor_playground::world::World;
use proctor_simulation::{
    entrance::{Admission, Entrance},
    exchange,
    registry::SimulatorRegistry,
};
use proctor_store::{
    credentials::Who,
    playgrounds::{Place, Sandbox},
};

use crate::{
    auth::{Caller, TakerCaller},
    error::{ApiError, ApiErrorKind},
    extract::{Path, PathParameter, read_body},
    runloop::links::PublicAddress,
    state::ApiState,
};

/// The header that says which of several started task runs is meant.
const CHOOSING_HEADER: &str = "x-task-run";
/// The parameter that says the same.
const CHOOSING_PARAMETER: &str = "task_run_id";

/// The rest of a path behind its first parameter, as text.
pub(crate) struct Rest;

impl PathParameter for Rest {
    fn parse(_: &str, _: crate::dialect::Dialect) -> Result<Self, ApiError> {
        Ok(Self)
    }
}

/// `ANY /v1/benchmark-runs/{id}/{*path}`: for the run's token and those of its attempts, at its FHIR store also for the tokens
/// that the store gives out, at the portal's pages for browsers.
pub(crate) async fn of_run(
    State(state): State<ApiState>,
    Path((run, Rest)): Path<(RunId, Rest)>,
    request: Request,
) -> Result<Response, ApiError> {
    let path = below(&request, 4)?;
    let base = asked_base(&state, &request, 4);
    let mut chosen = chosen(request.headers(), request.uri())?;
    let passed = match simulators(&state).of_path(&path) {
        Some(plugin) => {
            let entrance = state.engine().entrance_of_run(run, &**plugin, &base);
            enter(&state, &*entrance, &path, request).await?
        }
        None => Passed::Unknown(request),
    };
    let request = match passed {
        Passed::Answered(answer) => return Ok(answer),
        Passed::Admitted(request) => request,
        Passed::Unknown(request) => {
            let caller = Caller::authenticate(request.headers(), &state).await?;
            let caller = TakerCaller::of(&caller)?;
            if caller.run != run {
                return Err(ApiError::not_found(format!("no benchmark run '{run}'")));
            }
            chosen = caller.choice(chosen)?;
            request
        }
    };
    let world = state.engine().world_of_run(run, chosen).await?;
    let door = door_of(&state, &world, &path)?;
    let to = Destination { door, path, base };
    pass(&state, &world, to, request).await
}

/// `ANY /v1/task-runs/{id}/{*path}`: for the run's token and the attempt's, and for whoever shows what the simulator gave out.
pub(crate) async fn of_task_run(
    State(state): State<ApiState>,
    Path((task_run, Rest)): Path<(TaskRunId, Rest)>,
    request: Request,
) -> Result<Response, ApiError> {
    let path = below(&request, 4)?;
    let base = asked_base(&state, &request, 4);
    let (run, request) = match Caller::authenticate(request.headers(), &state).await {
        Ok(caller) => (TakerCaller::of(&caller)?.run_of(task_run)?, request),
        Err(refused) if *refused.kind() == ApiErrorKind::Unauthorized => {
            let run = state.store().task_run(task_run).await?;
            let run = run.and_then(|found| found.value.run);
            let (Some(run), Some(plugin)) = (run, simulators(&state).of_path(&path)) else {
                return Err(refused);
            };
            let entrance = state.engine().entrance_of_run(run, &**plugin, &base);
            match enter(&state, &*entrance, &path, request).await? {
                Passed::Answered(answer) => return Ok(answer),
                Passed::Admitted(request) => (run, request),
                Passed::Unknown(_) => return Err(refused),
            }
        }
        Err(error) => return Err(error),
    };
    let world = state.engine().world_of_run(run, Some(task_run)).await?;
    let door = door_of(&state, &world, &path)?;
    let to = Destination { door, path, base };
    pass(&state, &world, to, request).await
}

/// `ANY /sandboxes/{id}/{*path}` and `ANY /services/{id}/{*path}`: for the organization, for the run
/// it belongs to, at a FHIR store for whoever has one of its tokens, at the portal's pages for browsers.
pub(crate) async fn of_sandbox(
    State(state): State<ApiState>,
    Path((id, Rest)): Path<(SandboxId, Rest)>,
    request: Request,
) -> Result<Response, ApiError> {
    let unknown = || ApiError::not_found(format!("no sandbox '{id}'"));
    let path = below(&request, 3)?;
    let base = asked_base(&state, &request, 3);
    let sandbox = state.store().sandbox(id).await?.ok_or_else(unknown)?;
    let entrance = state.engine().entrance_of_sandbox(&sandbox, &base).await?;
    let passed = enter(&state, &*entrance, &path, request).await?;
    let request = match passed {
        Passed::Answered(answer) => return Ok(answer),
        Passed::Admitted(request) => request,
        Passed::Unknown(request) => {
            let caller = Caller::authenticate(request.headers(), &state).await?;
            if !may_enter(&state, &caller, &sandbox).await? {
                return Err(unknown());
            }
            request
        }
    };
    let behind = state.engine().behind(&sandbox).await?;
    let to = Destination {
        door: behind.door,
        path,
        base,
    };
    pass(&state, &behind.world, to, request).await
}

/// What became of a request at the entrance of a simulator.
enum Passed {
    /// It is answered.
    Answered(Response),
    /// It may go on.
    Admitted(Request),
    /// The simulator does not know who sends it; perhaps the platform does.
    Unknown(Request),
}

/// Shows a request to a simulator's entrance.
async fn enter(
    state: &ApiState,
    entrance: &dyn Entrance,
    path: &str,
    request: Request,
) -> Result<Passed, ApiError> {
    let now = state.store().now();
    match entrance.admit(request.method(), path, request.headers(), now) {
        Admission::Admitted => Ok(Passed::Admitted(request)),
        Admission::Unknown => Ok(Passed::Unknown(request)),
        Admission::Answered(answer) => {
            let (parts, body) = request.into_parts();
            let body = read_body(&parts.headers, body, state.body_limit()).await?;
            let answer = answer(&parts.headers, &body, now);
            Ok(Passed::Answered(to_http(answer)))
        }
    }
}

/// Whether a caller may enter a sandbox: its organization, and the run that it belongs to.
pub(super) async fn may_enter(
    state: &ApiState,
    caller: &Caller,
    sandbox: &Sandbox,
) -> Result<bool, ApiError> {
    let principal = caller.principal();
    match principal.who {
        Who::Organization => Ok(principal.organization.id == sandbox.organization),
        Who::Solver(_) => Ok(false),
        Who::Attempt { task_run, .. } => match sandbox.place {
            Place::Run(_) => Ok(false),
            Place::Playground(id) => {
                let playground = state.engine().playground(id).await?;
                Ok(playground.task_run == Some(task_run))
            }
        },
        Who::Run(run) => match sandbox.place {
            Place::Run(of) => Ok(of == run),
            Place::Playground(id) => {
                let playground = state.engine().playground(id).await?;
                let Some(task_run) = playground.task_run else {
                    return Ok(false);
                };
                let task_run = state.store().task_run(task_run).await?;
                Ok(task_run.is_some_and(|task_run| task_run.value.run == Some(run)))
            }
        },
    }
}

/// The path behind the first `count` slashes, still percent-encoded.
fn below(request: &Request, count: usize) -> Result<String, ApiError> {
    let path = request.uri().path();
    let rest = path.splitn(count + 1, '/').nth(count);
    rest.map(str::to_owned)
        .ok_or_else(|| ApiError::no_such_route(request.method(), path))
}

/// The address of the playground that a request asks: what stands before the path behind the first `count` slashes.
fn asked_base(state: &ApiState, request: &Request, count: usize) -> String {
    let uri = request.uri();
    let segments: Vec<&str> = uri.path().split('/').take(count).collect();
    PublicAddress::asked(uri, request.headers(), state).link(&segments.join("/"))
}

/// Where in a world a request goes.
struct Destination {
    door: usize,
    /// The path below the playground.
    path: String,
    /// The address of the playground that was asked.
    base: String,
}

/// The task run that a request chooses.
pub(super) fn chosen(headers: &HeaderMap, uri: &Uri) -> Result<Option<TaskRunId>, ApiError> {
    let parse = |place: &str, text: &str| {
        TaskRunId::from_wire(text, crate::dialect::Dialect::Verial)
            .map_err(|bad| ApiError::field(place, bad.to_string()))
    };
    if let Some(value) = headers.get(CHOOSING_HEADER) {
        let text = value.to_str().unwrap_or_default();
        return parse("X-Task-Run", text).map(Some);
    }
    let query = uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == CHOOSING_PARAMETER)
        .map(|(_, text)| parse(CHOOSING_PARAMETER, &text))
        .transpose()
}

/// The types of simulator that there are.
fn simulators(state: &ApiState) -> &SimulatorRegistry {
    &state.engine().extensions().simulators
}

/// A simulator's answer as the server sends it.
fn to_http(answer: exchange::Response) -> Response {
    let answer: http::Response<Bytes> = answer.into();
    answer.map(Body::from)
}

/// Where in a world a path below it leads.
pub(crate) fn door_of(state: &ApiState, world: &World, path: &str) -> Result<usize, ApiError> {
    let blueprint = &world.origin().blueprint;
    blueprint.door_of_path(path).ok_or_else(|| {
        let what = match simulators(state).of_path(path) {
            Some(plugin) => format!(
                "this environment has no simulator of type {}",
                plugin.name()
            ),
            None => format!("no simulator answers at '/{path}'"),
        };
        ApiError::not_found(what)
    })
}

/// Hands a request to a world, and its answer back.
async fn pass(
    state: &ApiState,
    world: &World,
    to: Destination,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, state.body_limit()).await?;
    let asked = exchange::Request {
        method: parts.method,
        path: to.path,
        query: without_choice(parts.uri.query().unwrap_or_default()),
        headers: without_credentials(parts.headers),
        body,
        at: Timestamp::from_millis(0),
        base: Some(to.base),
    };
    let mut response = to_http(world.handle(to.door, asked).await);
    if response.status() == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .entry(header::WWW_AUTHENTICATE)
            .or_insert(header::HeaderValue::from_static("Bearer"));
    }
    Ok(response)
}

/// The query without what chose the task run: simulators know nothing of runs.
fn without_choice(query: &str) -> String {
    if !query.contains(CHOOSING_PARAMETER) {
        return query.to_owned();
    }
    let is_choice = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        name == CHOOSING_PARAMETER
    };
    let pairs: Vec<&str> = query.split('&').filter(|pair| !is_choice(pair)).collect();
    pairs.join("&")
}

/// The headers without credentials: they have done their work, and events must not keep them.
fn without_credentials(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(header::AUTHORIZATION);
    headers.remove(CHOOSING_HEADER);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_of_a_task_run_is_not_passed_on() {
        assert_eq!(without_choice("a=1&task_run_id=tr_1&b=2"), "a=1&b=2");
        assert_eq!(without_choice("task_run_id=tr_1"), "");
        assert_eq!(without_choice("xtask_run_id=1"), "xtask_run_id=1");
    }

    #[test]
    fn the_path_below_is_kept_as_it_was_sent() {
        let request = |uri: &str| Request::get(uri).body(Body::empty()).unwrap();
        let below = |uri: &str, count| below(&request(uri), count).unwrap();
        assert_eq!(
            below("/v1/benchmark-runs/br_1/files/a%2Fb/c?x=1", 4),
            "files/a%2Fb/c"
        );
        assert_eq!(below("/sandboxes/sbx_1/fhir", 3), "fhir");
    }
}
