//! Agents that are installed once: what the `install` script of a manifest leaves is a layer over the image of a task, found again by every
//! trial of the same agent on the same image.
//!
//! The script runs as root before anybody works in a box, with the network policy of builds. It never sees a task, so its failure is
//! nobody's but the platform's.

use std::time::Duration;

use proctor_core::{
    blueprint::{BaseReference, Image, Recipe},
    canonical::Digest,
    devbox::{BaseRequest, DevboxDefinition, LaunchRequest},
    document::Document,
    id::kinds::{BlueprintId, NetworkPolicyId, OrganizationId},
    job::{Failure, JobAgent},
    task_run::{Cause, Fault},
};
use proctor_harbor::exceptions::ExceptionType;
use serde_json::json;

use super::{
    HarborWorkshop,
    builds::{NotBuilt, WantedBuild},
};
use crate::error::EngineError;

/// How the names of all blueprints with an agent begin.
const PREFIX: &str = "agent-";

/// What an agent is installed on.
struct Below {
    /// The blueprint; none is the server's own system.
    blueprint: Option<BlueprintId>,
    /// How devboxes of it are launched.
    launch: Option<Document<LaunchRequest>>,
}

impl HarborWorkshop {
    /// A blueprint with the agent installed over that of a Harbor task, if it has a script for that.
    pub(crate) async fn with_agent(
        &self,
        organization: OrganizationId,
        blueprint: BlueprintId,
        agent: &JobAgent,
        limit: Duration,
    ) -> Result<Result<Option<(BlueprintId, Image)>, Failure>, EngineError> {
        let below = Below {
            blueprint: Some(blueprint),
            launch: None,
        };
        self.installed(organization, below, agent, limit).await
    }

    /// The same over what a scenario says of its box.
    pub(crate) async fn with_agent_on(
        &self,
        organization: OrganizationId,
        definition: &DevboxDefinition,
        agent: &JobAgent,
        limit: Duration,
    ) -> Result<Result<Option<BlueprintId>, Failure>, EngineError> {
        if agent.install().is_none() {
            return Ok(Ok(None));
        }
        let store = self.inner.fleet.store();
        let found = match &definition.base {
            BaseRequest::Host => None,
            BaseRequest::Blueprint(id) => {
                let found = store.blueprint(organization, *id).await?;
                Some(found.map(|found| found.value))
            }
            BaseRequest::NewestBlueprint(name) => {
                Some(store.blueprint_named(organization, name).await?)
            }
            BaseRequest::Snapshot(_)
            | BaseRequest::NotASnapshot(_)
            | BaseRequest::NotABlueprint(_) => {
                let told = "an agent with an install script needs a scenario on a blueprint, not on a snapshot";
                return Ok(Err(Failure::setup(told.to_owned(), Fault::setup())));
            }
        };
        let below = match found {
            None => Below {
                blueprint: None,
                launch: None,
            },
            Some(Some(found)) => Below {
                blueprint: Some(found.id),
                launch: found.recipe.launch_parameters,
            },
            // Whoever makes the box says so.
            Some(None) => return Ok(Ok(None)),
        };
        let built = self.installed(organization, below, agent, limit).await?;
        Ok(built.map(|built| built.map(|(id, _)| id)))
    }

    /// The network policy of devboxes that begin with this, if they say nothing themselves.
    pub(crate) async fn policy_of_base(
        &self,
        organization: OrganizationId,
        base: &BaseRequest,
    ) -> Result<Option<NetworkPolicyId>, EngineError> {
        let store = self.inner.fleet.store();
        let found = match base {
            BaseRequest::Blueprint(id) => {
                let found = store.blueprint(organization, *id).await?;
                found.map(|found| found.value)
            }
            BaseRequest::NewestBlueprint(name) => store.blueprint_named(organization, name).await?,
            BaseRequest::Host
            | BaseRequest::Snapshot(_)
            | BaseRequest::NotASnapshot(_)
            | BaseRequest::NotABlueprint(_) => None,
        };
        let launch = found.and_then(|found| found.recipe.launch_parameters);
        let launch = launch.as_ref().and_then(|launch| launch.get().ok());
        Ok(launch.and_then(|launch| launch.network_policy))
    }

    async fn installed(
        &self,
        organization: OrganizationId,
        below: Below,
        agent: &JobAgent,
        limit: Duration,
    ) -> Result<Result<Option<(BlueprintId, Image)>, Failure>, EngineError> {
        let Some(install) = agent.install() else {
            return Ok(Ok(None));
        };
        let policy = self.build_policy(organization).await?;
        let base = below
            .blueprint
            .map(|blueprint| blueprint.uuid().to_string());
        let policy = policy.map(|policy| policy.uuid().to_string());
        let hash = Digest::of(&json!([base, install, agent.version, policy])).hex();
        let wanted = WantedBuild {
            name: format!("{PREFIX}{}", &hash[..40]),
            limit,
        };
        let recipe = |network_policy| Recipe {
            name: wanted.name.clone(),
            base: below.blueprint.map(BaseReference::Id),
            system_setup_commands: vec![format!("set -e\n{install}")],
            network_policy,
            launch_parameters: below.launch,
            ..Recipe::default()
        };
        let built = self.built(organization, &wanted, recipe).await?;
        Ok(built
            .map(Some)
            .map_err(|why| not_installed(&agent.name, why, limit)))
    }
}

fn not_installed(agent: &str, why: NotBuilt, limit: Duration) -> Failure {
    let (exception, told) = match why {
        NotBuilt::Refused(told) | NotBuilt::Failed(told) => (
            ExceptionType::AgentSetupError,
            format!(
                "the agent {agent} could not be installed: {}",
                told.trim_end()
            ),
        ),
        NotBuilt::TooLong => (
            ExceptionType::AgentSetupTimeoutError,
            format!(
                "the agent {agent} took longer than {} seconds to install",
                limit.as_secs_f64()
            ),
        ),
    };
    let fault = Fault::new(Cause::Infrastructure, format!("{exception}: {told}"));
    Failure::setup(told, fault).called(exception.as_str())
}
