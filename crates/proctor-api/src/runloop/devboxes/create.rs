//! Making devboxes.

use std::collections::BTreeMap;

use axum::extract::State;
use proctor_core::{
    devbox::{DevboxBase, DevboxSetup, Initiator},
    id::kinds::OrganizationId,
};
use proctor_fleet::NewDevbox;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::views::DevboxView;
use crate::{
    auth::OrganizationCaller,
    extract::{Checks, Json},
    problem::{Problem, ProblemKind, render::RunloopError},
    runloop::{
        ids, labels,
        launch_parameters::LaunchParametersBody,
        mounts::{self, MountBody},
    },
    state::ApiState,
};

/// The longest name of a devbox, in characters.
const LONGEST_NAME: usize = 1000;

/// What a new devbox is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DevboxCreateParameters {
    name: Option<String>,
    metadata: Option<BTreeMap<String, String>>,
    environment_variables: Option<BTreeMap<String, String>>,
    /// Environment variables, each with the name of the secret that it holds.
    secrets: Option<BTreeMap<String, String>>,
    launch_parameters: Option<LaunchParametersBody>,
    mounts: Option<Vec<MountBody>>,
    /// Files by their paths; mounts say the same.
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
    /// Not offered.
    #[schema(value_type = Option<Object>)]
    tunnel: Option<Value>,
    /// Not offered.
    #[schema(value_type = Option<Object>)]
    gateways: Option<BTreeMap<String, Value>>,
    /// Not offered.
    #[schema(value_type = Option<Object>)]
    mcp: Option<BTreeMap<String, Value>>,
}

impl DevboxCreateParameters {
    /// The devbox that the client means.
    pub(crate) async fn read(
        self,
        state: &ApiState,
        organization: OrganizationId,
    ) -> Result<NewDevbox, Problem> {
        self.check_offered()?;
        let mut checks = Checks::default();
        let name = checks.optional_text("name", self.name, 0..=LONGEST_NAME);
        let origin = Origin {
            snapshot: self.snapshot_id,
            blueprint: self.blueprint_id,
            blueprint_name: self.blueprint_name,
        };
        let (base, general) = origin.find(state, organization).await?;
        let launch = self
            .launch_parameters
            .unwrap_or_default()
            .over(general)
            .read(&mut checks, "launch_parameters");
        let environment = variables(
            &mut checks,
            "environment_variables",
            self.environment_variables,
        );
        let secrets = variables(&mut checks, "secrets", self.secrets);
        let mut all: Vec<_> = mounts::files(self.file_mounts).collect();
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
        checks.finish()?;
        Ok(NewDevbox {
            name: name.filter(|name| !name.is_empty()),
            metadata,
            setup: DevboxSetup {
                base,
                launch,
                environment,
                secrets,
                mounts: all,
                entrypoint,
            },
            initiator: Initiator::Invocation,
        })
    }

    /// Refuses what would be silently missing.
    fn check_offered(&self) -> Result<(), Problem> {
        let some =
            |map: &Option<BTreeMap<String, Value>>| map.as_ref().is_some_and(|map| !map.is_empty());
        let what = if self.tunnel.is_some() {
            "tunnels"
        } else if some(&self.gateways) {
            "gateways"
        } else if some(&self.mcp) {
            "MCP servers"
        } else {
            return Ok(());
        };
        let message = format!("{what} are not offered by this server");
        Err(Problem::new(ProblemKind::NotImplemented, message))
    }
}

/// What a devbox shall begin with, as the client says it.
struct Origin {
    snapshot: Option<String>,
    blueprint: Option<String>,
    blueprint_name: Option<String>,
}

impl Origin {
    /// What that is, and how devboxes of it are launched unless they say otherwise.
    async fn find(
        self,
        state: &ApiState,
        organization: OrganizationId,
    ) -> Result<(DevboxBase, LaunchParametersBody), Problem> {
        let given = [&self.snapshot, &self.blueprint, &self.blueprint_name];
        if given.into_iter().flatten().count() > 1 {
            let message = "only one of snapshot_id, blueprint_id and blueprint_name may be given";
            return Err(Problem::field("snapshot_id", message));
        }
        let usual = LaunchParametersBody::default();
        if let Some(text) = self.snapshot {
            let id = ids::read("snapshot_id", &text)?;
            return Ok((DevboxBase::Snapshot(id), usual));
        }
        if self.blueprint.is_none() && self.blueprint_name.is_none() {
            return Ok((DevboxBase::Host, usual));
        }
        let blueprints = state.blueprints().ok_or_else(|| {
            let message = "blueprints are not offered by this server";
            Problem::new(ProblemKind::NotImplemented, message)
        })?;
        let (blueprint, image) = match (self.blueprint, self.blueprint_name) {
            (None, Some(name)) => blueprints.image_named(organization, &name).await?,
            (text, _) => {
                let id = ids::read("blueprint_id", &text.unwrap_or_default())?;
                (id, blueprints.image(organization, id).await?)
            }
        };
        let recipe = blueprints.find(organization, blueprint).await?.recipe;
        let general = recipe
            .launch_parameters
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or(usual);
        let image = Box::new(image);
        Ok((DevboxBase::Blueprint { blueprint, image }, general))
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
#[utoipa::path(post, path = "/v1/devboxes", tag = "Runloop: devboxes", request_body = DevboxCreateParameters, security(("organization_key" = [])),
    responses((status = 200, description = "The devbox", body = DevboxView), (status = 501, description = "It asks for what this server does not offer", body = RunloopError)))]
pub(crate) async fn create_devbox(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<DevboxCreateParameters>,
) -> Result<Json<DevboxView>, Problem> {
    let fleet = state.fleet()?;
    let new = body.read(&state, caller.id()).await?;
    let record = fleet.create(caller.id(), new).await?;
    Ok(Json(DevboxView::of(record)))
}

/// Makes a devbox. Clients wait for it with wait_for_status.
#[utoipa::path(post, path = "/v1/devboxes/create_and_await_running", tag = "Runloop: devboxes", request_body = DevboxCreateParameters, security(("organization_key" = [])),
    responses((status = 200, description = "The devbox, still provisioning", body = DevboxView), (status = 501, description = "It asks for what this server does not offer", body = RunloopError)))]
pub(crate) async fn create_devbox_and_await_running(
    state: State<ApiState>,
    caller: OrganizationCaller,
    body: Json<DevboxCreateParameters>,
) -> Result<Json<DevboxView>, Problem> {
    create_devbox(state, caller, body).await
}
