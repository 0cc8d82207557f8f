//! Recipes as clients send them.

use std::collections::BTreeMap;

use proctor_core::{
    blueprint::{BaseReference, Recipe},
    document::Document,
    id::{
        Dialect, Id, Kind,
        kinds::{BlueprintId, NetworkPolicyId, ObjectId},
    },
    mount::CodeMount,
    profile::is_variable,
};
use proctor_fleet::is_repository_name;
use proctor_simulation::config::read_value;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    extract::{Checks, texts},
    runloop::{agents::checked_commands, labels, launch_parameters::LaunchParametersBody},
};

const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4096;
const LONGEST_DOCKERFILE: usize = 1 << 20;
const LONGEST_COMMAND: usize = 64 << 10;
const MOST_MOUNTS: usize = 500;

/// A recipe.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BlueprintParameters {
    #[schema(value_type = String, required, max_length = 255)]
    name: Option<String>,
    /// The blueprint to build on; at most one of this, its name and a Dockerfile.
    base_blueprint_id: Option<String>,
    /// The newest blueprint of this name that was built is built on.
    base_blueprint_name: Option<String>,
    /// FROM, RUN, COPY, ADD, ENV, WORKDIR, USER and ARG. FROM names `host`, an image of this server, or a blueprint.
    dockerfile: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    build_args: Option<BTreeMap<String, String>>,
    /// The archive that the Dockerfile copies from.
    build_context: Option<BuildContextParameters>,
    /// Files by their paths.
    #[serde(default, deserialize_with = "texts")]
    file_mounts: Option<BTreeMap<String, String>>,
    code_mounts: Option<Vec<CodeMountParameters>>,
    /// Commands that root runs.
    system_setup_commands: Option<Vec<String>>,
    /// Names of variables and of the secrets whose values commands of the build get in them.
    #[serde(default, deserialize_with = "texts")]
    secrets: Option<BTreeMap<String, String>>,
    /// What the build may reach; nothing without.
    network_policy_id: Option<String>,
    /// How devboxes of this blueprint are launched unless they say otherwise.
    #[schema(value_type = Option<Object>)]
    launch_parameters: Option<Value>,
    #[serde(default, deserialize_with = "texts")]
    metadata: Option<BTreeMap<String, String>>,
    /// Containers beside a devbox, which this server does not offer: must be empty.
    #[schema(value_type = Option<Vec<Object>>)]
    services: Option<Vec<Value>>,
}

/// An archive that was uploaded.
#[derive(Deserialize, ToSchema)]
pub(crate) struct BuildContextParameters {
    /// Always `object`.
    r#type: Option<String>,
    #[schema(value_type = String, required)]
    object_id: Option<String>,
}

/// A repository that is checked out below `/home/user`.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CodeMountParameters {
    #[schema(value_type = String, required)]
    repo_name: Option<String>,
    #[schema(value_type = String, required)]
    repo_owner: Option<String>,
    /// What opens a private repository. It goes in and never comes back.
    token: Option<String>,
    /// A branch, tag or commit.
    git_ref: Option<String>,
    /// A command to run in the checkout.
    install_command: Option<String>,
}

impl BlueprintParameters {
    /// The recipe, if everything in it makes sense by itself.
    pub(super) fn read(self) -> Result<Recipe, ApiError> {
        let mut checks = Checks::default();
        let base = base(
            &mut checks,
            self.base_blueprint_id,
            self.base_blueprint_name,
        );
        let file_mounts = self.file_mounts.unwrap_or_default();
        check_files(&mut checks, &file_mounts);
        let commands = self.system_setup_commands.unwrap_or_default();
        checked_commands(&mut checks, "system_setup_commands", &commands);
        let secrets = self.secrets.unwrap_or_default();
        let build_args = self.build_args.unwrap_or_default();
        check_variables(&mut checks, "secrets", &secrets);
        check_variables(&mut checks, "build_args", &build_args);
        if self.services.is_some_and(|services| !services.is_empty()) {
            checks.refuse(
                "services",
                "containers beside a devbox are not offered here",
            );
        }
        if let Some(launch) = &self.launch_parameters {
            checks.document("launch_parameters", launch);
            if !launch.is_object() {
                checks.refuse("launch_parameters", "must be an object");
            } else {
                match read_value::<LaunchParametersBody>(launch) {
                    Ok(body) => drop(body.read(&mut checks, "launch_parameters")),
                    Err(problem) => checks.refuse_below("launch_parameters", problem.into()),
                }
            }
        }
        let recipe = Recipe {
            name: checks.text("name", self.name, 1..=LONGEST_NAME),
            base,
            dockerfile: checks
                .optional_text("dockerfile", self.dockerfile, 0..=LONGEST_DOCKERFILE)
                .filter(|text| !text.trim().is_empty()),
            build_context: self
                .build_context
                .and_then(|context| context.read(&mut checks)),
            code_mounts: code_mounts(&mut checks, self.code_mounts.unwrap_or_default()),
            network_policy: self
                .network_policy_id
                .and_then(|id| id_of(&mut checks, "network_policy_id", &id))
                .map(|id: NetworkPolicyId| id),
            metadata: labels::checked(&mut checks, "metadata", self.metadata),
            launch_parameters: self.launch_parameters.map(Document::of),
            system_setup_commands: commands,
            build_args,
            file_mounts,
            secrets,
            ..Recipe::default()
        };
        checks.finish()?;
        Ok(recipe)
    }
}

