//! What a box can reach: nothing but itself, or what a policy lists.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Serialize};

/// The port of a box's own loopback address on which its proxy listens.
pub const PROXY_PORT: u16 = 3128;

/// Where a box reaches the server's own API, if its policy lists paths of it: the proxy's own address.
pub const SERVER_URL: &str = "http://127.0.0.1:3128";

/// Environment that points programs at the proxy; many read only one spelling.
pub const PROXY_ENVIRONMENT: &[(&str, &str)] = &[
    ("HTTP_PROXY", "http://127.0.0.1:3128"),
    ("HTTPS_PROXY", "http://127.0.0.1:3128"),
    ("NO_PROXY", "localhost,127.0.0.1,::1"),
    ("http_proxy", "http://127.0.0.1:3128"),
    ("https_proxy", "http://127.0.0.1:3128"),
    ("no_proxy", "localhost,127.0.0.1,::1"),
];

/// What a box can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Itself only: a loopback interface and nothing else.
    #[default]
    None,
    /// Itself, and through a proxy what the policy allows.
    Allow(EgressPolicy),
}

/// Which hosts a box may reach. Whatever it says, addresses of this machine and of networks that are not public are reached only if the
/// address itself is listed: a name that leads there does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressPolicy {
    /// Every public host.
    pub all: bool,
    /// These hosts.
    pub hosts: Vec<HostPattern>,
    /// Paths of the server's own API that the box may ask for, with everything below them: at [`SERVER_URL`], where its proxy is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_paths: Vec<String>,
}

impl EgressPolicy {
    /// Whether the box may ask the server itself for this path.
    pub fn admits_path(&self, path: &str) -> bool {
        let mut allowed = self.server_paths.iter();
        allowed.any(|prefix| {
            path.strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Whether the policy lets a box ask for this host at all.
    pub fn admits(&self, target: &Target) -> bool {
        self.all || self.hosts.iter().any(|pattern| pattern.covers(target))
    }

    /// Whether exactly this address is listed.
    pub fn lists(&self, address: IpAddr, port: u16) -> bool {
        let target = Target {
            host: Host::Address(address.to_canonical()),
            port,
        };
        self.hosts.iter().any(|pattern| pattern.covers(&target))
    }
}

/// A host by name or address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name in lower case, without a dot at the end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// Somewhere that a box wants to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// One entry of a policy: `host`, `*.domain`, an address, each with or without `:port`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    which: Which,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Which {
    Exactly(Host),
    /// Every name that ends with a dot and this.
    Below(String),
}

/// Why a text is not a host or a pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a host name, an address or *.domain, with or without a port")]
pub struct InvalidHost(String);

impl HostPattern {
    /// This host, at any port.
    pub fn exactly(host: Host) -> Self {
        Self {
            which: Which::Exactly(host),
            port: None,
        }
    }

    /// Whether somebody who wants to go to `target` is meant.
    pub fn covers(&self, target: &Target) -> bool {
        self.port.is_none_or(|port| port == target.port)
            && match (&self.which, &target.host) {
                (Which::Exactly(host), wanted) => host == wanted,
                (Which::Below(domain), Host::Name(name)) => name
                    .strip_suffix(domain.as_str())
                    .is_some_and(|rest| rest.ends_with('.')),
                (Which::Below(_), Host::Address(_)) => false,
            }
    }
}

impl FromStr for Host {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            // An IPv4 address in IPv6 clothes is that IPv4 address.
            return Ok(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if is_name(&name) {
            Ok(Self::Name(name))
        } else {
            Err(InvalidHost(text.to_owned()))
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // What ends in a number is an address in one of the old notations, as 127.1 or 0x7f.1.
    let ends_in_number = text
        .rsplit('.')
        .next()
        .is_some_and(|last| last.starts_with(|first: char| first.is_ascii_digit()));
    text.len() <= 253 && text.split('.').all(is_label) && !ends_in_number
}

/// The host and the port of `host:port`, where a host with colons stands in brackets or alone.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    let colons = text.bytes().filter(|&byte| byte == b':').count();
    if colons == 0 || text.ends_with(']') || (colons > 1 && !text.starts_with('[')) {
        return Some((text, None));
    }
    let (host, port) = text.rsplit_once(':')?;
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|&port| port != 0 && digits)?;
    Some((host, Some(port)))
}

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let (host, port) = split(text).ok_or_else(invalid)?;
        let which = match host.strip_prefix("*.") {
            None => Which::Exactly(host.parse().map_err(|_| invalid())?),
            Some(domain) => match domain.parse() {
                Ok(Host::Name(domain)) => Which::Below(domain),
                Ok(Host::Address(_)) | Err(_) => return Err(invalid()),
            },
        };
        Ok(Self { which, port })
    }
}

