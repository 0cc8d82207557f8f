//! What a phase of a trial may reach.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::read::{DocumentNode, DocumentObject};

/// How much may be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// Whatever the server allows public boxes.
    #[default]
    Public,
    /// Nothing.
    NoNetwork,
    /// These hosts.
    Allowlist,
}

impl NetworkMode {
    const ALL: [(&'static str, Self); 3] = [
        ("public", Self::Public),
        ("no-network", Self::NoNetwork),
        ("allowlist", Self::Allowlist),
    ];
}

/// What may be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPolicy {
    /// How much.
    pub mode: NetworkMode,
    /// Which hosts, if not all or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// The policy that an object says by `network_mode` and `allowed_hosts`; none if it says nothing.
pub(super) fn read(object: &DocumentObject<'_>) -> Option<NetworkPolicy> {
    let mode = object.optional("network_mode");
    let mode = mode.and_then(|mode| mode.word(&NetworkMode::ALL));
    let given = object.optional("allowed_hosts");
    let hosts = given.as_ref().map_or_else(Vec::new, allowed_hosts);
    if let Some(given) = given
        && mode != Some(NetworkMode::Allowlist)
        && (mode.is_none() || !hosts.is_empty())
    {
        given.refuse("counts only with network_mode = \"allowlist\"");
    }
    mode.map(|mode| NetworkPolicy { mode, hosts })
}

/// A list of hosts: names, names after `*.`, addresses.
pub(crate) fn allowed_hosts(node: &DocumentNode<'_>) -> Vec<String> {
    let mut hosts = Vec::new();
    for item in node.items() {
        let Some(text) = item.text() else { continue };
        match host(text) {
            Ok(host) => hosts.push(host),
            Err(why) => item.refuse(why),
        }
    }
    hosts
}

fn host(text: &str) -> Result<String, String> {
    let host = text.trim().trim_end_matches('.').to_lowercase();
    if host.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if let Some((address, length)) = host.split_once('/') {
        let not_one = || "must be a host name or an address, not a URL or a path".to_owned();
        let address: IpAddr = address.parse().map_err(|_| not_one())?;
        let length: u8 = length.parse().map_err(|_| not_one())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        return match length == whole {
            true => Ok(address.to_string()),
            false => Err(format!(
                "is a range of addresses; only single ones can be allowed (/{whole})"
            )),
        };
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    let name = host.strip_prefix("*.").unwrap_or(&host);
    if name.parse::<IpAddr>().is_ok() {
        return Err("an address cannot stand after '*.'".to_owned());
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    match name.split('.').all(is_label) {
        true => Ok(host),
        false => Err(
            "must be a host name, a name after '*.', or an address, without a scheme, port or path"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("Example.COM.", "example.com")]
    #[case("*.example.com", "*.example.com")]
    #[case("192.0.2.1", "192.0.2.1")]
    #[case("192.0.2.1/32", "192.0.2.1")]
    #[case("2001:DB8::1", "2001:db8::1")]
    fn hosts_are_written_one_way(#[case] given: &str, #[case] kept: &str) {
        assert_eq!(host(given).as_deref(), Ok(kept));
    }

    #[rstest]
    #[case("")]
    #[case("https://example.com")]
    #[case("example.com:443")]
    #[case("example.com/path")]
    #[case("10.0.0.0/8")]
    #[case("2001:db8::/32")]
    #[case("a*.example.com")]
    #[case("*.10.0.0.1")]
    #[case("-a.example.com")]
    fn anything_else_is_refused(#[case] given: &str) {
        assert!(host(given).is_err());
    }
}
