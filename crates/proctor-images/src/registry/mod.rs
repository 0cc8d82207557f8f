//! Registries: which may be asked, and asking them.
//!
//! What a registry sends is believed only as far as digests bear it out. Where it may be asked, and where it may lead to, is decided by the same gate that
//! stands between devboxes and the network.

mod blobs;
mod challenge;
mod client;

use std::{collections::BTreeMap, str::FromStr, sync::Arc, time::Duration};

use proctor_devbox::{
    HostPattern,
    egress::{EnvironmentProxies, Names, SystemNames},
};
use secrecy::SecretString;
use serde::Deserialize;

pub(crate) use client::Client;

use crate::{error::ImageError, reference::DEFAULT_REGISTRY};

/// A registry that may be asked: `HOST[:PORT]`, or `http://HOST[:PORT]` for one without TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedRegistry {
    host: String,
    plain: bool,
}

impl FromStr for AllowedRegistry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, plain) = match text.split_once("://") {
            None => (text, false),
            Some(("https", rest)) => (rest, false),
            Some(("http", rest)) => (rest, true),
            Some(_) => return Err(format!("'{text}': a registry speaks https or http")),
        };
        let host = rest.trim_end_matches('/').to_ascii_lowercase();
        match host.parse::<HostPattern>() {
            Ok(_) if !host.starts_with('*') => Ok(Self { host, plain }),
            _ => Err(format!(
                "'{text}' is not a registry: expected HOST or HOST:PORT, such as docker.io"
            )),
        }
    }
}

impl TryFrom<String> for AllowedRegistry {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Who asks a registry.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub(crate) user: String,
    pub(crate) password: SecretString,
}

/// Which registries may be asked, and how.
#[derive(Clone, Debug)]
pub struct RegistryOptions {
    /// The registries. Without any, nothing is ever pulled.
    pub allowed: Vec<AllowedRegistry>,
    /// Hosts that may be at addresses that are not public. A registry that is listed by its address may be there anyway.
    pub internal: Vec<HostPattern>,
    /// Where names lead.
    pub names: Arc<dyn Names>,
    /// The proxies that the server itself goes through.
    pub proxies: EnvironmentProxies,
    /// Credentials by registry.
    pub credentials: BTreeMap<String, Credentials>,
    /// How long a registry may say nothing.
    pub patience: Duration,
}

impl Default for RegistryOptions {
    fn default() -> Self {
        Self {
            allowed: Vec::new(),
            internal: Vec::new(),
            names: Arc::new(SystemNames),
            proxies: EnvironmentProxies::of_process(),
            credentials: BTreeMap::new(),
            patience: Duration::from_secs(30),
        }
    }
}

impl RegistryOptions {
    /// The setting for this registry, if it may be asked.
    pub(crate) fn allows(&self, registry: &str) -> Option<&AllowedRegistry> {
        self.allowed.iter().find(|one| one.host == registry)
    }

    /// Where a registry that may be asked is allowed to lead to: itself, its usual companions, and every other registry that may be asked.
    fn reachable(&self, registry: &str) -> Vec<HostPattern> {
        let own = match registry {
            DEFAULT_REGISTRY => Vec::new(),
            other => vec![other],
        };
        let companions = match registry {
            DEFAULT_REGISTRY => &[
                "registry-1.docker.io",
                "auth.docker.io",
                "*.docker.com",
                "*.r2.cloudflarestorage.com",
            ][..],
            "ghcr.io" => &["*.githubusercontent.com"],
            "quay.io" => &["*.quay.io"],
            _ => &[],
        };
        let others = self.allowed.iter().map(|one| one.host.as_str());
        own.into_iter()
            .chain(companions.iter().copied())
            .chain(others)
            .filter_map(|host| host.parse().ok())
            .collect()
    }
}

/// Reads credentials from a file as `docker login` writes it: `{"auths": {"HOST": {"auth": BASE64("USER:PASSWORD")}}}`.
pub fn read_credentials(text: &str) -> Result<BTreeMap<String, Credentials>, ImageError> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};

    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        auths: BTreeMap<String, Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        #[serde(default)]
        auth: String,
    }
    let file: File = crate::documents::read("the file with credentials", text.as_bytes())?;
    let mut credentials = BTreeMap::new();
    for (host, Entry { auth }) in file.auths {
        let invalid = || {
            ImageError::invalid(format!(
                "the file with credentials has no user and password for '{host}'"
            ))
        };
        let plain = STANDARD.decode(auth).map_err(|_| invalid())?;
        let plain = String::from_utf8(plain).map_err(|_| invalid())?;
        let (user, password) = plain.split_once(':').ok_or_else(invalid)?;
        let bare = host
            .trim_start_matches("https://")
            .trim_start_matches("http://");
        let bare = bare.split('/').next().unwrap_or(bare);
        let host = match bare {
            "index.docker.io" | "registry-1.docker.io" => DEFAULT_REGISTRY,
            other => other,
        };
        credentials.insert(
            host.to_owned(),
            Credentials {
                user: user.to_owned(),
                password: password.into(),
            },
        );
    }
    Ok(credentials)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn registries_are_hosts_with_or_without_tls() {
        let read = |text: &str| text.parse::<AllowedRegistry>().unwrap();
        assert_eq!(read("https://GHCR.io/"), read("ghcr.io"));
        assert!(read("http://127.0.0.1:5000").plain);
        for wrong in ["", "ftp://a", "*.example.org", "a/b", "a:0", "a b"] {
            assert!(wrong.parse::<AllowedRegistry>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn credentials_are_read_as_docker_writes_them() {
        let read = read_credentials(
            r#"{"auths":{"https://index.docker.io/v1/":{"auth":"bWU6c2VjOnJldA=="}},"credsStore":"x"}"#,
        )
        .unwrap();
        let one = &read["docker.io"];
        assert_eq!(
            (one.user.as_str(), one.password.expose_secret()),
            ("me", "sec:ret")
        );
        assert!(read_credentials(r#"{"auths":{"a":{"auth":"!"}}}"#).is_err());
        assert!(read_credentials("nonsense").is_err());
    }
}
