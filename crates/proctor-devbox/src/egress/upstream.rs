//! The proxy of the server's own environment, where the server has no other way out.

use std::{io, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::network::{Host, HostPattern, Target};

/// The most bytes of an answer to `CONNECT` that are read.
const LONGEST_HEAD: usize = 8 << 10;

/// The proxies that the server's environment names, and where they are not used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentProxies {
    /// For encrypted addresses (`HTTPS_PROXY`).
    pub https: Option<String>,
    /// For plain ones (`http_proxy`).
    pub http: Option<String>,
    /// Hosts that are reached without (`NO_PROXY`).
    pub none: Option<String>,
}

impl EnvironmentProxies {
    /// Those of this process.
    pub fn of_process() -> Self {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| std::env::var(name).ok());
            values.into_iter().find(|value| !value.trim().is_empty())
        };
        Self {
            https: first(&["HTTPS_PROXY", "https_proxy"]),
            // The name in upper case is not read: a request to a CGI program could set it.
            http: first(&["http_proxy"]),
            none: first(&["NO_PROXY", "no_proxy"]),
        }
    }

    /// The proxy for `target`, which is reached encrypted or plain; none if it is reached without. `resolves` are the hosts whose names the proxy may look
    /// up, where this server cannot.
    pub fn for_target(
        &self,
        target: &Target,
        is_encrypted: bool,
        resolves: Vec<HostPattern>,
    ) -> io::Result<Option<Arc<UpstreamProxy>>> {
        let named = match is_encrypted {
            true => &self.https,
            false => &self.http,
        };
        match named {
            Some(named) if !self.leaves_out(&target.host) => {
                UpstreamProxy::read(named, resolves).map(|proxy| Some(Arc::new(proxy)))
            }
            _ => Ok(None),
        }
    }

    fn leaves_out(&self, host: &Host) -> bool {
        let host = host.to_string();
        let list = self.none.as_deref().unwrap_or_default();
        list.split([',', ' ']).map(str::trim).any(|entry| {
            let domain = entry.trim_start_matches("*.").trim_start_matches('.');
            entry == "*"
                || (!domain.is_empty()
                    && (host.eq_ignore_ascii_case(domain)
                        || host
                            .to_ascii_lowercase()
                            .strip_suffix(&domain.to_ascii_lowercase())
                            .is_some_and(|before| before.ends_with('.'))))
        })
    }
}

/// A proxy that dials for this server: to the addresses that were checked here, so that a name which leads elsewhere a moment later gains nothing.
#[derive(Debug)]
pub struct UpstreamProxy {
    address: Target,
    authorization: Option<String>,
    resolves: Vec<HostPattern>,
}

impl UpstreamProxy {
    fn read(text: &str, resolves: Vec<HostPattern>) -> io::Result<Self> {
        let unusable = || {
            let message =
                "the proxy that the environment names cannot be used: it must be http://HOST:PORT";
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        let rest = match text.trim().split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return Err(unusable()),
            None => text.trim(),
        };
        let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, place),
        };
        let address = match place.parse::<Target>() {
            Ok(address) => address,
            Err(_) => Target {
                host: place.parse().map_err(|_| unusable())?,
                port: 80,
            },
        };
        Ok(Self {
            address,
            authorization: user.map(|user| {
                let user = percent_decode_str(user).decode_utf8_lossy();
                format!("Basic {}", STANDARD.encode(user.as_bytes()))
            }),
            resolves,
        })
    }

    /// Whether the proxy may look up the name of `target`, because this server cannot.
    pub(super) fn resolves(&self, target: &Target) -> bool {
        self.resolves.iter().any(|pattern| pattern.covers(target))
    }

    /// A way to `destination`, an address or a name with its port.
    pub(super) async fn tunnel(&self, destination: &str) -> io::Result<TcpStream> {
        let port = self.address.port;
        let mut stream = match &self.address.host {
            Host::Address(address) => TcpStream::connect((*address, port)).await?,
            Host::Name(name) => TcpStream::connect((name.as_str(), port)).await?,
        };
        let mut head = format!("CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n");
        if let Some(authorization) = &self.authorization {
            head.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await?;
        let answer = head_of(&mut stream).await?;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        match status.starts_with('2') {
            true => Ok(stream),
            false => Err(io::Error::other(format!(
                "the proxy of the server's environment answered '{}'",
                answer.lines().next().unwrap_or_default()
            ))),
        }
    }
}

/// The head of an answer, and nothing of what is behind it.
async fn head_of(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == LONGEST_HEAD {
            return Err(io::Error::other("the proxy's answer is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(none: &str) -> EnvironmentProxies {
        EnvironmentProxies {
            https: Some("http://user:p%40ss@proxy.example:3128".to_owned()),
            http: None,
            none: Some(none.to_owned()),
        }
    }

    fn is_used(none: &str, target: &str) -> bool {
        let target = target.parse().unwrap();
        let found = proxies(none).for_target(&target, true, Vec::new());
        found.unwrap().is_some()
    }

    #[test]
    fn the_environment_says_where_its_proxy_is_not_used() {
        assert!(is_used("", "code.example:443"));
        assert!(is_used("other.example, .le", "code.example:443"));
        assert!(is_used("de.example", "code.example:443"));
        for none in [
            "*",
            "code.example",
            "CODE.example",
            "x, .example",
            "example",
            "*.example",
        ] {
            assert!(!is_used(none, "code.example:443"), "{none}");
        }
        assert!(!is_used("10.0.0.1", "10.0.0.1:443"));
        let plain = proxies("").for_target(&"code.example:80".parse().unwrap(), false, Vec::new());
        assert!(
            plain.unwrap().is_none(),
            "none is named for plain addresses"
        );
    }

    #[test]
    fn a_proxy_is_read_with_its_user() {
        let proxy = UpstreamProxy::read("http://user:p%40ss@proxy.example:3128", Vec::new());
        let proxy = proxy.unwrap();
        assert_eq!(proxy.address.to_string(), "proxy.example:3128");
        let basic = STANDARD.encode("user:p@ss");
        assert_eq!(proxy.authorization, Some(format!("Basic {basic}")));
        let bare = UpstreamProxy::read("10.0.0.9:8080/", Vec::new()).unwrap();
        assert_eq!(bare.address.to_string(), "10.0.0.9:8080");
        for wrong in ["socks5://a:1", "https://a:1", "http://", "http://:1"] {
            assert!(UpstreamProxy::read(wrong, Vec::new()).is_err(), "{wrong}");
        }
    }
}
