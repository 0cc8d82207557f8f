//! Decides where a box may connect to, and connects.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{net::TcpStream, time::timeout};

use super::{
    addresses::{is_own, is_public},
    names::Names,
    own_server::OwnServer,
    upstream::UpstreamProxy,
};
use crate::{
    backend::Duplex,
    network::{EgressPolicy, Host, HostPattern, Target},
};

/// How long finding a name, and how long connecting to one address may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How many addresses of a name are tried.
const MOST_TRIED: usize = 4;

/// What stands between a box and the network.
#[derive(Debug)]
pub struct Gate {
    policy: EgressPolicy,
    names: Arc<dyn Names>,
    /// Hosts that may be anywhere.
    trusted: Vec<HostPattern>,
    /// Whether an address that the policy lists may be anywhere too.
    trusts_listed: bool,
    /// What dials, if this machine does not.
    upstream: Option<Arc<UpstreamProxy>>,
    /// The server itself, for boxes whose policy lists paths of it.
    server: OwnServer,
    last_refusal: Mutex<Option<Refused>>,
}

/// Why a connection was not made.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The policy does not list the host.
    #[error("this devbox may not reach {0}: its network policy does not list it")]
    NotListed(Target),
    /// The name leads to this machine or to a network that is not public.
    #[error(
        "this devbox may not reach {target}: it leads to {address}, which is not public and not listed as an address"
    )]
    NotPublic {
        /// What was asked for.
        target: Target,
        /// Where it leads.
        address: std::net::IpAddr,
    },
    /// The name leads nowhere.
    #[error("{target} cannot be found: {why}")]
    Unknown {
        /// What was asked for.
        target: Target,
        /// What the system said.
        why: io::Error,
    },
    /// Nobody answers there.
    #[error("{target} cannot be reached: {why}")]
    Unreachable {
        /// What was asked for.
        target: Target,
        /// What the system said.
        why: io::Error,
    },
}

impl Gate {
    /// A gate with this policy.
    pub fn new(policy: EgressPolicy, names: Arc<dyn Names>) -> Self {
        Self {
            policy,
            names,
            trusted: Vec::new(),
            trusts_listed: true,
            upstream: None,
            server: OwnServer::default(),
            last_refusal: Mutex::default(),
        }
    }

    /// The same gate for a policy that says only where somebody wants to go: of what it lists, nothing but these hosts may be at addresses that are not public.
    #[must_use]
    pub fn trusting(self, trusted: Vec<HostPattern>) -> Self {
        Self {
            trusted,
            trusts_listed: false,
            ..self
        }
    }

    /// The same gate, behind which a proxy of the server's environment dials, if there is one: the addresses that were checked here.
    #[must_use]
    pub fn through(self, upstream: Option<Arc<UpstreamProxy>>) -> Self {
        Self { upstream, ..self }
    }

    /// The same gate of this server.
    #[must_use]
    pub fn of_server(self, server: OwnServer) -> Self {
        Self { server, ..self }
    }

    /// Whether the server itself may be asked for anything.
    pub(super) fn has_server_paths(&self) -> bool {
        !self.policy.server_paths.is_empty()
    }

    /// Whether the server itself may be asked for this path.
    pub(super) fn admits_path(&self, path: &str) -> bool {
        self.policy.admits_path(path)
    }

    /// Connects to the server itself.
    pub(super) async fn server(&self) -> io::Result<Box<dyn Duplex>> {
        self.server.connect().await
    }

    /// Whether `target` may be dialled now.
    pub async fn check(&self, target: &Target) -> Result<(), Refused> {
        match (self.permitted(target).await, &self.upstream) {
            (Err(Refused::Unknown { .. }), Some(upstream)) if upstream.resolves(target) => Ok(()),
            (found, _) => found.map(drop),
        }
    }

    /// The last refusal of a connection, once.
    pub fn last_refusal(&self) -> Option<Refused> {
        self.refusal().take()
    }

    /// Keeps in mind why a connection was not made.
    pub(super) fn note(&self, refused: Refused) {
        *self.refusal() = Some(refused);
    }

