//! `/v1/network-policies`: what devboxes may reach.

use axum::extract::State;
use proctor_core::{
    id::{
        Dialect,
        kinds::{NetworkPolicyId, NetworkPolicyKind},
    },
    network_policy::{AllowedCidr, HostPattern, PortRule, Protocol},
};
use proctor_fleet::network_policies::{self, PolicyChange};
use proctor_store::{
    names::Sought,
    network_policies::{NetworkPolicy, PolicyFilter},
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
const LONGEST_DESCRIPTION: usize = 4096;
const MOST_RULES: usize = 500;

/// A network policy.
#[derive(Serialize, ToSchema)]
pub(crate) struct NetworkPolicyView {
    #[schema(example = "npo_01K0000000000000000000000A")]
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    egress: EgressView,
    create_time_ms: i64,
    update_time_ms: i64,
}

/// What may be reached.
#[derive(Serialize, ToSchema)]
pub(crate) struct EgressView {
    allow_all: bool,
    allow_devbox_to_devbox: bool,
    allow_agent_gateway: bool,
    allow_mcp_gateway: bool,
    allow_runloop_mirrors: bool,
    #[schema(value_type = Vec<String>)]
    allowed_hostnames: Vec<HostPattern>,
    allowed_cidrs: Vec<AllowedCidrView>,
}

/// A network and its ports.
#[derive(Serialize, ToSchema)]
pub(crate) struct AllowedCidrView {
    #[schema(example = "10.12.0.0/16")]
    cidr: String,
    ports: Vec<PortRuleView>,
}

/// A port, or several in a row.
#[derive(Serialize, ToSchema)]
pub(crate) struct PortRuleView {
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'static str>,
}

impl NetworkPolicyView {
    fn of(policy: NetworkPolicy) -> Self {
        let egress = policy.text.egress;
        let port = |rule: &PortRule| PortRuleView {
            port: rule.port,
            end_port: rule.end_port,
            protocol: rule.protocol.map(Protocol::name),
        };
        Self {
            id: policy.id.wire(Dialect::Runloop),
            name: policy.text.name,
            description: policy.text.description,
            egress: EgressView {
                allow_all: egress.allow_all,
                allow_devbox_to_devbox: egress.allow_devbox_to_devbox,
                allow_agent_gateway: egress.allow_agent_gateway,
                allow_mcp_gateway: egress.allow_mcp_gateway,
                allow_runloop_mirrors: egress.allow_runloop_mirrors,
                allowed_hostnames: egress.hosts,
                allowed_cidrs: egress
                    .cidrs
                    .iter()
                    .map(|allowed| AllowedCidrView {
                        cidr: allowed.cidr.to_string(),
                        ports: allowed.ports.iter().map(port).collect(),
                    })
                    .collect(),
            },
            create_time_ms: policy.created_at.as_millis(),
            update_time_ms: policy.updated_at.as_millis(),
        }
    }
}

/// A part of the list of network policies, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct NetworkPolicyListView {
    network_policies: Vec<NetworkPolicyView>,
    has_more: bool,
    /// How many there are in all, unless that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

/// What a network policy is or becomes. In an update, what is absent or null stays as it is.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NetworkPolicyParameters {
    /// Unique within the organization; must be there when a policy is made.
    name: Option<String>,
    description: Option<String>,
    /// Everything may be reached.
    allow_all: Option<bool>,
    allow_devbox_to_devbox: Option<bool>,
    allow_agent_gateway: Option<bool>,
    allow_mcp_gateway: Option<bool>,
    allow_runloop_mirrors: Option<bool>,
    /// Hosts by name, or all below a name: `github.com`, `*.npmjs.org`.
    allowed_hostnames: Option<Vec<String>>,
    allowed_cidrs: Option<Vec<AllowedCidrParameters>>,
}

/// A network and its ports.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AllowedCidrParameters {
    #[schema(value_type = String, required, example = "10.12.0.0/16")]
    cidr: Option<String>,
    /// All ports when there are none.
    ports: Option<Vec<PortRuleParameters>>,
}

/// A port, or several in a row.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PortRuleParameters {
    #[schema(value_type = u16, required)]
    port: Option<i64>,
    end_port: Option<i64>,
    /// TCP or UDP; both when absent.
    protocol: Option<String>,
}

