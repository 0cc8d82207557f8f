//! Where a server is reached besides its main address.

use std::{net::SocketAddr, str::FromStr};

use serde::Deserialize;

/// Where SSH is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum SshListen {
    /// Nowhere.
    Off,
    /// Here.
    On(SocketAddr),
}

impl FromStr for SshListen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "off" => Ok(Self::Off),
            _ => text
                .parse()
                .map(Self::On)
                .map_err(|_| "expected an IP address and a port, such as 0.0.0.0:2222, or off"),
        }
    }
}

/// A host by its name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct HostAndPort {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl FromStr for HostAndPort {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "expected a host and a port, such as ssh.example.org:22";
        let (host, port) = text.rsplit_once(':').ok_or(EXPECTED)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(EXPECTED)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.is_empty() || host.contains(['/', '@', ' ']) {
            true => Err(EXPECTED),
            false => Ok(Self {
                host: host.to_owned(),
                port,
            }),
        }
    }
}

/// A domain by its name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Domain(pub(crate) String);

impl FromStr for Domain {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        match text.split('.').all(is_label) {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err("expected the name of a domain, such as tunnel.example.org"),
        }
    }
}

/// What stands in a file is read as what stands on the command line.
macro_rules! from_text {
    ($($kind:ty),*) => {$(
        impl TryFrom<String> for $kind {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, &'static str> {
                text.parse()
            }
        }
    )*};
}

from_text!(SshListen, HostAndPort, Domain);