    fn refusal(&self) -> std::sync::MutexGuard<'_, Option<Refused>> {
        self.last_refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to `target`, if that is allowed.
    pub async fn dial(&self, target: &Target) -> Result<TcpStream, Refused> {
        let found = self.permitted(target).await;
        let upstream = self.upstream.as_deref();
        let destinations: Vec<Destination<'_>> = match (found, upstream) {
            (Ok(addresses), None) => addresses.into_iter().map(Destination::Address).collect(),
            (Ok(addresses), Some(upstream)) => {
                let told = addresses.iter().map(ToString::to_string);
                told.map(|told| Destination::Through(upstream, told))
                    .collect()
            }
            // Behind a proxy some names are known to the proxy only.
            (Err(Refused::Unknown { .. }), Some(upstream)) if upstream.resolves(target) => {
                vec![Destination::Through(upstream, target.to_string())]
            }
            (Err(refused), _) => return Err(refused),
        };
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for destination in destinations.into_iter().take(MOST_TRIED) {
            match timeout(PATIENCE, destination.dial()).await {
                Ok(Ok(stream)) => {
                    // Both only wishes: a connection without them works as well.
                    let _ = stream.set_nodelay(true);
                    let _ = keep_alive(&stream);
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(Refused::Unreachable {
            target: target.clone(),
            why: last,
        })
    }

    /// The addresses of `target` that may be dialled. They are found once: a name that leads elsewhere a moment later gains nothing.
    async fn permitted(&self, target: &Target) -> Result<Vec<SocketAddr>, Refused> {
        if !self.policy.admits(target) {
            return Err(Refused::NotListed(target.clone()));
        }
        let found = match &target.host {
            Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
            Host::Name(name) => timeout(PATIENCE, self.names.addresses(name, target.port))
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                .map_err(|why| Refused::Unknown {
                    target: target.clone(),
                    why,
                })?,
        };
        let refused = found.first().map(SocketAddr::ip);
        let permitted: Vec<SocketAddr> = found
            .into_iter()
            .filter(|address| self.is_trusted(target) || self.may_dial(*address))
            .collect();
        match (permitted.is_empty(), refused) {
            (false, _) => Ok(permitted),
            (true, Some(address)) => Err(Refused::NotPublic {
                target: target.clone(),
                address,
            }),
            (true, None) => Err(Refused::Unknown {
                target: target.clone(),
                why: io::ErrorKind::NotFound.into(),
            }),
        }
    }

    fn is_trusted(&self, target: &Target) -> bool {
        self.trusted.iter().any(|pattern| pattern.covers(target))
    }

    fn may_dial(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        (self.trusts_listed && self.policy.lists(ip, address.port()))
            || (is_public(ip) && !is_own(ip))
    }
}

/// Where a connection leads.
enum Destination<'g> {
    Address(SocketAddr),
    /// Through a proxy, which is told this.
    Through(&'g UpstreamProxy, String),
}

impl Destination<'_> {
    async fn dial(self) -> io::Result<TcpStream> {
        match self {
            Self::Address(address) => TcpStream::connect(address).await,
            Self::Through(upstream, told) => upstream.tunnel(&told).await,
        }
    }
}

/// Notices a host that went away without a word, so that its connection does not take room for ever.
fn keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    rustix::net::sockopt::set_tcp_keepintvl(stream, Duration::from_secs(30))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::egress::EnvironmentProxies;

