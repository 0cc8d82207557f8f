//! The listening socket and its connections.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use proctor_core::causes::with_causes;
use proctor_fleet::Fleet;
use russh::{
    Disconnect, MethodKind, MethodSet, SshId,
    server::{Config, run_stream},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{connection::Connection, identity::SshIdentity};

/// How long somebody may take to prove who they are.
const PROOF_PATIENCE: Duration = Duration::from_secs(60);
/// How long a connection may take to end after it was told to.
const LEAVING: Duration = Duration::from_secs(5);
/// Connections at a time; more wait in the system's queue.
const MOST_CONNECTIONS: usize = 512;
/// Packets of a channel that wait until they are taken.
const PACKETS_IN_HAND: usize = 128;

/// Where to speak SSH.
#[derive(Clone, Debug)]
pub struct SshOptions {
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The host and port that clients use, if that is not where they reach the rest of the server.
    pub public: Option<(String, u16)>,
}

/// Why an SSH server could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for SSH")]
pub struct BindError {
    address: SocketAddr,
    source: io::Error,
}

/// An SSH server that listens.
pub struct SshServer {
    listener: TcpListener,
    fleet: Fleet,
    identity: Arc<SshIdentity>,
}

impl SshServer {
    /// Binds the socket. From here on connections queue up.
    pub async fn bind(options: SshOptions, fleet: Fleet) -> Result<Self, BindError> {
        let failed = |source| BindError {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let identity = Arc::new(SshIdentity::of(&fleet, address, options.public));
        Ok(Self {
            listener,
            fleet,
            identity,
        })
    }

    /// What clients know it by, and what makes keys for it.
    pub fn identity(&self) -> Arc<SshIdentity> {
        Arc::clone(&self.identity)
    }

    /// Serves until `stop` is cancelled; connections end then.
    pub async fn serve(self, stop: CancellationToken) {
        let config = Arc::new(self.config());
        let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let tasks = TaskTracker::new();
        loop {
            let accepted = async {
                let slot = Arc::clone(&slots).acquire_owned().await;
                (self.listener.accept().await, slot)
            };
            let (accepted, slot) = tokio::select! {
                accepted = accepted => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let (config, fleet) = (Arc::clone(&config), self.fleet.clone());
                    let (stop, inner) = (stop.clone(), tasks.clone());
                    tasks.spawn(async move {
                        converse(config, stream, fleet, inner, peer, stop).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    // Out of descriptors, most likely: asking again at once would only spin.
                    tracing::warn!(error = %with_causes(&error), "cannot accept an SSH connection");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        }
        tasks.close();
        tasks.wait().await;
    }

    fn config(&self) -> Config {
        Config {
            server_id: SshId::Standard("SSH-2.0-Proctor".into()),
            methods: MethodSet::from(&[MethodKind::PublicKey][..]),
            auth_rejection_time: Duration::from_millis(300),
            auth_rejection_time_initial: Some(Duration::ZERO),
            keys: vec![self.identity.key().clone()],
            inactivity_timeout: None,
            keepalive_interval: Some(Duration::from_secs(30)),
            channel_buffer_size: PACKETS_IN_HAND,
            nodelay: true,
            ..Config::default()
        }
    }
}

/// One connection from its first byte to its last.
async fn converse(
    config: Arc<Config>,
    stream: TcpStream,
    fleet: Fleet,
    tasks: TaskTracker,
    peer: SocketAddr,
    stop: CancellationToken,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, error = %with_causes(&error), "cannot set TCP_NODELAY");
    }
    let (known, over) = (CancellationToken::new(), CancellationToken::new());
    let connection = Connection::new(fleet, tasks, known.clone(), over.clone());
    let begun = tokio::time::timeout(PROOF_PATIENCE, run_stream(config, stream, connection));
    let mut session = match begun.await {
        Ok(Ok(session)) => session,
        Ok(Err(error)) => {
            tracing::debug!(%peer, error = %with_causes(&error), "an SSH connection failed");
            return;
        }
        Err(_) => return,
    };
    let handle = session.handle();
    let unproven = async {
        tokio::select! {
            () = tokio::time::sleep(PROOF_PATIENCE) => {}
            () = known.cancelled() => std::future::pending().await,
        }
    };
    let why = tokio::select! {
        ended = &mut session => {
            if let Err(error) = ended {
                tracing::debug!(%peer, error = %with_causes(&error), "an SSH connection broke");
            }
            over.cancel();
            return;
        }
        () = over.cancelled() => "the devbox has ended",
        () = stop.cancelled() => "the server stops",
        () = unproven => "no key was shown in time",
    };
    let bye = handle.disconnect(Disconnect::ByApplication, why.to_owned(), String::new());
    let _ = tokio::time::timeout(LEAVING, async {
        let _ = bye.await;
        let _ = (&mut session).await;
    })
    .await;
    over.cancel();
}