/// Which network policies a list shows.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NetworkPolicyListQuery {
    /// Only the one with this id.
    id: Option<String>,
    /// Only those of exactly this name; if there are none, those that contain it in any case.
    name: Option<String>,
    /// Only those whose id begins with this or whose name contains it in any case.
    search: Option<String>,
}

impl NetworkPolicyParameters {
    fn read(self, checks: &mut Checks) -> PolicyChange {
        let hosts = self
            .allowed_hostnames
            .map(|hosts| read_hosts(checks, &hosts));
        let cidrs = self.allowed_cidrs.map(|cidrs| read_cidrs(checks, cidrs));
        PolicyChange {
            name: checks.optional_text("name", self.name, 1..=LONGEST_NAME),
            description: checks.optional_text(
                "description",
                self.description,
                0..=LONGEST_DESCRIPTION,
            ),
            allow_all: self.allow_all,
            allow_devbox_to_devbox: self.allow_devbox_to_devbox,
            allow_agent_gateway: self.allow_agent_gateway,
            allow_mcp_gateway: self.allow_mcp_gateway,
            allow_runloop_mirrors: self.allow_runloop_mirrors,
            hosts,
            cidrs,
        }
    }
}

fn read_hosts(checks: &mut Checks, hosts: &[String]) -> Vec<HostPattern> {
    const FIELD: &str = "allowed_hostnames";
    if hosts.len() > MOST_RULES {
        checks.refuse(FIELD, format!("must have at most {MOST_RULES}"));
        return Vec::new();
    }
    let mut read = Vec::with_capacity(hosts.len());
    for (number, host) in hosts.iter().enumerate() {
        match host.parse() {
            Ok(pattern) => read.push(pattern),
            Err(error) => {
                let error: proctor_core::network_policy::BadHost = error;
                checks.refuse(&format!("{FIELD}.{number}"), error.to_string());
            }
        }
    }
    read
}

fn read_cidrs(checks: &mut Checks, cidrs: Vec<AllowedCidrParameters>) -> Vec<AllowedCidr> {
    const FIELD: &str = "allowed_cidrs";
    if cidrs.len() > MOST_RULES {
        checks.refuse(FIELD, format!("must have at most {MOST_RULES}"));
        return Vec::new();
    }
    let mut read = Vec::with_capacity(cidrs.len());
    for (number, allowed) in cidrs.into_iter().enumerate() {
        let place = format!("{FIELD}.{number}");
        let ports = read_ports(checks, &place, allowed.ports.unwrap_or_default());
        let Some(cidr) = checks.required(&format!("{place}.cidr"), allowed.cidr) else {
            continue;
        };
        match cidr.parse::<proctor_core::network_policy::Cidr>() {
            Ok(cidr) => read.push(AllowedCidr { cidr, ports }),
            Err(error) => checks.refuse(&format!("{place}.cidr"), error.to_string()),
        }
    }
    read
}

fn read_ports(checks: &mut Checks, place: &str, ports: Vec<PortRuleParameters>) -> Vec<PortRule> {
    let mut read = Vec::with_capacity(ports.len());
    for (number, rule) in ports.into_iter().enumerate() {
        let place = format!("{place}.ports.{number}");
        let number_of = |port: i64| u16::try_from(port).ok().filter(|port| *port > 0);
        let Some(port) = checks.required(&format!("{place}.port"), rule.port) else {
            continue;
        };
        let Some(port) = number_of(port) else {
            checks.refuse(&format!("{place}.port"), "must be from 1 to 65535");
            continue;
        };
        let end_port = match rule.end_port.map(number_of) {
            None => None,
            Some(Some(end)) if end >= port => Some(end),
            Some(_) => {
                let message = format!("must be from {port} to 65535");
                checks.refuse(&format!("{place}.end_port"), message);
                continue;
            }
        };
        let protocol = rule.protocol.map(|word| {
            checks.named(
                &format!("{place}.protocol"),
                Some(word),
                Protocol::ALL,
                Protocol::name,
                Protocol::read,
            )
        });
        read.push(PortRule {
            port,
            end_port,
            protocol,
        });
    }
    read
}

fn not_found(id: NetworkPolicyId) -> ApiError {
    ApiError::not_found(format!("no network policy '{}'", id.wire(Dialect::Runloop)))
}

