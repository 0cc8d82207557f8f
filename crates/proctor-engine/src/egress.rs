//! What boxes of agents may reach: policies that are put together for them, and kept by what they allow.

use std::collections::BTreeSet;

use proctor_core::{
    canonical::Digest,
    id::kinds::{NetworkPolicyId, OrganizationId},
    network_policy::{Egress, HostPattern},
};
use proctor_store::{Store, StoreError, network_policies::PolicyText};
use serde_json::json;

/// How the names of policies begin that are made here.
const PREFIX: &str = "harbor-allow-";

/// Everything that one of two policies allows.
pub(crate) fn union(one: &Egress, other: &Egress) -> Egress {
    let hosts = one.hosts.iter().chain(&other.hosts);
    let hosts: BTreeSet<&str> = hosts.map(HostPattern::as_str).collect();
    let mut cidrs = one.cidrs.clone();
    let more = other.cidrs.iter().filter(|cidr| !one.cidrs.contains(cidr));
    cidrs.extend(more.cloned());
    Egress {
        allow_all: one.allow_all || other.allow_all,
        allow_devbox_to_devbox: one.allow_devbox_to_devbox || other.allow_devbox_to_devbox,
        allow_agent_gateway: one.allow_agent_gateway || other.allow_agent_gateway,
        allow_mcp_gateway: one.allow_mcp_gateway || other.allow_mcp_gateway,
        allow_runloop_mirrors: one.allow_runloop_mirrors || other.allow_runloop_mirrors,
        hosts: hosts.iter().filter_map(|host| host.parse().ok()).collect(),
        cidrs,
    }
}

/// A policy that allows these hosts and nothing else.
pub(crate) fn of_hosts<'h>(hosts: impl IntoIterator<Item = &'h String>) -> Egress {
    // What is no host was refused when the files were read.
    let hosts = hosts.into_iter().filter_map(|host| host.parse().ok());
    let listed = Egress {
        hosts: hosts.collect(),
        ..Egress::default()
    };
    union(&listed, &Egress::default())
}

/// The policy of the organization that allows exactly this, made if it is not there; none if nothing is allowed.
pub(crate) async fn policy_for(
    store: &Store,
    organization: OrganizationId,
    egress: Egress,
) -> Result<Option<NetworkPolicyId>, StoreError> {
    if egress == Egress::default() {
        return Ok(None);
    }
    let hash = Digest::of(&json!(egress)).hex();
    let name = format!("{PREFIX}{}", &hash[..24]);
    if let Some(known) = store.network_policy_named(organization, &name).await? {
        return Ok(Some(known.id));
    }
    let text = PolicyText {
        name: name.clone(),
        description: Some("Made for the boxes of agents.".to_owned()),
        egress,
    };
    match store.create_network_policy(organization, text).await {
        Ok(made) => Ok(Some(made.id)),
        // Another trial was first.
        Err(error @ StoreError::Taken(_)) => {
            let known = store.network_policy_named(organization, &name).await?;
            known.map(|known| Some(known.id)).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// The policy that allows what another one does, and these hosts besides.
pub(crate) async fn with_hosts(
    store: &Store,
    organization: OrganizationId,
    general: Option<NetworkPolicyId>,
    hosts: &[String],
) -> Result<Option<NetworkPolicyId>, StoreError> {
    let known = match general {
        Some(id) => store.network_policy(organization, id).await?,
        None => None,
    };
    let allowed = known.map_or_else(Egress::default, |policy| policy.text.egress);
    let both = union(&allowed, &of_hosts(hosts));
    // Everything has no exceptions, and what is listed twice is listed.
    match allowed.allow_all || both == union(&allowed, &Egress::default()) {
        true => Ok(general),
        false => policy_for(store, organization, both).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str]) -> Egress {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        of_hosts(&names)
    }

    #[test]
    fn two_policies_together_allow_what_either_does_once() {
        let both = union(&hosts(&["b.example", "a.example"]), &hosts(&["a.example"]));
        assert_eq!(both, hosts(&["a.example", "b.example"]));
        let all = Egress {
            allow_all: true,
            ..Egress::default()
        };
        assert!(union(&hosts(&["a.example"]), &all).allow_all);
        assert_eq!(
            union(&Egress::default(), &Egress::default()),
            Egress::default()
        );
    }
}
