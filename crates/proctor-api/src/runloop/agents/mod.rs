//! `/v1/agents`: programs that take tasks by themselves.

pub(crate) mod manifest;

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};

use axum::extract::State;
use proctor_core::{
    agent::{Agent, AgentOrigin, AgentSource, OriginKind, Package},
    id::{
        Dialect,
        kinds::{AgentId, AgentKind, ObjectId, OrganizationId},
    },
    mount::Mount,
};
use proctor_fleet::{
    check_address, check_reference,
    objects::{self, ObjectError},
};
use proctor_store::{
    Store,
    agents::{AgentFilter, AgentVersion},
    names::Sought,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::page::{RunloopPage, RunloopPageQuery};
use crate::{
    auth::OrganizationCaller,
    error::ApiError,
    extract::{Checks, Json, Path, Query},
    state::ApiState,
};

const LONGEST_NAME: usize = 255;
const LONGEST_TEXT: usize = 2048;
const MOST_COMMANDS: usize = 100;
const LONGEST_COMMAND: usize = 64 << 10;

/// An agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentView {
    #[schema(example = "agt_01K0000000000000000000000A")]
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<AgentSourceView>,
    create_time_ms: i64,
    /// Always false: no agent is open to everybody.
    is_public: bool,
}

/// Where an agent comes from: one of the members is there, the one that `type` names.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentSourceView {
    #[schema(example = "npm")]
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    npm: Option<PackageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pip: Option<PackageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<GitView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectSourceView>,
}

/// A package of a registry.
#[derive(Serialize, ToSchema)]
pub(crate) struct PackageView {
    package_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registry_url: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agent_setup: Vec<String>,
}

/// A repository.
#[derive(Serialize, ToSchema)]
pub(crate) struct GitView {
    repository: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#ref: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agent_setup: Vec<String>,
}

/// An uploaded object.
#[derive(Serialize, ToSchema)]
pub(crate) struct ObjectSourceView {
    object_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agent_setup: Vec<String>,
}

impl AgentSourceView {
    fn of(source: AgentSource) -> Self {
        let mut view = Self {
            r#type: source.origin.kind().name(),
            npm: None,
            pip: None,
            git: None,
            object: None,
        };
        let agent_setup = source.setup;
        match source.origin {
            AgentOrigin::Npm(package) => view.npm = Some(PackageView::of(package, agent_setup)),
            AgentOrigin::Pip(package) => view.pip = Some(PackageView::of(package, agent_setup)),
            AgentOrigin::Git {
                repository,
                reference,
            } => {
                view.git = Some(GitView {
                    repository,
                    r#ref: reference,
                    agent_setup,
                });
            }
            AgentOrigin::Object(object) => {
                view.object = Some(ObjectSourceView {
                    object_id: object.wire(Dialect::Runloop),
                    agent_setup,
                });
            }
        }
        view
    }
}

impl PackageView {
    fn of(package: Package, agent_setup: Vec<String>) -> Self {
        Self {
            package_name: package.name,
            registry_url: package.registry_url,
            agent_setup,
        }
    }
}

impl AgentView {
    fn of(agent: Agent) -> Self {
        Self {
            id: agent.id.wire(Dialect::Runloop),
            name: agent.name,
            version: agent.version,
            source: agent.source.map(AgentSourceView::of),
            create_time_ms: agent.created_at.as_millis(),
            is_public: false,
        }
    }
}

/// A part of the list of agents, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentListView {
    agents: Vec<AgentView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

/// How many devboxes have which agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentDevboxCountsView {
    /// By the name of the agent.
    counts: BTreeMap<String, u64>,
    /// Of all agents together.
    total_count: u64,
}

/// What a new agent is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AgentCreateParameters {
    /// Several versions share a name.
    #[schema(value_type = String, required, max_length = 255)]
    name: Option<String>,
    version: Option<String>,
    source: Option<AgentSourceParameters>,
}

/// Where an agent comes from: `type`, and the member that it names.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AgentSourceParameters {
    /// One of npm, pip, git, object.
    #[schema(value_type = String, required, example = "npm")]
    r#type: Option<String>,
    npm: Option<PackageParameters>,
    pip: Option<PackageParameters>,
    git: Option<GitParameters>,
    object: Option<ObjectSourceParameters>,
}

/// A package of a registry.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PackageParameters {
    #[schema(value_type = String, required)]
    package_name: Option<String>,
    registry_url: Option<String>,
    /// Commands to run once it is installed.
    agent_setup: Option<Vec<String>>,
}

/// A repository.
#[derive(Deserialize, ToSchema)]
pub(crate) struct GitParameters {
    #[schema(value_type = String, required)]
    repository: Option<String>,
    /// A branch, tag or commit.
    r#ref: Option<String>,
    /// Commands to run in the checkout.
    agent_setup: Option<Vec<String>>,
}

/// An uploaded object.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ObjectSourceParameters {
    #[schema(value_type = String, required)]
    object_id: Option<String>,
    /// Commands to run where it was unpacked.
    agent_setup: Option<Vec<String>>,
}

