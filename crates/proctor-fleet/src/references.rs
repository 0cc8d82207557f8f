//! What a request names must be there, and be the organization's own: blueprints, snapshots, network policies, objects and agents.
//!
//! Whoever names something learns at once that it is missing, not when a box is launched. Nothing here is kept from going away afterwards:
//! launching looks again.

use proctor_core::{
    agent::{Agent, AgentOrigin},
    blueprint::BuildStatus,
    devbox::{BaseRequest, DevboxDefinition},
    id::{
        Dialect,
        kinds::{AgentId, ObjectId, OrganizationId},
    },
    mount::Mount,
    object::{ObjectRefused, StoredObject},
};
use proctor_store::{Store, StoreError, disk_snapshots::SnapshotStatus};

use crate::requests::{RequestProblem, not_a_blueprint, not_a_snapshot};

/// How ready something must be that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It must exist; it may become usable until a box needs it.
    Known,
    /// A box is made now.
    Usable,
}

/// What is wrong with what a task says of its box.
pub async fn check_definition(
    store: &Store,
    organization: OrganizationId,
    definition: &DevboxDefinition,
) -> Result<Vec<RequestProblem>, StoreError> {
    let mut problems = Vec::new();
    match &definition.base {
        BaseRequest::Host => {}
        BaseRequest::NotASnapshot(text) => problems.extend(not_a_snapshot(text)),
        BaseRequest::NotABlueprint(text) => problems.extend(not_a_blueprint(text)),
        BaseRequest::Snapshot(id) => {
            let found = store.disk_snapshot(*id).await?;
            let is_there = found.is_some_and(|snapshot| {
                let is_gone = matches!(
                    snapshot.status,
                    SnapshotStatus::Deleted | SnapshotStatus::Gone
                );
                snapshot.organization == organization && !is_gone
            });
            if !is_there {
                problems.push(RequestProblem::Snapshot {
                    snapshot: *id,
                    fault: "does not exist",
                });
            }
        }
        BaseRequest::Blueprint(id) => {
            let found = store.blueprint(organization, *id).await?;
            let wire = || id.wire(Dialect::Runloop);
            match found.map(|found| found.value) {
                Some(found) if found.deleted_at.is_none() => {
                    // One that is being built may be there until a box needs it.
                    if found.build.status() == BuildStatus::Failed {
                        problems.push(RequestProblem::BlueprintFailed(wire()));
                    }
                }
                _ => problems.push(RequestProblem::NoBlueprint(wire())),
            }
        }
        BaseRequest::NewestBlueprint(name) => {
            if store.blueprint_named(organization, name).await?.is_none() {
                problems.push(RequestProblem::NoBlueprintNamed(name.clone()));
            }
        }
    }
    let policy = definition
        .launch
        .as_ref()
        .and_then(|launch| launch.network_policy);
    if let Some(policy) = policy
        && store.network_policy(organization, policy).await?.is_none()
    {
        problems.push(RequestProblem::NoNetworkPolicy(policy));
    }
    Ok(problems)
}

/// What is wrong with what mounts name. Repositories are not looked for: only fetching one tells whether it is there.
pub async fn check_mounts(
    store: &Store,
    organization: OrganizationId,
    mounts: &[Mount],
    readiness: Readiness,
) -> Result<Vec<RequestProblem>, StoreError> {
    let mut problems = Vec::new();
    for mount in mounts {
        let fault = match mount {
            Mount::File { .. } | Mount::Code(_) => None,
            Mount::Object { object, .. } => {
                let found = store.object(organization, *object).await?;
                object_fault(*object, found.map(|found| found.value), readiness)
            }
            Mount::Agent {
                agent,
                name,
                target,
                ..
            } => match find_agent(store, organization, *agent, name.as_deref()).await? {
                Ok(found) => match (
                    agent_fault(&found, target.as_deref()),
                    found.source.map(|source| source.origin),
                ) {
                    (None, Some(AgentOrigin::Object(object))) => {
                        let stored = store.object(organization, object).await?;
                        object_fault(object, stored.map(|stored| stored.value), readiness)
                            .map(|fault| format!("the agent '{}': {fault}", found.name))
                    }
                    (fault, _) => fault,
                },
                Err(fault) => Some(fault),
            },
        };
        problems.extend(fault.map(RequestProblem::Mount));
    }
    Ok(problems)
}

fn object_fault(id: ObjectId, found: Option<StoredObject>, readiness: Readiness) -> Option<String> {
    let wire = id.wire(Dialect::Runloop);
    let Some(object) = found else {
        return Some(format!("there is no object '{wire}'"));
    };
    match (object.readable(), readiness) {
        (Ok(_), _) | (Err(ObjectRefused::NotComplete), Readiness::Known) => None,
        (Err(refused), _) => Some(format!("the object '{wire}' cannot be mounted: {refused}")),
    }
}

/// The agent that a mount names, or what is wrong with the name.
async fn find_agent(
    store: &Store,
    organization: OrganizationId,
    id: Option<AgentId>,
    name: Option<&str>,
) -> Result<Result<Agent, String>, StoreError> {
    let (found, named) = match (id, name) {
        (Some(id), _) => (
            store.agent(organization, id).await?,
            id.wire(Dialect::Runloop),
        ),
        (None, Some(name)) => (
            store.agent_named(organization, name).await?,
            name.to_owned(),
        ),
        (None, None) => (None, String::new()),
    };
    Ok(found.ok_or_else(|| format!("there is no agent '{named}'")))
}

/// Why an agent cannot be mounted at `target`, if it cannot.
fn agent_fault(agent: &Agent, target: Option<&str>) -> Option<String> {
    let name = &agent.name;
    let Some(source) = &agent.source else {
        return Some(format!(
            "the agent '{name}' has no source, so there is nothing to mount"
        ));
    };
    match (&source.origin, target) {
        (AgentOrigin::Npm(_) | AgentOrigin::Pip(_), _)
        | (AgentOrigin::Git { .. } | AgentOrigin::Object(_), Some(_)) => None,
        (origin @ (AgentOrigin::Git { .. } | AgentOrigin::Object(_)), None) => {
            let kind = origin.kind().name();
            Some(format!(
                "the agent '{name}' comes from {kind}: agent_path must say where in the devbox it goes"
            ))
        }
    }
}
