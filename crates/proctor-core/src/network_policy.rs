//! What a devbox may reach, as its organization wrote it down.

use std::{fmt, net::Ipv4Addr, str::FromStr};

use serde::{Deserialize, Serialize};

/// What may be reached from inside a devbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Egress {
    /// Everything.
    pub allow_all: bool,
    /// Other devboxes of the same organization.
    pub allow_devbox_to_devbox: bool,
    /// The gateway that adds credentials to requests.
    pub allow_agent_gateway: bool,
    /// The hub of tool servers.
    pub allow_mcp_gateway: bool,
    /// The platform's mirrors of package registries.
    pub allow_runloop_mirrors: bool,
    /// Hosts by name.
    pub hosts: Vec<HostPattern>,
    /// Networks by address.
    pub cidrs: Vec<AllowedCidr>,
}

/// A host name, or all names below one: `github.com`, `*.npmjs.org`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern(String);

/// Why a text is no host pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    /// A star alone.
    #[error("'*' would allow every host; set allow_all instead")]
    Everything,
    /// A star in the middle.
    #[error("a wildcard stands for whole labels at the beginning, as in '*.example.com'")]
    Wildcard,
    /// Not the form of a host name.
    #[error(
        "must be a host name such as 'github.com' or '*.npmjs.org', without scheme, port or path"
    )]
    Form,
}

impl HostPattern {
    /// The pattern as text, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a host is meant by it.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match self.0.strip_prefix('*') {
            // What is left begins with the dot, so that the host must have a label before it.
            Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            None => host == self.0,
        }
    }
}

impl FromStr for HostPattern {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        let text = text.to_ascii_lowercase();
        if text == "*" {
            return Err(BadHost::Everything);
        }
        let name = text.strip_prefix("*.").unwrap_or(&text);
        if name.contains('*') {
            return Err(BadHost::Wildcard);
        }
        let is_name = (1..=253).contains(&name.len()) && name.split('.').all(is_label);
        if !is_name || (text.starts_with('*') && !name.contains('.')) {
            return Err(BadHost::Form);
        }
        Ok(Self(text))
    }
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

impl TryFrom<String> for HostPattern {
    type Error = BadHost;

    fn try_from(text: String) -> Result<Self, BadHost> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.0
    }
}

/// A network of IPv4 addresses in its canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr {
    network: Ipv4Addr,
    bits: u8,
}

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCidr {
    /// Not an address and a number of bits.
    #[error("must be an IPv4 network such as '10.12.0.0/16'")]
    Form,
    /// Bits of hosts are set; this is what was meant, perhaps.
    #[error("has bits of hosts; the network is '{0}'")]
    HostBits(Cidr),
}

impl Cidr {
    /// The lowest address of the network.
    pub const fn network(self) -> Ipv4Addr {
        self.network
    }

    /// How many leading bits all its addresses share.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Whether an address is in it.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address) & mask(self.bits) == u32::from(self.network)
    }
}

fn mask(bits: u8) -> u32 {
    u32::MAX
        .checked_shl(32 - u32::from(bits))
        .unwrap_or_default()
}

impl FromStr for Cidr {
    type Err = BadCidr;

    fn from_str(text: &str) -> Result<Self, BadCidr> {
        let (address, bits) = text.split_once('/').ok_or(BadCidr::Form)?;
        let address: Ipv4Addr = address.parse().map_err(|_| BadCidr::Form)?;
        let plain_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits: u8 = match bits.parse() {
            Ok(bits @ 0..=32) if plain_number => bits,
            _ => return Err(BadCidr::Form),
        };
        let cidr = Self {
            network: Ipv4Addr::from(u32::from(address) & mask(bits)),
            bits,
        };
        if cidr.network == address {
            Ok(cidr)
        } else {
            Err(BadCidr::HostBits(cidr))
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

impl TryFrom<String> for Cidr {
    type Error = BadCidr;

    fn try_from(text: String) -> Result<Self, BadCidr> {
        text.parse()
    }
}

impl From<Cidr> for String {
    fn from(cidr: Cidr) -> Self {
        cidr.to_string()
    }
}

/// A network with the ports that are open in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedCidr {
    /// The network.
    pub cidr: Cidr,
    /// Its ports; all of them when there are none.
    pub ports: Vec<PortRule>,
}

/// A port, or several in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRule {
    /// The first.
    pub port: u16,
    /// The last, if there are several.
    pub end_port: Option<u16>,
    /// Of one protocol only.
    pub protocol: Option<Protocol>,
}

/// What is spoken on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// Streams.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Protocol {
    /// Both.
    pub const ALL: &[Self] = &[Self::Tcp, Self::Udp];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }

    /// What a word names.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == word)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_wildcard_means_names_below_and_not_the_name_itself() {
        let pattern: HostPattern = "*.Example.com".parse().unwrap();
        assert_eq!(pattern.as_str(), "*.example.com");
        for good in ["a.example.com", "a.b.EXAMPLE.com", "a.example.com."] {
            assert!(pattern.matches(good), "{good}");
        }
        for bad in [
            "example.com",
            ".example.com",
            "badexample.com",
            "example.com.evil.org",
        ] {
            assert!(!pattern.matches(bad), "{bad}");
        }
        let exact: HostPattern = "github.com".parse().unwrap();
        assert!(exact.matches("GitHub.com"));
        assert!(!exact.matches("api.github.com"));
    }

    #[test]
    fn what_is_no_host_pattern_is_refused() {
        for bad in [
            "",
            "*",
            "*.",
            "*.com",
            "a.*.com",
            "https://a.com",
            "a.com/x",
            "a.com:443",
            "a b.com",
            "-a.com",
            "a..com",
            "é.com",
            &"a".repeat(64),
        ] {
            assert!(bad.parse::<HostPattern>().is_err(), "{bad}");
        }
        assert_eq!("*".parse::<HostPattern>(), Err(BadHost::Everything));
        assert!("localhost".parse::<HostPattern>().is_ok());
    }

    #[test]
    fn a_network_is_written_without_bits_of_hosts() {
        let cidr: Cidr = "10.12.0.0/16".parse().unwrap();
        assert!(cidr.contains(Ipv4Addr::new(10, 12, 255, 1)));
        assert!(!cidr.contains(Ipv4Addr::new(10, 13, 0, 1)));
        assert_eq!("10.12.0.1/16".parse::<Cidr>(), Err(BadCidr::HostBits(cidr)));
        for bad in [
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0/8",
            "::/0",
            "/8",
        ] {
            assert_eq!(bad.parse::<Cidr>(), Err(BadCidr::Form), "{bad}");
        }
        let all: Cidr = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(Ipv4Addr::BROADCAST));
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(address: u32, bits in 0u8..=32) {
            let cidr = Cidr { network: Ipv4Addr::from(address & mask(bits)), bits };
            prop_assert_eq!(cidr.to_string().parse(), Ok(cidr));
            prop_assert!(cidr.contains(Ipv4Addr::from(address)));
        }

        #[test]
        fn any_text_is_a_pattern_or_a_refusal(text in ".{0,80}") {
            if let Ok(pattern) = text.parse::<HostPattern>() {
                let again: HostPattern = pattern.as_str().parse().unwrap();
                prop_assert_eq!(again, pattern);
            }
            let _ = text.parse::<Cidr>();
        }
    }
}