/// Which agents a list shows.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentListQuery {
    /// Only those of exactly this name; if there are none, those that contain it in any case.
    name: Option<String>,
    /// Only those whose id begins with this or whose name contains it in any case.
    search: Option<String>,
    /// Only those of this version; `latest` is the newest of each name.
    version: Option<String>,
    /// Only those that are open to everybody, or only those that are not.
    is_public: Option<bool>,
}

impl AgentSourceParameters {
    fn read(self, checks: &mut Checks) -> Option<AgentSource> {
        let kind = checks.named(
            "source.type",
            self.r#type,
            OriginKind::ALL,
            OriginKind::name,
            OriginKind::read,
        );
        let field = format!("source.{}", kind.name());
        let (origin, setup) = match kind {
            OriginKind::Npm => {
                let (package, setup) = checks.required(&field, self.npm)?.read(checks, &field);
                (AgentOrigin::Npm(package), setup)
            }
            OriginKind::Pip => {
                let (package, setup) = checks.required(&field, self.pip)?.read(checks, &field);
                (AgentOrigin::Pip(package), setup)
            }
            OriginKind::Git => {
                let git = checks.required(&field, self.git)?;
                let repository = address(checks, &format!("{field}.repository"), git.repository)?;
                let ref_field = format!("{field}.ref");
                let reference = checks.optional_text(&ref_field, git.r#ref, 1..=LONGEST_NAME);
                if let Some(Err(problem)) = reference.as_deref().map(check_reference) {
                    checks.refuse(&ref_field, problem.to_string());
                }
                let origin = AgentOrigin::Git {
                    repository,
                    reference,
                };
                (origin, git.agent_setup)
            }
            OriginKind::Object => {
                let object = checks.required(&field, self.object)?;
                let field = format!("{field}.object_id");
                let id = checks.required(&field, object.object_id)?;
                let id = match ObjectId::from_wire(&id, Dialect::Runloop) {
                    Ok(id) => id,
                    Err(bad) => {
                        checks.refuse(&field, bad.to_string());
                        return None;
                    }
                };
                (AgentOrigin::Object(id), object.agent_setup)
            }
        };
        let setup = setup.unwrap_or_default();
        checked_commands(
            checks,
            &format!("source.{}.agent_setup", kind.name()),
            &setup,
        );
        Some(AgentSource { origin, setup })
    }
}

impl PackageParameters {
    fn read(self, checks: &mut Checks, field: &str) -> (Package, Option<Vec<String>>) {
        let name = checks.text(
            &format!("{field}.package_name"),
            self.package_name,
            1..=LONGEST_NAME,
        );
        if name.starts_with('-') || name.contains(char::is_whitespace) {
            checks.refuse(&format!("{field}.package_name"), "is no name of a package");
        }
        let registry_url = self
            .registry_url
            .and_then(|url| address(checks, &format!("{field}.registry_url"), Some(url)));
        let package = Package { name, registry_url };
        (package, self.agent_setup)
    }
}

/// Where a repository or a registry is.
fn address(checks: &mut Checks, field: &str, value: Option<String>) -> Option<String> {
    let url = checks.required(field, value)?;
    if url.chars().count() > LONGEST_TEXT {
        checks.refuse(
            field,
            format!("must have at most {LONGEST_TEXT} characters"),
        );
        return None;
    }
    match check_address(&url) {
        Ok(()) => Some(url),
        Err(problem) => {
            checks.refuse(field, problem.to_string());
            None
        }
    }
}

/// Commands: not too many, each a text of reasonable length.
pub(super) fn checked_commands(checks: &mut Checks, field: &str, commands: &[String]) {
    if commands.len() > MOST_COMMANDS {
        checks.refuse(field, format!("must have at most {MOST_COMMANDS}"));
        return;
    }
    for (number, command) in commands.iter().enumerate() {
        let place = format!("{field}.{number}");
        checks.text(&place, Some(command.clone()), 1..=LONGEST_COMMAND);
    }
}

/// An agent's object must be the organization's own; it may still be on its way.
async fn check_object(
    store: &Store,
    organization: OrganizationId,
    source: Option<&AgentSource>,
) -> Result<(), ApiError> {
    let Some(AgentOrigin::Object(id)) = source.map(|source| &source.origin) else {
        return Ok(());
    };
    match objects::find(store, organization, *id).await {
        Ok(_) => Ok(()),
        Err(ObjectError::Store(error)) => Err(error.into()),
        Err(error) => Err(ApiError::field(
            "source.object.object_id",
            error.to_string(),
        )),
    }
}

fn not_found(id: AgentId) -> ApiError {
    ApiError::not_found(format!("no agent '{}'", id.wire(Dialect::Runloop)))
}

const fn nothing(count: bool) -> AgentListView {
    AgentListView {
        agents: Vec::new(),
        has_more: false,
        total_count: if count { Some(0) } else { None },
    }
}

/// Lists the agents.
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "Runloop: agents",
    params(RunloopPageQuery, AgentListQuery),
    security(("organization_key" = [])),
    responses((status = 200, description = "The agents, newest first", body = AgentListView)),
)]
pub(crate) async fn list_agents(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    RunloopPage(page): RunloopPage<AgentKind>,
    Query(query): Query<AgentListQuery>,
) -> Result<Json<AgentListView>, ApiError> {
    if query.is_public == Some(true) {
        return Ok(Json(nothing(page.count)));
    }
    let version = query.version.filter(|version| !version.is_empty());
    let filter = AgentFilter {
        sought: Sought {
            name: query.name,
            search: query.search,
            ..Sought::default()
        },
        version: version.map(|version| match version.as_str() {
            "latest" => AgentVersion::Latest,
            _ => AgentVersion::Exact(version),
        }),
    };
    let page = state.store().agents(caller.id(), &filter, page).await?;
    Ok(Json(AgentListView {
        agents: page.items.into_iter().map(AgentView::of).collect(),
        has_more: page.has_more,
        total_count: page.total,
    }))
}

