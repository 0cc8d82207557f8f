//! Network policies: making, changing and removing them by the rules that all clients share.

use proctor_core::{
    id::kinds::{NetworkPolicyId, OrganizationId},
    network_policy::{AllowedCidr, Egress, HostPattern},
};
use proctor_devbox::{EgressPolicy, Network};
use proctor_store::{
    Store, StoreError,
    network_policies::{NetworkPolicy, PolicyText},
    retry::retry_stale,
};

/// What a policy becomes; what is absent stays as it is.
#[derive(Clone, Debug, Default)]
pub struct PolicyChange {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether everything may be reached.
    pub allow_all: Option<bool>,
    /// Whether other devboxes may be reached.
    pub allow_devbox_to_devbox: Option<bool>,
    /// Whether the gateway that adds credentials may be reached.
    pub allow_agent_gateway: Option<bool>,
    /// Whether the hub of tool servers may be reached.
    pub allow_mcp_gateway: Option<bool>,
    /// Whether mirrors of package registries may be reached.
    pub allow_runloop_mirrors: Option<bool>,
    /// Hosts by name.
    pub hosts: Option<Vec<HostPattern>>,
    /// Networks by address.
    pub cidrs: Option<Vec<AllowedCidr>>,
}

impl PolicyChange {
    /// What `old` becomes. A policy that allows everything also allows other devboxes.
    fn over(self, old: PolicyText) -> PolicyText {
        let egress = old.egress;
        let allow_all = self.allow_all.unwrap_or(egress.allow_all);
        PolicyText {
            name: self.name.unwrap_or(old.name),
            description: self.description.or(old.description),
            egress: Egress {
                allow_all,
                allow_devbox_to_devbox: allow_all
                    || self
                        .allow_devbox_to_devbox
                        .unwrap_or(egress.allow_devbox_to_devbox),
                allow_agent_gateway: self
                    .allow_agent_gateway
                    .unwrap_or(egress.allow_agent_gateway),
                allow_mcp_gateway: self.allow_mcp_gateway.unwrap_or(egress.allow_mcp_gateway),
                allow_runloop_mirrors: self
                    .allow_runloop_mirrors
                    .unwrap_or(egress.allow_runloop_mirrors),
                hosts: self.hosts.unwrap_or(egress.hosts),
                cidrs: self.cidrs.unwrap_or(egress.cidrs),
            },
        }
    }
}

/// Makes a policy; [`StoreError::Taken`] when its name is in use.
pub async fn create(
    store: &Store,
    organization: OrganizationId,
    name: String,
    said: PolicyChange,
) -> Result<NetworkPolicy, StoreError> {
    let nothing = PolicyText {
        name,
        description: None,
        egress: Egress::default(),
    };
    store
        .create_network_policy(organization, said.over(nothing))
        .await
}

/// Changes a policy; `None` when there is none.
pub async fn update(
    store: &Store,
    organization: OrganizationId,
    id: NetworkPolicyId,
    change: PolicyChange,
) -> Result<Option<NetworkPolicy>, StoreError> {
    retry_stale(|| async {
        let Some(read) = store.network_policy(organization, id).await? else {
            return Ok(Ok(None));
        };
        let text = change.clone().over(read.text.clone());
        let written = store.update_network_policy(organization, &read, text).await;
        Ok(written.map(Some))
    })
    .await
}

/// Removes a policy; what it was, or `None` when there is none.
pub async fn delete(
    store: &Store,
    organization: OrganizationId,
    id: NetworkPolicyId,
) -> Result<Option<NetworkPolicy>, StoreError> {
    let found = store.network_policy(organization, id).await?;
    let deleted = store.delete_network_policy(organization, id).await?;
    Ok(found.filter(|_| deleted))
}

/// What a policy means to a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// What it can reach.
    pub network: Network,
    /// Parts of the policy that allow something which boxes here cannot do; it stays forbidden.
    pub not_offered: Vec<String>,
}

impl Reach {
    /// Nothing but the box itself.
    pub const fn nothing() -> Self {
        Self {
            network: Network::None,
            not_offered: Vec::new(),
        }
    }

    /// The same, and these paths of the server itself.
    #[must_use]
    pub fn and_server(self, server_paths: Vec<String>) -> Self {
        let policy = match self.network {
            Network::None => EgressPolicy::default(),
            Network::Allow(policy) => policy,
        };
        Self {
            network: Network::Allow(EgressPolicy {
                server_paths,
                ..policy
            }),
            ..self
        }
    }
}

