//! Making devboxes.

use std::collections::BTreeMap;

use axum::extract::State;
use proctor_core::devbox::{BaseRequest, DevboxRequest, Initiator, TunnelSettings};
use proctor_fleet::NewDevbox;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{tunnels::TunnelParameters, views::DevboxView};
use crate::{
    auth::OrganizationCaller,
    error::{ApiError, ApiErrorKind, render::RunloopError},
    extract::{Checks, Json, texts},
    runloop::{
        labels,
        launch_parameters::LaunchParametersBody,
        mounts::{self, MountBody},
        profile::check_secrets,
    },
    state::ApiState,
};

/// The longest name of a devbox, in characters.
const LONGEST_NAME: usize = 1000;

/// What is said of a devbox that begins with several things.
pub(crate) const SEVERAL_BASES: &str =
    "only one of snapshot_id, blueprint_id and blueprint_name may be given";

/// What a new devbox is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DevboxCreateParameters {
    name: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "texts")]
    environment_variables: Option<BTreeMap<String, String>>,
    /// Environment variables, each with the name of the secret that it holds.
    #[serde(default, deserialize_with = "texts")]
    secrets: Option<BTreeMap<String, String>>,
    launch_parameters: Option<LaunchParametersBody>,
    mounts: Option<Vec<MountBody>>,
    /// Files by their paths; mounts say the same.
    #[serde(default, deserialize_with = "texts")]
    file_mounts: Option<BTreeMap<String, String>>,
    /// Repositories; mounts say the same.
    code_mounts: Option<Vec<MountBody>>,
    /// A command that the devbox ends with.
    entrypoint: Option<String>,
    /// Begin where this snapshot was taken.
    snapshot_id: Option<String>,
    /// Begin where this blueprint ends.
    blueprint_id: Option<String>,
    /// Begin where the newest blueprint of this name ends.
    blueprint_name: Option<String>,
    /// How services in it can be reached from outside.
    tunnel: Option<TunnelParameters>,
    /// Not offered.
    #[schema(value_type = Option<Object>)]
    gateways: Option<BTreeMap<String, Value>>,
    /// Not offered.
    #[schema(value_type = Option<Object>)]
    mcp: Option<BTreeMap<String, Value>>,
}

/// A devbox that a client asks for.
struct NamedRequest {
    name: Option<String>,
    metadata: BTreeMap<String, String>,
    tunnel: Option<TunnelSettings>,
    request: DevboxRequest,
}

impl DevboxCreateParameters {
    /// The devbox that the client means.
    fn read(self) -> Result<NamedRequest, ApiError> {
        self.check_offered()?;
        let mut checks = Checks::default();
        let name = checks.optional_text("name", self.name, 0..=LONGEST_NAME);
        let base = base(
            &mut checks,
            self.snapshot_id,
            self.blueprint_id,
            self.blueprint_name,
        );
        let launch = self.launch_parameters.unwrap_or_default();
        let launch = launch.read_part(&mut checks, "launch_parameters");
        let environment = variables(
            &mut checks,
            "environment_variables",
            self.environment_variables,
        );
        let secrets = self.secrets.unwrap_or_default();
        check_secrets(&mut checks, "secrets", &secrets);
        let mut all = mounts::files(&mut checks, "file_mounts", self.file_mounts);
        for (number, mount) in self.code_mounts.into_iter().flatten().enumerate() {
            all.extend(mount.read_code(&mut checks, &format!("code_mounts.{number}")));
        }
        for (number, mount) in self.mounts.into_iter().flatten().enumerate() {
            all.extend(mount.read(&mut checks, &format!("mounts.{number}")));
        }
        let metadata = labels::checked(&mut checks, "metadata", self.metadata);
        let entrypoint = self.entrypoint.filter(|entrypoint| !entrypoint.is_empty());
        if entrypoint
            .as_deref()
            .is_some_and(|text| text.contains('\0'))
        {
            checks.refuse("entrypoint", "must not contain a NUL");
        }
        let tunnel = self
            .tunnel
            .map(|tunnel| tunnel.read(&mut checks, "tunnel."));
        checks.finish()?;
        let request = DevboxRequest {
            base,
            launch,
            environment,
            secrets,
            mounts: all,
            entrypoint,
            ..DevboxRequest::default()
        };
        Ok(NamedRequest {
            name: name.filter(|name| !name.is_empty()),
            metadata,
            tunnel,
            request,
        })
    }

