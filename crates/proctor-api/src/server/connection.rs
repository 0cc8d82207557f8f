//! One connection from its first byte to its last.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use axum::Router;
use futures::{StreamExt as _, stream::FuturesUnordered};
use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ServerOptions, Stop,
    head_time::{HeadTimer, Ticks},
    unread,
    wrong_keys::WrongKeys,
};
use crate::{dialect, frame, metrics::Metrics};
use proctor_core::causes::with_causes;

/// The client's address, in a request's extensions while the access log wants it: for the many
/// requests that are not logged it would only make their extensions grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// What all connections share.
pub(super) struct Connections {
    protocol: auto::Builder<TrackedExecutor>,
    router: Router,
    tls: Option<TlsAcceptor>,
    metrics: Metrics,
    stop: Stop,
    header_read_time_out: Duration,
    wrong_keys: Arc<WrongKeys>,
}

impl Connections {
    pub(super) fn new(
        options: &ServerOptions,
        router: Router,
        tls: Option<TlsAcceptor>,
        metrics: Metrics,
        stop: Stop,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            protocol: protocol(
                options,
                TrackedExecutor {
                    tasks,
                    at_once: stop.at_once.clone(),
                },
            ),
            router,
            tls,
            metrics,
            stop,
            header_read_time_out: options.header_read_time_out,
            wrong_keys: Arc::new(WrongKeys::new()),
        }
    }

    /// Serves one client until it leaves or the server stops.
    pub(super) async fn serve(&self, stream: TcpStream, peer: SocketAddr) {
        let _open = self.metrics.connection_opened();
        // Small answers must not wait for the acknowledgement of earlier ones.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, error = %with_causes(&error), "cannot set TCP_NODELAY");
        }
        match &self.tls {
            None => self.speak_http(stream, peer).await,
            Some(tls) => {
                let handshake = timeout(self.header_read_time_out, tls.accept(stream));
                let shaken = tokio::select! {
                    shaken = handshake => shaken,
                    () = self.stop.gracefully.cancelled() => return,
                };
                match shaken {
                    Ok(Ok(stream)) => self.speak_http(stream, peer).await,
                    Ok(Err(error)) => {
                        tracing::debug!(%peer, error = %with_causes(&error), "the TLS handshake failed");
                    }
                    Err(_) => tracing::debug!(%peer, "the TLS handshake took too long"),
                }
            }
        }
    }

    async fn speak_http<S>(&self, stream: S, peer: SocketAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let asked = Arc::new(AtomicBool::new(false));
        let service = {
            let (router, asked) = (self.router.clone(), Arc::clone(&asked));
            let wrong_keys = Arc::clone(&self.wrong_keys);
            service_fn(move |mut request: Request<Incoming>| {
                asked.store(true, Ordering::Relaxed);
                if frame::tells_of_peers() {
                    request.extensions_mut().insert(PeerAddress(peer));
                }
                let dialect = dialect::of_path(request.uri().path());
                let answer = unread::answer(router.clone(), request);
                let wrong_keys = Arc::clone(&wrong_keys);
                async move {
                    let response = answer.await?;
                    Ok::<_, Infallible>(wrong_keys.answer(peer.ip(), dialect, response))
                }
            })
        };
        let mut connection = pin!(
            self.protocol
                .serve_connection_with_upgrades(TokioIo::new(stream), service)
        );
        let first_request_due = Instant::now() + self.header_read_time_out;
        // A set of one, because a set polls only what was woken: a connection is polled with every request,
        // and what else it waits for has nothing to say then.
        let mut interruptions = FuturesUnordered::new();
        interruptions.push(self.interruption(false, &asked, first_request_due));
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%peer, error, "a connection broke");
                    }
                    return;
                }
                Some(interruption) = interruptions.next() => match interruption {
                    Interruption::Drain => {
                        connection.as_mut().graceful_shutdown();
                        interruptions.push(self.interruption(true, &asked, first_request_due));
                    }
                    Interruption::Leave => return,
                    Interruption::Overdue => {
                        tracing::debug!(%peer, "no request came in time");
                        return;
                    }
                },
            }
        }
    }

    /// Waits for the next thing besides requests that a connection must heed.
    async fn interruption(
        &self,
        draining: bool,
        asked: &AtomicBool,
        first_request_due: Instant,
    ) -> Interruption {
        // hyper's own time-out for heads starts only when the protocol is known, so a client that
        // sends nothing, or half a preface, is looked after here.
        let mut ticks = Ticks::for_limit(self.header_read_time_out);
        loop {
            tokio::select! {
                () = self.stop.gracefully.cancelled(), if !draining => return Interruption::Drain,
                () = self.stop.at_once.cancelled(), if draining => return Interruption::Leave,
                () = poll_fn(|context| ticks.poll(context)) => {
                    if !asked.load(Ordering::Relaxed) && Instant::now() >= first_request_due {
                        return Interruption::Overdue;
                    }
                }
            }
        }
    }
}

/// What a connection heeds besides requests.
enum Interruption {
    /// The server stops: no further requests.
    Drain,
    /// The server stops now.
    Leave,
    /// The client did not ask for anything.
    Overdue,
}

fn protocol(options: &ServerOptions, streams: TrackedExecutor) -> auto::Builder<TrackedExecutor> {
    let mut protocol = auto::Builder::new(streams);
    protocol
        .http1()
        .timer(HeadTimer)
        .header_read_timeout(options.header_read_time_out);
    protocol
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(options.max_streams)
        // Finds out about peers that vanished without a word.
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    protocol
}

/// Runs the streams of HTTP/2 connections as tasks that the drain waits for.
#[derive(Clone)]
struct TrackedExecutor {
    tasks: TaskTracker,
    at_once: CancellationToken,
}

impl<F> hyper::rt::Executor<F> for TrackedExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let at_once = self.at_once.clone();
        self.tasks
            .spawn(async move { at_once.run_until_cancelled(stream).await });
    }
}
