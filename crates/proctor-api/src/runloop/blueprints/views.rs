//! Blueprints as clients see them.

use std::collections::BTreeMap;

use proctor_core::{
    blueprint::{BaseReference, Blueprint, Build, BuildFailure, Recipe},
    id::Dialect,
    mount::CodeMount,
};
use proctor_fleet::blueprints::LogLine;
use proctor_store::page::Page;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A blueprint.
#[derive(Serialize, ToSchema)]
pub(crate) struct BlueprintView {
    #[schema(example = "bpt_01K0000000000000000000000A")]
    id: String,
    name: String,
    /// One of provisioning, building, build_complete, failed.
    #[schema(example = "build_complete")]
    status: &'static str,
    /// Whether it was deleted: created or deleted.
    #[schema(example = "created")]
    state: &'static str,
    create_time_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    build_finish_time_ms: Option<i64>,
    /// One of out_of_memory, out_of_disk, build_failed; the logs tell more.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'static str>,
    parameters: RecipeView,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_blueprint_id: Option<String>,
    /// Always false: no blueprint is open to everybody.
    is_public: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

/// What was asked for; without tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecipeView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_blueprint_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_blueprint_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dockerfile: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    build_args: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    build_context: Option<BuildContextView>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    file_mounts: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    code_mounts: Vec<CodeMountView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system_setup_commands: Vec<String>,
    /// Names of variables and of secrets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    secrets: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_policy_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    launch_parameters: Option<Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

/// An archive that was uploaded.
#[derive(Serialize, ToSchema)]
pub(crate) struct BuildContextView {
    #[schema(example = "object")]
    r#type: &'static str,
    object_id: String,
}

/// A repository, without its token.
#[derive(Serialize, ToSchema)]
pub(crate) struct CodeMountView {
    repo_name: String,
    repo_owner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    install_command: Option<String>,
}

impl CodeMountView {
    fn of(mount: CodeMount) -> Self {
        Self {
            repo_name: mount.name,
            repo_owner: mount.owner,
            git_ref: mount.reference,
            install_command: mount.install,
        }
    }
}

impl RecipeView {
    fn of(recipe: Recipe) -> Self {
        let (base_blueprint_id, base_blueprint_name) = match recipe.base {
            None => (None, None),
            Some(BaseReference::Id(id)) => (Some(id.wire(Dialect::Runloop)), None),
            Some(BaseReference::Name(name)) => (None, Some(name)),
        };
        Self {
            name: recipe.name,
            base_blueprint_id,
            base_blueprint_name,
            dockerfile: recipe.dockerfile,
            build_args: recipe.build_args,
            build_context: recipe.build_context.map(|object| BuildContextView {
                r#type: "object",
                object_id: object.wire(Dialect::Runloop),
            }),
            file_mounts: recipe.file_mounts,
            code_mounts: recipe
                .code_mounts
                .into_iter()
                .map(CodeMountView::of)
                .collect(),
            system_setup_commands: recipe.system_setup_commands,
            secrets: recipe.secrets,
            network_policy_id: recipe.network_policy.map(|id| id.wire(Dialect::Runloop)),
            launch_parameters: recipe.launch_parameters.map(|launch| launch.to_value()),
            metadata: recipe.metadata,
        }
    }
}

impl BlueprintView {
    pub(super) fn of(blueprint: Blueprint) -> Self {
        let failure_reason = match &blueprint.build {
            Build::Failed { reason, .. } => Some(BuildFailure::name(*reason)),
            Build::Provisioning | Build::Building | Build::Complete { .. } => None,
        };
        Self {
            id: blueprint.id.wire(Dialect::Runloop),
            name: blueprint.recipe.name.clone(),
            status: blueprint.build.status().name(),
            state: match blueprint.deleted_at {
                None => "created",
                Some(_) => "deleted",
            },
            create_time_ms: blueprint.created_at.as_millis(),
            build_finish_time_ms: blueprint.build.finished_at().map(|end| end.as_millis()),
            failure_reason,
            base_blueprint_id: blueprint.base.map(|id| id.wire(Dialect::Runloop)),
            is_public: false,
            metadata: blueprint.recipe.metadata.clone(),
            parameters: RecipeView::of(blueprint.recipe),
        }
    }
}

/// A part of the list of blueprints, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct BlueprintListView {
    blueprints: Vec<BlueprintView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

impl BlueprintListView {
    pub(super) fn of(page: Page<Blueprint>) -> Self {
        Self {
            blueprints: page.items.into_iter().map(BlueprintView::of).collect(),
            has_more: page.has_more,
            total_count: page.total,
        }
    }

    /// A list that holds nothing.
    pub(super) const fn nothing(count: bool) -> Self {
        Self {
            blueprints: Vec::new(),
            has_more: false,
            total_count: if count { Some(0) } else { None },
        }
    }
}

/// A Dockerfile.
#[derive(Serialize, ToSchema)]
pub(crate) struct BlueprintPreviewView {
    pub(super) dockerfile: String,
}

/// What a build said.
#[derive(Serialize, ToSchema)]
pub(crate) struct BlueprintLogsView {
    pub(super) blueprint_id: String,
    pub(super) logs: Vec<LogLineView>,
}

/// A line of a build's log.
#[derive(Serialize, ToSchema)]
pub(crate) struct LogLineView {
    #[schema(example = "info")]
    level: &'static str,
    message: String,
    timestamp_ms: i64,
}

impl LogLineView {
    pub(super) fn of(line: LogLine) -> Self {
        Self {
            level: line.level.name(),
            message: line.message,
            timestamp_ms: line.timestamp_ms,
        }
    }
}
