//! The way out of `git`: a proxy of this process that leads to the host of one repository and nowhere else.
//!
//! Where a repository is fetched from is a client's word, and the server can reach what the client cannot: its own ports, its neighbours, a cloud's
//! metadata. So `git` goes through the same gate as a devbox with a network policy: the address is checked and dialled as checked, and a redirect to
//! another host ends there.

use std::sync::Arc;

use proctor_devbox::{
    EgressPolicy, Host, HostPattern, Target,
    egress::{self, EnvironmentProxies, Gate, LocalProxy, Names, Refused},
};

use super::GitError;

/// Which hosts repositories may come from.
#[derive(Clone, Debug)]
pub struct CodeHosts {
    /// Hosts that may be at addresses that are not public.
    pub internal: Vec<HostPattern>,
    /// Where names lead.
    pub names: Arc<dyn Names>,
    /// The proxies that the server itself goes through.
    pub proxies: EnvironmentProxies,
}

impl Default for CodeHosts {
    fn default() -> Self {
        Self {
            internal: Vec::new(),
            names: Arc::new(egress::SystemNames),
            proxies: EnvironmentProxies::of_process(),
        }
    }
}

/// How `git` reaches a repository: through a proxy of ours, which ends with this value.
pub(super) struct Outlet {
    proxy: LocalProxy,
    repository: String,
}

impl Outlet {
    /// Opens the way to the host of `url`, unless it leads inside. Where the server itself goes through a proxy, that proxy is told the address which was
    /// checked here. It looks up only names of hosts that the operator trusts: the code host, and those that may be inside.
    pub(super) async fn open(
        url: &str,
        hosts: &CodeHosts,
        code_host: &str,
    ) -> Result<Self, GitError> {
        let target = target(url)?;
        let policy = EgressPolicy {
            // Any of its ports: from the plain one a server may lead to the encrypted one.
            hosts: vec![HostPattern::exactly(target.host.clone())],
            ..EgressPolicy::default()
        };
        let own = self::target(code_host).map(|target| HostPattern::exactly(target.host));
        let resolves = hosts.internal.iter().cloned().chain(own.ok()).collect();
        let is_encrypted = url.starts_with("https://");
        let upstream = hosts.proxies.for_target(&target, is_encrypted, resolves);
        let gate = Gate::new(policy, Arc::clone(&hosts.names))
            .trusting(hosts.internal.clone())
            .through(upstream.map_err(GitError::Platform)?);
        let gate = Arc::new(gate);
        gate.check(&target)
            .await
            .map_err(|refused| not_fetched(url, &refused))?;
        let proxy = LocalProxy::start(gate).await.map_err(GitError::Platform)?;
        Ok(Self {
            proxy,
            repository: url.to_owned(),
        })
    }

    /// What `git` must be told.
    pub(super) fn settings(&self) -> [(&'static str, String); 1] {
        [("http.proxy", self.proxy.url().to_owned())]
    }

    /// Why the gate ended it, if it did.
    pub(super) fn refusal(&self) -> Option<GitError> {
        let refused = self.proxy.gate().last_refusal()?;
        Some(not_fetched(&self.repository, &refused))
    }
}

fn not_fetched(repository: &str, refused: &Refused) -> GitError {
    let why = match refused {
        Refused::NotListed(target) => {
            format!("it redirects to {target}, and redirects to other hosts are not followed")
        }
        Refused::NotPublic { target, address } => format!(
            "{} is at {address}, which is not a public address; the server's operator can allow the host with the setting internal-host",
            target.host
        ),
        Refused::Unknown { target, .. } => format!("the host {} cannot be found", target.host),
        Refused::Unreachable { target, why } => format!("{target} cannot be reached: {why}"),
    };
    GitError::Fetch {
        repository: repository.to_owned(),
        why,
    }
}

/// The host and port of an address, as far as we understand it. Where `git` understands it otherwise, the gate does not let it through.
fn target(url: &str) -> Result<Target, GitError> {
    let invalid = || GitError::Invalid(format!("'{url}' names no host"));
    let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    if let Ok(target) = place.parse() {
        return Ok(target);
    }
    let host: Host = place.trim_end_matches(':').parse().map_err(|_| invalid())?;
    let port = if scheme == "https" { 443 } else { 80 };
    Ok(Target { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_found() {
        for (url, expected) in [
            ("https://code.example/a/b.git", "code.example:443"),
            ("http://code.example/a", "code.example:80"),
            ("http://code.example:8080/a", "code.example:8080"),
            ("https://user:pass@code.example/a", "code.example:443"),
            (
                "http://public.example@169.254.169.254/latest",
                "169.254.169.254:80",
            ),
            ("http://[::1]:8080/a", "[::1]:8080"),
            ("http://[::ffff:10.0.0.1]/a", "10.0.0.1:80"),
        ] {
            assert_eq!(target(url).unwrap().to_string(), expected, "{url}");
        }
        // Addresses in the notations of old resolvers are not names.
        for url in [
            "http://127.1/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http:///a",
        ] {
            assert!(target(url).is_err(), "{url}");
        }
    }
}