/// Lists the network policies.
#[utoipa::path(
    get,
    path = "/v1/network-policies",
    tag = "Runloop: network policies",
    params(RunloopPageQuery, NetworkPolicyListQuery),
    security(("organization_key" = [])),
    responses(
        (status = 200, description = "The policies, newest first", body = NetworkPolicyListView),
    ),
)]
pub(crate) async fn list_network_policies(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    RunloopPage(page): RunloopPage<NetworkPolicyKind>,
    Query(query): Query<NetworkPolicyListQuery>,
) -> Result<Json<NetworkPolicyListView>, ApiError> {
    let id = match query.id.as_deref() {
        None | Some("") => None,
        Some(id) => Some(
            NetworkPolicyId::from_wire(id, Dialect::Runloop)
                .map_err(|bad| ApiError::field("id", bad.to_string()))?,
        ),
    };
    let filter = PolicyFilter {
        id,
        sought: Sought {
            name: query.name,
            search: query.search,
            ..Sought::default()
        },
    };
    let page = state
        .store()
        .network_policies(caller.id(), &filter, page)
        .await?;
    Ok(Json(NetworkPolicyListView {
        network_policies: page.items.into_iter().map(NetworkPolicyView::of).collect(),
        has_more: page.has_more,
        total_count: page.total,
    }))
}

/// Makes a network policy.
#[utoipa::path(
    post,
    path = "/v1/network-policies",
    tag = "Runloop: network policies",
    request_body = NetworkPolicyParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The policy", body = NetworkPolicyView)),
)]
pub(crate) async fn create_network_policy(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Json(body): Json<NetworkPolicyParameters>,
) -> Result<Json<NetworkPolicyView>, ApiError> {
    let mut checks = Checks::default();
    let mut said = body.read(&mut checks);
    let name = checks.required("name", said.name.take());
    checks.finish()?;
    let name = name.expect("a name that is missing was refused");
    let policy = network_policies::create(state.store(), caller.id(), name, said).await?;
    Ok(Json(NetworkPolicyView::of(policy)))
}

/// Shows a network policy.
#[utoipa::path(
    get,
    path = "/v1/network-policies/{id}",
    tag = "Runloop: network policies",
    params(("id" = String, Path, description = "The policy's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "The policy", body = NetworkPolicyView)),
)]
pub(crate) async fn get_network_policy(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<NetworkPolicyId>,
) -> Result<Json<NetworkPolicyView>, ApiError> {
    let policy = state.store().network_policy(caller.id(), id).await?;
    let policy = policy.ok_or_else(|| not_found(id))?;
    Ok(Json(NetworkPolicyView::of(policy)))
}

/// Changes a network policy.
#[utoipa::path(
    post,
    path = "/v1/network-policies/{id}",
    tag = "Runloop: network policies",
    params(("id" = String, Path, description = "The policy's id")),
    request_body = NetworkPolicyParameters,
    security(("organization_key" = [])),
    responses((status = 200, description = "The policy as it is now", body = NetworkPolicyView)),
)]
pub(crate) async fn update_network_policy(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<NetworkPolicyId>,
    Json(body): Json<NetworkPolicyParameters>,
) -> Result<Json<NetworkPolicyView>, ApiError> {
    let mut checks = Checks::default();
    let change = body.read(&mut checks);
    checks.finish()?;
    let policy = network_policies::update(state.store(), caller.id(), id, change).await?;
    let policy = policy.ok_or_else(|| not_found(id))?;
    Ok(Json(NetworkPolicyView::of(policy)))
}

/// Removes a network policy.
#[utoipa::path(
    post,
    path = "/v1/network-policies/{id}/delete",
    tag = "Runloop: network policies",
    params(("id" = String, Path, description = "The policy's id")),
    security(("organization_key" = [])),
    responses((status = 200, description = "What the policy was", body = NetworkPolicyView)),
)]
pub(crate) async fn delete_network_policy(
    State(state): State<ApiState>,
    caller: OrganizationCaller,
    Path(id): Path<NetworkPolicyId>,
) -> Result<Json<NetworkPolicyView>, ApiError> {
    let policy = network_policies::delete(state.store(), caller.id(), id).await?;
    let policy = policy.ok_or_else(|| not_found(id))?;
    Ok(Json(NetworkPolicyView::of(policy)))
}