    /// Answers one address after the other.
    #[derive(Debug)]
    struct Turning(Vec<&'static str>, AtomicUsize);

    #[async_trait]
    impl Names for Turning {
        async fn addresses(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
            let turn = self.1.fetch_add(1, Ordering::Relaxed) % self.0.len();
            let addresses = self.0[turn].split(',').filter(|text| !text.is_empty());
            Ok(addresses
                .map(|text| SocketAddr::new(text.parse().unwrap(), port))
                .collect())
        }
    }

    fn gate(hosts: &[&str], answers: &[&'static str]) -> Gate {
        let policy = EgressPolicy {
            hosts: hosts.iter().map(|text| text.parse().unwrap()).collect(),
            ..EgressPolicy::default()
        };
        Gate::new(
            policy,
            Arc::new(Turning(answers.to_vec(), AtomicUsize::new(0))),
        )
    }

    async fn permitted(gate: &Gate, target: &str) -> Result<Vec<String>, Refused> {
        let found = gate.permitted(&target.parse().unwrap()).await?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    #[tokio::test]
    async fn a_listed_name_that_leads_inside_is_refused_and_the_checked_address_is_the_dialled_one()
    {
        let gate = gate(
            &["turning.example"],
            &["8.8.8.8", "127.0.0.1", "169.254.169.254", "::1"],
        );
        assert_eq!(
            permitted(&gate, "turning.example:80").await.unwrap(),
            ["8.8.8.8:80"]
        );
        for _ in 0..3 {
            assert!(matches!(
                permitted(&gate, "turning.example:80").await,
                Err(Refused::NotPublic { .. })
            ));
        }
    }

    /// A proxy that notes where it is to lead and answers `status`; and what it noted.
    async fn proxy(status: &'static str) -> (EnvironmentProxies, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let noted = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&noted);
        TaskTracker::new().spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let first = head.lines().next().unwrap().to_owned();
                kept.lock().unwrap().push(first);
                let answer = format!("HTTP/1.1 {status}\r\n\r\nbehind it");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let proxies = EnvironmentProxies {
            https: Some(url),
            ..EnvironmentProxies::default()
        };
        (proxies, noted)
    }

    #[tokio::test]
    async fn a_proxy_of_the_environment_is_told_the_address_that_was_checked_and_never_the_name() {
        let (proxies, noted) = proxy("200 OK").await;
        let target: Target = "turning.example:443".parse().unwrap();
        let upstream = proxies.for_target(&target, true, Vec::new()).unwrap();
        let gate = gate(&["turning.example"], &["8.8.8.8", "169.254.169.254"]).through(upstream);
        let mut stream = gate.dial(&target).await.unwrap();
        let mut said = [0; 9];
        stream.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"behind it", "nothing of the tunnel is lost");
        assert!(matches!(
            gate.dial(&target).await,
            Err(Refused::NotPublic { .. })
        ));
        assert_eq!(*noted.lock().unwrap(), ["CONNECT 8.8.8.8:443 HTTP/1.1"]);
    }

    #[tokio::test]
    async fn a_name_that_only_the_proxy_knows_is_told_to_it_if_the_operator_trusts_the_host() {
        let (proxies, noted) = proxy("200 OK").await;
        let target: Target = "inner.example:443".parse().unwrap();
        let unknown = proxies.for_target(&target, true, Vec::new()).unwrap();
        let refused = gate(&["inner.example"], &[""]).through(unknown);
        assert!(matches!(
            refused.check(&target).await,
            Err(Refused::Unknown { .. })
        ));
        assert!(refused.dial(&target).await.is_err());
        assert!(noted.lock().unwrap().is_empty());
        let trusted = vec!["inner.example".parse().unwrap()];
        let known = proxies.for_target(&target, true, trusted).unwrap();
        let led = gate(&["inner.example"], &[""]).through(known);
        assert!(led.check(&target).await.is_ok());
        assert!(led.dial(&target).await.is_ok());
        assert_eq!(
            *noted.lock().unwrap(),
            ["CONNECT inner.example:443 HTTP/1.1"]
        );
    }

    #[tokio::test]
    async fn a_proxy_that_does_not_lead_there_is_quoted() {
        let (proxies, _) = proxy("403 Not here").await;
        let target: Target = "far.example:443".parse().unwrap();
        let upstream = proxies.for_target(&target, true, Vec::new()).unwrap();
        let gate = gate(&["far.example"], &["8.8.8.8"]).through(upstream);
        let refused = gate.dial(&target).await.unwrap_err();
        assert!(refused.to_string().contains("403 Not here"), "{refused}");
    }

    #[tokio::test]
    async fn of_several_addresses_only_the_public_ones_are_dialled() {
        let gate = gate(&["mixed.example"], &["10.0.0.1,8.8.8.8,::ffff:127.0.0.1"]);
        assert_eq!(
            permitted(&gate, "mixed.example:443").await.unwrap(),
            ["8.8.8.8:443"]
        );
    }

    #[tokio::test]
    async fn an_address_that_is_listed_itself_may_be_private() {
        let gate = gate(&["inner.example", "10.0.0.1:5432"], &["10.0.0.1"]);
        assert!(permitted(&gate, "inner.example:5432").await.is_ok());
        assert!(permitted(&gate, "10.0.0.1:5432").await.is_ok());
        assert!(matches!(
            permitted(&gate, "10.0.0.1:22").await,
            Err(Refused::NotListed(_))
        ));
        assert!(matches!(
            permitted(&gate, "inner.example:22").await,
            Err(Refused::NotPublic { .. })
        ));
    }

    #[tokio::test]
    async fn a_trusted_host_may_be_inside_if_it_is_listed_too() {
        let trusting = |hosts: &[&str]| {
            let trusted = ["inner.example:443", "*.inner.example"];
            let trusted = trusted.map(|text| text.parse().unwrap());
            gate(hosts, &["10.0.0.1"]).trusting(trusted.to_vec())
        };
        let listed = trusting(&["inner.example", "a.inner.example"]);
        assert!(permitted(&listed, "inner.example:443").await.is_ok());
        assert!(permitted(&listed, "a.inner.example:80").await.is_ok());
        assert!(matches!(
            permitted(&listed, "inner.example:80").await,
            Err(Refused::NotPublic { .. })
        ));
        assert!(matches!(
            permitted(&trusting(&[]), "inner.example:443").await,
            Err(Refused::NotListed(_))
        ));
        assert!(matches!(
            permitted(&trusting(&["10.0.0.1"]), "10.0.0.1:80").await,
            Err(Refused::NotPublic { .. })
        ));
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_unknown() {
        let gate = gate(&["nothing.example"], &[""]);
        assert!(matches!(
            permitted(&gate, "nothing.example:80").await,
            Err(Refused::Unknown { .. })
        ));
    }

    #[tokio::test]
    async fn everything_is_not_this_machine_nor_its_neighbours() {
        let policy = EgressPolicy {
            all: true,
            ..EgressPolicy::default()
        };
        let gate = Gate::new(
            policy,
            Arc::new(Turning(vec!["8.8.8.8"], AtomicUsize::new(0))),
        );
        assert!(permitted(&gate, "any.example:80").await.is_ok());
        for target in [
            "127.0.0.1:80",
            "[::1]:80",
            "192.168.1.1:80",
            "169.254.169.254:80",
        ] {
            assert!(matches!(
                permitted(&gate, target).await,
                Err(Refused::NotPublic { .. })
            ));
        }
    }
}