/// What `egress` means to a box. Hosts and single addresses can be allowed; whole networks and gateways cannot.
pub fn reach(egress: &Egress) -> Reach {
    let mut not_offered = Vec::new();
    let mut hosts: Vec<proctor_devbox::HostPattern> = Vec::new();
    let allowed = egress.hosts.iter().map(|host| host.as_str().to_owned());
    let addresses = egress.cidrs.iter().flat_map(|allowed| {
        let address = allowed.cidr.network();
        match (allowed.cidr.bits(), allowed.ports.as_slice()) {
            (32, []) => vec![address.to_string()],
            (32, ports) if ports.iter().all(|rule| rule.end_port.is_none()) => ports
                .iter()
                .map(|rule| format!("{address}:{}", rule.port))
                .collect(),
            _ => {
                not_offered.push(format!("the network {}", allowed.cidr));
                Vec::new()
            }
        }
    });
    let texts: Vec<String> = allowed.chain(addresses).collect();
    for text in texts {
        match text.parse() {
            Ok(pattern) => hosts.push(pattern),
            Err(_) => not_offered.push(text),
        }
    }
    let others = [
        (
            egress.allow_devbox_to_devbox && !egress.allow_all,
            "other devboxes",
        ),
        (egress.allow_agent_gateway, "the agent gateway"),
        (egress.allow_mcp_gateway, "the MCP gateway"),
        (egress.allow_runloop_mirrors, "package mirrors"),
    ];
    not_offered.extend(
        others
            .into_iter()
            .filter(|(asked, _)| *asked)
            .map(|(_, what)| what.to_owned()),
    );
    let network = if egress.allow_all || !hosts.is_empty() {
        Network::Allow(EgressPolicy {
            all: egress.allow_all,
            hosts,
            ..EgressPolicy::default()
        })
    } else {
        Network::None
    };
    Reach {
        network,
        not_offered,
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::network_policy::PortRule;

    use super::*;

    fn text(egress: Egress) -> PolicyText {
        PolicyText {
            name: "p".to_owned(),
            description: Some("why".to_owned()),
            egress,
        }
    }

    #[test]
    fn what_is_absent_stays_and_lists_are_replaced() {
        let old = text(Egress {
            allow_mcp_gateway: true,
            hosts: vec!["a.com".parse().unwrap()],
            ..Egress::default()
        });
        let change = PolicyChange {
            hosts: Some(vec!["b.com".parse().unwrap()]),
            ..PolicyChange::default()
        };
        let new = change.over(old);
        assert_eq!(
            (new.name.as_str(), new.description.as_deref()),
            ("p", Some("why"))
        );
        assert!(new.egress.allow_mcp_gateway);
        assert_eq!(new.egress.hosts[0].as_str(), "b.com");
    }

    #[test]
    fn everything_includes_other_devboxes() {
        let change = PolicyChange {
            allow_all: Some(true),
            allow_devbox_to_devbox: Some(false),
            ..PolicyChange::default()
        };
        assert!(
            change
                .over(text(Egress::default()))
                .egress
                .allow_devbox_to_devbox
        );
    }

    #[test]
    fn a_box_reaches_hosts_and_addresses_and_what_it_cannot_is_said() {
        assert_eq!(reach(&Egress::default()).network, Network::None);
        let rule = |port| PortRule {
            port,
            end_port: None,
            protocol: None,
        };
        let egress = Egress {
            allow_mcp_gateway: true,
            hosts: vec!["*.npmjs.org".parse().unwrap()],
            cidrs: vec![
                AllowedCidr {
                    cidr: "10.0.0.1/32".parse().unwrap(),
                    ports: vec![rule(80), rule(443)],
                },
                AllowedCidr {
                    cidr: "10.1.0.0/16".parse().unwrap(),
                    ports: Vec::new(),
                },
            ],
            ..Egress::default()
        };
        let reach = reach(&egress);
        assert_eq!(
            reach.not_offered,
            ["the network 10.1.0.0/16", "the MCP gateway"]
        );
        let Network::Allow(policy) = reach.network else {
            panic!("something may be reached");
        };
        let hosts: Vec<String> = policy.hosts.into_iter().map(Into::into).collect();
        assert_eq!(hosts, ["*.npmjs.org", "10.0.0.1:80", "10.0.0.1:443"]);
        assert!(!policy.all);
    }
}