/// Lists the agents that are open to everybody. There is no way to make one so: the list is empty.
#[utoipa::path(
    get,
    path = "/v1/agents/list_public",
    tag = "Runloop: agents",
    params(RunloopPageQuery, AgentListQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The agents that are open to everybody", body = AgentListView),
    ),
)]
pub(crate) async fn list_public_agents(
    _: OrganizationCaller,
    RunloopPage(page): RunloopPage<AgentKind>,
    Query(_query): Query<AgentListQuery>,
) -> Json<AgentListView> {
    Json(nothing(page.count))
}

/// Counts the devboxes that have not ended and have an agent mounted, by the agent's name.
#[utoipa::path(
    get,
    path = "/v1/agents/devbox_counts",
    tag = "Runloop: agents",
    security(("organization_key" = [])),
    responses(
        (
            status = 200,
            description = "How many devboxes have which agent",
            body = AgentDevboxCountsView,
        ),
    ),
)]
pub(crate) async fn count_agent_devboxes(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
) -> Result<Json<AgentDevboxCountsView>, ApiError> {
    let store = state.store();
    let mut names: HashMap<AgentId, Option<String>> = HashMap::new();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for devbox in store.devboxes_with_agents(caller.id()).await? {
        let mut mounted = BTreeSet::new();
        for mount in devbox.setup.mounts {
            let Mount::Agent { agent, name, .. } = mount else {
                continue;
            };
            let known = match agent {
                None => None,
                Some(id) => match names.entry(id) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(unknown) => {
                        let agent = store.agent(caller.id(), id).await?;
                        unknown.insert(agent.map(|agent| agent.name)).clone()
                    }
                },
            };
            mounted.extend(known.or(name));
        }
        for name in mounted {
            *counts.entry(name).or_default() += 1;
        }
    }
    Ok(Json(AgentDevboxCountsView {
        total_count: counts.values().sum(),
        counts,
    }))
}

/// Registers an agent.
#[utoipa::path(
    post,
    path = "/v1/agents",
    tag = "Runloop: agents",
    request_body = AgentCreateParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The agent", body = AgentView)),
)]
pub(crate) async fn create_agent(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<AgentCreateParameters>,
) -> Result<Json<AgentView>, ApiError> {
    let mut checks = Checks::default();
    let name = checks.text("name", body.name, 1..=LONGEST_NAME);
    let version = checks.optional_text("version", body.version, 1..=LONGEST_NAME);
    let source = body.source.and_then(|source| source.read(&mut checks));
    checks.finish()?;
    check_object(state.store(), caller.id(), source.as_ref()).await?;
    let agent = state
        .store()
        .create_agent(caller.id(), name, version, source)
        .await?;
    Ok(Json(AgentView::of(agent)))
}

/// Shows an agent.
#[utoipa::path(
    get,
    path = "/v1/agents/{id}",
    tag = "Runloop: agents",
    params(("id" = String, Path, description = "The agent's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The agent", body = AgentView)),
)]
pub(crate) async fn get_agent(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<AgentId>,
) -> Result<Json<AgentView>, ApiError> {
    let agent = state.store().agent(caller.id(), id).await?;
    let agent = agent.ok_or_else(|| not_found(id))?;
    Ok(Json(AgentView::of(agent)))
}

/// Removes an agent.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/delete",
    tag = "Runloop: agents",
    params(("id" = String, Path, description = "The agent's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What the agent was", body = AgentView)),
)]
pub(crate) async fn delete_agent(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<AgentId>,
) -> Result<Json<AgentView>, ApiError> {
    let agent = state.store().agent(caller.id(), id).await?;
    let deleted = state.store().delete_agent(caller.id(), id).await?;
    let agent = agent.filter(|_| deleted).ok_or_else(|| not_found(id))?;
    Ok(Json(AgentView::of(agent)))
}
