//! Links to this server in its own answers.

use std::{convert::Infallible, net::SocketAddr};

use axum::extract::FromRequestParts;
use http::{HeaderMap, Uri, header, request::Parts};
use proctor_devbox::{Host, SERVER_URL, Target, egress::is_own};

use crate::state::ApiState;

/// Where the server is, as the client sees it: as configured, else where the request went, if that is this machine. What a request says of its own destination
/// is the sender's word, and a link with a signature in it must not lead wherever that says.
#[derive(Clone, Debug)]
pub(crate) struct PublicAddress(String);

impl PublicAddress {
    /// Where a request went.
    pub(crate) fn asked(uri: &Uri, headers: &HeaderMap, state: &ApiState) -> Self {
        let told = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        if told.is_some_and(|host| SERVER_URL.strip_prefix("http://") == Some(host)) {
            // An agent in a devbox asks, and reaches the server nowhere else.
            return Self(SERVER_URL.to_owned());
        }
        if let Some(configured) = state.public_url() {
            return Self(configured.trim_end_matches('/').to_owned());
        }
        // HTTP/2 has the host in the request's own address.
        let host = uri.authority().map(|authority| authority.as_str());
        let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
        let host = match host.filter(|host| is_this_machine(host)) {
            Some(host) => host.to_owned(),
            None => state
                .listen()
                .map_or_else(|| "localhost".to_owned(), own_address),
        };
        Self(format!("http://{host}"))
    }

    /// The address of a path on this server.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// The host alone.
    pub(crate) fn host(&self) -> String {
        let uri = self.0.parse::<http::Uri>();
        let host = uri.as_ref().ok().and_then(http::Uri::host);
        host.unwrap_or("localhost").to_owned()
    }
}

impl FromRequestParts<ApiState> for PublicAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Infallible> {
        Ok(Self::asked(&parts.uri, &parts.headers, state))
    }
}

/// Whether a request that names this host was meant for this machine.
fn is_this_machine(place: &str) -> bool {
    let host = place.parse::<Target>().map(|target| target.host);
    match host.or_else(|_| place.parse::<Host>()) {
        Ok(Host::Address(address)) => is_own(address),
        Ok(Host::Name(name)) => {
            name == "localhost"
                || name.ends_with(".localhost")
                || machine_name().is_some_and(|own| own.eq_ignore_ascii_case(&name))
        }
        Err(_) => false,
    }
}

/// The address that the server listens on; the machine's name, if it listens on all.
fn own_address(listen: SocketAddr) -> String {
    match machine_name() {
        Some(name) if listen.ip().is_unspecified() => format!("{name}:{}", listen.port()),
        _ => listen.to_string(),
    }
}

fn machine_name() -> Option<String> {
    let name = fs_err::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_believed_to_be_where_a_request_went() {
        for own in [
            "localhost",
            "localhost:7070",
            "127.0.0.1:7070",
            "[::1]:80",
            "a.localhost:1",
        ] {
            assert!(is_this_machine(own), "{own}");
        }
        let name = machine_name().unwrap();
        assert!(is_this_machine(&format!("{name}:7070")));
        for other in [
            "evil.example",
            "evil.example:7070",
            "192.0.2.1:7070",
            "localhost.evil.example",
            "localhost:7070@evil.example",
            "evil.example/localhost",
            "",
        ] {
            assert!(!is_this_machine(other), "{other}");
        }
    }
}
