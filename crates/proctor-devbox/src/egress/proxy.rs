//! The proxy that a box speaks to: `CONNECT` for everything, plain HTTP by whole address, and the server itself by path alone.
//!
//! It speaks HTTP/1.1 as proxies do. It adds nothing of its own to what passes and keeps nothing of it.

use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    header::{self, HeaderName, HeaderValue},
    service::service_fn,
    upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::gate::{Gate, Refused};
use crate::network::{Host, Target};

/// How long a client may take for the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

type Body = BoxBody<Bytes, hyper::Error>;

/// What a `CONNECT` has agreed on: the two ends to be joined.
type Tunnel = Arc<Mutex<Option<(OnUpgrade, TcpStream)>>>;

/// Serves one connection of a box until it is over or `ended`.
pub async fn serve(
    stream: TcpStream,
    gate: Arc<Gate>,
    tasks: &TaskTracker,
    ended: &CancellationToken,
) {
    let tunnel = Tunnel::default();
    let upstream = Upstream {
        gate,
        tasks: tasks.clone(),
        ended: ended.clone(),
    };
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .preserve_header_case(true)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(|request| upstream.handle(request, &tunnel)),
        )
        .with_upgrades();
    let work = async {
        let _ = connection.await;
        let agreed = tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((upgrade, mut outside)) = agreed
            && let Ok(inside) = upgrade.await
        {
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(inside), &mut outside).await;
        }
    };
    ended.run_until_cancelled(work).await;
}

struct Upstream {
    gate: Arc<Gate>,
    tasks: TaskTracker,
    ended: CancellationToken,
}

impl Upstream {
    async fn handle(
        &self,
        request: Request<Incoming>,
        tunnel: &Tunnel,
    ) -> Result<Response<Body>, Infallible> {
        let answered = if request.method() == Method::CONNECT {
            self.connect(request, tunnel).await
        } else if request.uri().authority().is_none() && self.gate.has_server_paths() {
            self.ask_server(request).await
        } else {
            self.forward(request).await
        };
        Ok(answered.unwrap_or_else(|refusal| refusal.into_response()))
    }

    async fn connect(
        &self,
        request: Request<Incoming>,
        tunnel: &Tunnel,
    ) -> Result<Response<Body>, Refusal> {
        let authority = request.uri().authority().ok_or(Refusal::NoTarget)?;
        let target: Target = authority.as_str().parse().map_err(|_| Refusal::NoTarget)?;
        let outside = self.dial(&target).await?;
        let upgrade = hyper::upgrade::on(request);
        *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some((upgrade, outside));
        Ok(Response::new(empty()))
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let (mut head, body) = request.into_parts();
        let target = plain_target(&head.uri)?;
        let outside = self.dial(&target).await?;
        let host = head.uri.authority().map(|authority| authority.as_str());
        let host = host.and_then(|host| HeaderValue::from_str(host.rsplit('@').next()?).ok());
        strip_hop_by_hop(&mut head.headers);
        head.headers
            .insert(header::HOST, host.ok_or(Refusal::NoTarget)?);
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        head.uri = path.parse().map_err(|_| Refusal::NoTarget)?;
        let request = Request::from_parts(head, body);
        self.exchange(outside, request, target.to_string()).await
    }

    /// Asks the server itself, for a path that the policy lists.
    async fn ask_server(&self, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let path = request.uri().path();
        if !self.gate.admits_path(path) {
            tracing::debug!(path, "a request to the server was not let through");
            return Err(Refusal::NotOffered);
        }
        let server = self.gate.server().await.map_err(Refusal::NoServer)?;
        let (mut head, body) = request.into_parts();
        strip_hop_by_hop(&mut head.headers);
        let request = Request::from_parts(head, body);
        self.exchange(server, request, "the server".to_owned())
            .await
    }

    /// Sends a request on a connection and answers what comes back.
    async fn exchange<S>(
        &self,
        outside: S,
        request: Request<Incoming>,
        target: String,
    ) -> Result<Response<Body>, Refusal>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let broken = |error: hyper::Error| Refusal::Broken(target.clone(), error);
        let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
            .preserve_header_case(true)
            .handshake(TokioIo::new(outside))
            .await
            .map_err(broken)?;
        let ended = self.ended.clone();
        self.tasks.spawn(async move {
            // Ends with the response that it carries.
            ended.run_until_cancelled(connection).await;
        });
        let response = sender.send_request(request).await.map_err(broken)?;
        let (mut head, body) = response.into_parts();
        strip_hop_by_hop(&mut head.headers);
        Ok(Response::from_parts(head, body.boxed()))
    }

    async fn dial(&self, target: &Target) -> Result<TcpStream, Refusal> {
        let dialled = self.gate.dial(target).await;
        if let Err(refused) = &dialled {
            tracing::debug!(%target, %refused, "a connection was not let out");
        }
        dialled.map_err(|refused| {
            let refusal = Refusal::gate(&refused);
            self.gate.note(refused);
            refusal
        })
    }
}

/// Where a request with a whole address wants to go.
fn plain_target(uri: &Uri) -> Result<Target, Refusal> {
    if uri.scheme_str() != Some("http") {
        return Err(Refusal::NoTarget);
    }
    let host: Host = uri
        .host()
        .and_then(|host| host.parse().ok())
        .ok_or(Refusal::NoTarget)?;
    let port = uri.port_u16().unwrap_or(80);
    Ok(Target { host, port })
}

/// Takes away what is meant for the next hop only.
fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ] {
        headers.remove(name);
    }
}

fn empty() -> Body {
    text(String::new())
}

fn text(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never| match never {})
        .boxed()
}

/// Why a request gets no further.
enum Refusal {
    /// It does not say where to.
    NoTarget,
    /// The gate did not let it through, for this reason.
    Gate(StatusCode, String),
    /// The other side does not speak HTTP, or went away.
    Broken(String, hyper::Error),
    /// It asks the server itself for what the policy does not list.
    NotOffered,
    /// The server itself does not answer.
    NoServer(io::Error),
}

impl Refusal {
    fn gate(refused: &Refused) -> Self {
        let status = match refused {
            Refused::NotListed(_) | Refused::NotPublic { .. } => StatusCode::FORBIDDEN,
            Refused::Unknown { .. } | Refused::Unreachable { .. } => StatusCode::BAD_GATEWAY,
        };
        Self::Gate(status, refused.to_string())
    }

    fn into_response(self) -> Response<Body> {
        let (status, why) = match self {
            Self::NoTarget => (
                StatusCode::BAD_REQUEST,
                "this is a proxy: use CONNECT host:port, or a whole http:// address".to_owned(),
            ),
            Self::Gate(status, why) => (status, why),
            Self::Broken(target, error) => (
                StatusCode::BAD_GATEWAY,
                format!("{target} broke off: {error}"),
            ),
            Self::NotOffered => (
                StatusCode::FORBIDDEN,
                "this devbox may ask the server for its own attempt only".to_owned(),
            ),
            Self::NoServer(error) => (StatusCode::BAD_GATEWAY, error.to_string()),
        };
        let mut response = Response::new(text(format!("{why}\n")));
        *response.status_mut() = status;
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        response
    }
}