impl BuildContextParameters {
    fn read(self, checks: &mut Checks) -> Option<ObjectId> {
        if self.r#type.is_some_and(|kind| kind != "object") {
            checks.refuse("build_context.type", "must be 'object'");
        }
        let id = checks.required("build_context.object_id", self.object_id)?;
        id_of(checks, "build_context.object_id", &id)
    }
}

fn id_of<K: Kind>(checks: &mut Checks, field: &str, text: &str) -> Option<Id<K>> {
    Id::from_wire(text, Dialect::Runloop)
        .map_err(|bad| checks.refuse(field, bad.to_string()))
        .ok()
}

fn base(checks: &mut Checks, id: Option<String>, name: Option<String>) -> Option<BaseReference> {
    match (id, name) {
        (None, None) => None,
        (Some(id), None) => {
            let id: BlueprintId = id_of(checks, "base_blueprint_id", &id)?;
            Some(BaseReference::Id(id))
        }
        (None, Some(name)) => {
            let name = checks.text("base_blueprint_name", Some(name), 1..=LONGEST_NAME);
            Some(BaseReference::Name(name))
        }
        (Some(_), Some(_)) => {
            checks.refuse(
                "base_blueprint_name",
                "must not be there together with base_blueprint_id",
            );
            None
        }
    }
}

fn check_files(checks: &mut Checks, files: &BTreeMap<String, String>) {
    if files.len() > MOST_MOUNTS {
        checks.refuse("file_mounts", format!("must have at most {MOST_MOUNTS}"));
        return;
    }
    for path in files.keys() {
        checks.text("file_mounts", Some(path.clone()), 1..=LONGEST_PATH);
        if path.ends_with('/') {
            checks.refuse("file_mounts", format!("'{path}' is no path of a file"));
        }
    }
}

fn check_variables(checks: &mut Checks, field: &str, variables: &BTreeMap<String, String>) {
    for (name, value) in variables {
        if !is_variable(name) {
            checks.refuse(field, format!("'{name}' is no name of a variable"));
        }
        checks.text(field, Some(value.clone()), 0..=LONGEST_COMMAND);
    }
}

fn code_mounts(checks: &mut Checks, mounts: Vec<CodeMountParameters>) -> Vec<CodeMount> {
    if mounts.len() > MOST_MOUNTS {
        checks.refuse("code_mounts", format!("must have at most {MOST_MOUNTS}"));
        return Vec::new();
    }
    let mut read = Vec::with_capacity(mounts.len());
    for (number, mount) in mounts.into_iter().enumerate() {
        let place = |member: &str| format!("code_mounts.{number}.{member}");
        let mut part = |member: &str, text: Option<String>| {
            let field = place(member);
            let text = checks.text(&field, text, 1..=100);
            if !text.is_empty() && !is_repository_name(&text) {
                checks.refuse(&field, "must be letters, digits, '-', '_' or '.'");
            }
            text
        };
        let (name, owner) = (
            part("repo_name", mount.repo_name),
            part("repo_owner", mount.repo_owner),
        );
        read.push(CodeMount {
            owner,
            name,
            token: mount.token.filter(|token| !token.is_empty()),
            reference: checks.optional_text(&place("git_ref"), mount.git_ref, 1..=250),
            install: checks.optional_text(
                &place("install_command"),
                mount.install_command,
                1..=LONGEST_COMMAND,
            ),
        });
    }
    read
}
