//! The listening socket and its connections.
//!
//! One port speaks HTTP/1.1 and HTTP/2, in clear text (by prior knowledge) or over TLS (by ALPN).
//! The server knows nothing of routes; it serves any router until it is told to stop, then lets
//! requests in flight finish within a grace period.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::metrics::Metrics;
use proctor_core::causes::with_causes;

mod connection;
mod head_time;
mod inside;
mod tls;
mod unread;
mod wrong_keys;

pub(crate) use connection::PeerAddress;
pub use inside::InsideServer;
pub use tls::{TlsError, TlsFiles};

/// How to listen and how patient to be.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Certificate and key; clear text without.
    pub tls: Option<TlsFiles>,
    /// Connections at a time; more wait in the system's queue.
    pub max_connections: usize,
    /// Streams at a time on one HTTP/2 connection.
    pub max_streams: u32,
    /// How long a client may take for a request's head (and for a TLS handshake).
    pub header_read_time_out: Duration,
    /// How long requests in flight may take after the stop.
    pub grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7070)),
            tls: None,
            max_connections: 10_000,
            max_streams: 512,
            header_read_time_out: Duration::from_secs(30),
            grace: Duration::from_secs(30),
        }
    }
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Certificate or key cannot be used.
    #[error("cannot set up TLS")]
    Tls(#[from] TlsError),
}

/// How a server came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    Completely,
    /// The grace period ended first; so many connections were cut.
    CutShort {
        /// Connections still open when the grace period ended.
        connections: usize,
    },
}

/// Starts servers.
#[derive(Debug)]
pub enum Server {}

impl Server {
    /// Binds the socket and reads the TLS files. From here on connections queue up.
    pub async fn bind(options: ServerOptions, metrics: Metrics) -> Result<BoundServer, BindError> {
        let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let listen = |source| BindError::Listen {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(listen)?;
        let local_addr = listener.local_addr().map_err(listen)?;
        Ok(BoundServer {
            listener,
            local_addr,
            tls,
            options,
            metrics,
        })
    }
}

/// A server that listens but does not answer yet.
pub struct BoundServer {
    listener: TcpListener,
    local_addr: SocketAddr,
    tls: Option<TlsAcceptor>,
    options: ServerOptions,
    metrics: Metrics,
}

impl BoundServer {
    /// The address that it listens on, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves `router` until `shutdown` is cancelled and the connections are drained.
    pub async fn serve(self, router: Router, shutdown: CancellationToken) -> Drained {
        let tasks = TaskTracker::new();
        let stop = Stop {
            gracefully: shutdown.clone(),
            at_once: CancellationToken::new(),
        };
        let slots = Arc::new(Semaphore::new(self.options.max_connections));
        let connections = Arc::new(connection::Connections::new(
            &self.options,
            router,
            self.tls,
            self.metrics,
            stop.clone(),
            tasks.clone(),
        ));
        loop {
            let accepted = async {
                // The permit comes first: at the cap we leave clients in the system's queue.
                let slot = Arc::clone(&slots)
                    .acquire_owned()
                    .await
                    .expect("the semaphore is never closed");
                (accept(&self.listener).await, slot)
            };
            tokio::select! {
                ((stream, peer), slot) = accepted => {
                    let connections = Arc::clone(&connections);
                    tasks.spawn(async move {
                        connections.serve(stream, peer).await;
                        drop(slot);
                    });
                }
                () = shutdown.cancelled() => break,
            }
        }
        drop(self.listener);
        drain(&tasks, &stop, self.options.grace).await
    }
}

/// Two ways to stop.
#[derive(Clone)]
struct Stop {
    gracefully: CancellationToken,
    at_once: CancellationToken,
}

/// The next connection. Errors here belong to one client or pass by themselves.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                // Out of file descriptors, most likely: asking again at once would only spin.
                tracing::error!(error = %with_causes(&error), "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
}

fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

async fn drain(tasks: &TaskTracker, stop: &Stop, grace: Duration) -> Drained {
    tasks.close();
    tracing::info!(connections = tasks.len(), "draining");
    if tokio::time::timeout(grace, tasks.wait()).await.is_ok() {
        return Drained::Completely;
    }
    let connections = tasks.len();
    tracing::warn!(connections, "the grace period is over");
    stop.at_once.cancel();
    tasks.wait().await;
    Drained::CutShort { connections }
}
