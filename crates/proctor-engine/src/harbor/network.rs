//! What the box of a trial may reach, as a network policy of its organization.

use std::collections::BTreeSet;

use proctor_core::{
    canonical::Digest,
    id::kinds::{NetworkPolicyId, OrganizationId},
    network_policy::{Egress, HostPattern},
};
use proctor_harbor::task::{NetworkMode, NetworkPolicy};
use proctor_store::{StoreError, network_policies::PolicyText};

use super::HarborWorkshop;
use crate::error::EngineError;

/// How the names of policies begin that are made for tasks.
const PREFIX: &str = "harbor-allow-";

impl HarborWorkshop {
    /// Whether boxes whose task says `public` reach anything.
    pub(super) async fn has_public_policy(
        &self,
        organization: OrganizationId,
    ) -> Result<bool, EngineError> {
        let name = self.inner.settings.public_policy.as_deref();
        Ok(self.policy_named(organization, name).await?.is_some())
    }

    /// The policy of a trial's box: what its task allows, and these hosts besides. None reaches nothing.
    pub(crate) async fn network(
        &self,
        organization: OrganizationId,
        allowed: &NetworkPolicy,
        besides: &[String],
    ) -> Result<Option<NetworkPolicyId>, EngineError> {
        if allowed.mode == NetworkMode::Public {
            let name = self.inner.settings.public_policy.as_deref();
            if let Some(policy) = self.policy_named(organization, name).await? {
                return Ok(Some(policy));
            }
        }
        let of_task = match allowed.mode {
            NetworkMode::Allowlist => &allowed.hosts[..],
            NetworkMode::Public | NetworkMode::NoNetwork => &[],
        };
        let hosts: BTreeSet<&str> = of_task.iter().chain(besides).map(String::as_str).collect();
        match hosts.is_empty() {
            true => Ok(None),
            false => self.allow(organization, &hosts).await.map(Some),
        }
    }

    /// The policy that allows these hosts and nothing else, made if it is not there.
    async fn allow(
        &self,
        organization: OrganizationId,
        hosts: &BTreeSet<&str>,
    ) -> Result<NetworkPolicyId, EngineError> {
        let store = self.inner.fleet.store();
        let joined = hosts.iter().copied().collect::<Vec<_>>().join(",");
        let hash = Digest::of_bytes(joined.as_bytes()).hex();
        let name = format!("{PREFIX}{}", &hash[..24]);
        if let Some(known) = store.network_policy_named(organization, &name).await? {
            return Ok(known.id);
        }
        // What is no host was refused when the files were read.
        let patterns = hosts.iter().filter_map(|host| host.parse().ok());
        let text = PolicyText {
            name: name.clone(),
            description: Some("Made for the tasks of Harbor jobs.".to_owned()),
            egress: Egress {
                hosts: patterns.collect::<Vec<HostPattern>>(),
                ..Egress::default()
            },
        };
        match store.create_network_policy(organization, text).await {
            Ok(made) => Ok(made.id),
            // Another trial was first.
            Err(error @ StoreError::Taken(_)) => {
                let known = store.network_policy_named(organization, &name).await?;
                known.map(|known| known.id).ok_or_else(|| error.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}