impl FromStr for Target {
    type Err = InvalidHost;

    /// Reads `host:port`; the port must be there.
    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let (host, port) = split(text).ok_or_else(invalid)?;
        Ok(Self {
            host: host.parse().map_err(|_| invalid())?,
            port: port.ok_or_else(invalid)?,
        })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            Which::Exactly(host) => host.fmt(f)?,
            Which::Below(domain) => write!(f, "*.{domain}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = InvalidHost;

    fn try_from(text: String) -> Result<Self, InvalidHost> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_environment_names_the_port() {
        let named = PROXY_ENVIRONMENT
            .iter()
            .filter(|(_, value)| value.ends_with(&format!(":{PROXY_PORT}")));
        assert_eq!(named.count(), 4);
        assert!(SERVER_URL.ends_with(&format!(":{PROXY_PORT}")));
    }

    #[test]
    fn a_path_of_the_server_is_itself_and_what_is_below_it() {
        let policy = EgressPolicy {
            server_paths: vec!["/v1/task-runs/tr_1".to_owned()],
            ..EgressPolicy::default()
        };
        for path in ["/v1/task-runs/tr_1", "/v1/task-runs/tr_1/fhir/Patient"] {
            assert!(policy.admits_path(path), "{path}");
        }
        for path in ["/", "/v1/task-runs/tr_12", "/v1/task-runs", "/metrics", ""] {
            assert!(!policy.admits_path(path), "{path}");
        }
        assert!(!EgressPolicy::default().admits_path("/v1/task-runs/tr_1"));
    }

    fn policy(patterns: &[&str]) -> EgressPolicy {
        EgressPolicy {
            hosts: patterns.iter().map(|text| text.parse().unwrap()).collect(),
            ..EgressPolicy::default()
        }
    }

    fn admits(patterns: &[&str], target: &str) -> bool {
        policy(patterns).admits(&target.parse().unwrap())
    }

    #[test]
    fn a_name_is_itself_in_any_case_and_with_a_dot_at_the_end() {
        assert!(admits(&["Example.com"], "example.COM.:443"));
        assert!(!admits(&["example.com"], "www.example.com:443"));
        assert!(!admits(&["example.com"], "badexample.com:443"));
        assert!(!admits(&["example.com"], "example.com.evil.org:443"));
    }

    #[test]
    fn a_wildcard_is_every_name_below_and_not_the_domain_itself() {
        assert!(admits(&["*.example.com"], "a.example.com:80"));
        assert!(admits(&["*.example.com"], "a.b.example.com:80"));
        assert!(!admits(&["*.example.com"], "example.com:80"));
        assert!(!admits(&["*.example.com"], "aexample.com:80"));
    }

    #[test]
    fn a_port_limits_and_no_port_does_not() {
        assert!(admits(&["example.com:443"], "example.com:443"));
        assert!(!admits(&["example.com:443"], "example.com:80"));
        assert!(admits(&["*.example.com:443"], "a.example.com:443"));
        assert!(admits(&["[2001:db8::1]:80"], "[2001:DB8:0::1]:80"));
        assert!(admits(&["2001:db8::1"], "[2001:db8::1]:80"));
    }

    #[test]
    fn only_an_address_lists_an_address() {
        let loopback = "127.0.0.1".parse().unwrap();
        assert!(policy(&["127.0.0.1"]).lists(loopback, 1));
        assert!(policy(&["127.0.0.1:8080"]).lists(loopback, 8080));
        assert!(policy(&["::ffff:127.0.0.1"]).lists(loopback, 1));
        assert!(policy(&["127.0.0.1"]).lists("::ffff:127.0.0.1".parse().unwrap(), 1));
        assert!(!policy(&["127.0.0.1:8080"]).lists(loopback, 8081));
        assert!(!policy(&["localhost", "*.local"]).lists(loopback, 1));
        let all = EgressPolicy {
            all: true,
            ..EgressPolicy::default()
        };
        assert!(!all.lists(loopback, 1));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "a b",
            "http://a",
            "a/b",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "*.1.2.3.4",
            "127.1",
            "0x7f.1",
            "2130706433",
            "a..b",
            "-a",
            "é.com",
            "*.*.com",
            "a.*.com",
            "user@host",
            "[::1",
            "a\0b",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text:?}");
        }
        assert!("example.com".parse::<Target>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same_way(text in "\\PC{0,30}|[a-z*.:0-9\\[\\]]{0,20}") {
            if let Ok(pattern) = text.parse::<HostPattern>() {
                prop_assert_eq!(pattern.to_string().parse::<HostPattern>(), Ok(pattern));
            }
        }
    }
}