    /// Refuses what would be silently missing.
    fn check_offered(&self) -> Result<(), ApiError> {
        let some = |map: &Option<BTreeMap<String, Value>>| {
            let mut values = map.iter().flatten().map(|(_, value)| value);
            values.any(|value| !value.is_null())
        };
        let what = if some(&self.gateways) {
            "gateways"
        } else if some(&self.mcp) {
            "MCP servers"
        } else {
            return Ok(());
        };
        let message = format!("{what} are not offered by this server");
        Err(ApiError::new(ApiErrorKind::NotImplemented, message))
    }
}

/// What a devbox shall begin with, as the client says it.
fn base(
    checks: &mut Checks,
    snapshot: Option<String>,
    blueprint: Option<String>,
    blueprint_name: Option<String>,
) -> BaseRequest {
    match (snapshot, blueprint, blueprint_name) {
        (None, None, None) => BaseRequest::Host,
        (Some(id), None, None) => BaseRequest::snapshot(&id),
        (None, Some(id), None) => BaseRequest::blueprint(&id),
        (None, None, Some(name)) => BaseRequest::NewestBlueprint(name),
        _ => {
            checks.refuse("snapshot_id", SEVERAL_BASES);
            BaseRequest::Host
        }
    }
}

fn variables(
    checks: &mut Checks,
    field: &str,
    variables: Option<BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let variables = variables.unwrap_or_default();
    for (name, value) in &variables {
        let place = format!("{field}.{name}");
        if name.is_empty() || name.contains(['=', '\0']) {
            checks.refuse(
                &place,
                "must have a name without '=' and NUL, which no environment variable can have",
            );
        }
        if value.contains('\0') {
            checks.refuse(
                &place,
                "must not contain a NUL, which no environment variable can hold",
            );
        }
    }
    variables
}

/// Makes a devbox. It is still provisioning when this answers.
#[utoipa::path(
    post,
    path = "/v1/devboxes",
    tag = "Runloop: devboxes",
    request_body = DevboxCreateParameters,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The devbox", body = DevboxView),
        (
            status = 501,
            description = "It asks for what this server does not offer",
            body = RunloopError,
        ),
    ),
)]
pub(crate) async fn create_devbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<DevboxCreateParameters>,
) -> Result<Json<DevboxView>, ApiError> {
    let fleet = state.fleet()?;
    let NamedRequest {
        name,
        metadata,
        tunnel,
        request,
    } = body.read()?;
    let new = NewDevbox {
        name,
        metadata,
        setup: fleet.resolve(caller.id(), request).await?,
        initiator: Initiator::Invocation,
        tunnel,
    };
    let record = fleet.create(caller.id(), new).await?;
    Ok(Json(DevboxView::of(&state, record)))
}

/// Makes a devbox. Clients wait for it with wait_for_status.
#[utoipa::path(
    post,
    path = "/v1/devboxes/create_and_await_running",
    tag = "Runloop: devboxes",
    request_body = DevboxCreateParameters,
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The devbox, still provisioning", body = DevboxView),
        (
            status = 501,
            description = "It asks for what this server does not offer",
            body = RunloopError,
        ),
    ),
)]
pub(crate) async fn create_devbox_and_await_running(
    state: State<ApiState>,
    caller: OrganizationCaller,
    body: Json<DevboxCreateParameters>,
) -> Result<Json<DevboxView>, ApiError> {
    create_devbox(state, caller, body).await
}
