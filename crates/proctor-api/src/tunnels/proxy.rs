//! One request through a tunnel: in by a connection of its own, out as it comes, also if it becomes something else than HTTP.

use std::time::Duration;

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, Uri, Version, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use proctor_core::causes::with_causes;
use proctor_devbox::Error;
use proctor_fleet::{FleetError, OpenTunnel, TunnelStream};

use super::headers;
use crate::state::ApiState;

/// How long the way into the devbox may take, unless the devbox has to be brought back first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which port of which devbox is meant.
pub(super) struct Target {
    pub(super) port: u16,
    pub(super) key: String,
    pub(super) way: Way,
}

/// How the port was named.
pub(super) enum Way {
    /// By the host.
    Host,
    /// By the beginning of the path.
    Path {
        /// That beginning, without a slash at its end.
        prefix: String,
        /// The path behind it.
        rest: String,
    },
}

/// Passes a request on, and its response back.
pub(super) async fn forward(state: &ApiState, request: Request, target: Target) -> Response {
    let passed = pass(state, request, target).await;
    passed.unwrap_or_else(IntoResponse::into_response)
}

async fn pass(state: &ApiState, mut request: Request, target: Target) -> Result<Response, Refusal> {
    let fleet = state.fleet().map_err(|_| Refusal::NoTunnel)?;
    let tunnel = fleet.find_tunnel(&target.key).ok_or(Refusal::NoTunnel)?;
    if !tunnel.admits(token(&request)) {
        return Err(Refusal::NoToken);
    }
    if !headers::has_one_host(&request) {
        return Err(Refusal::Host);
    }
    if request.method() == Method::CONNECT {
        return Err(Refusal::Connect);
    }
    let wanted = headers::upgrade(request.headers(), request.version());
    let client = wanted.is_some().then(|| hyper::upgrade::on(&mut request));
    let mut request = prepare(state, request, &target)?;
    if let Some(protocol) = &wanted {
        let headers = request.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, protocol.clone());
    }
    let stream = connect(&tunnel, target.port).await?;
    let broken = |error| Refusal::Broken(target.port, error);
    let handshake = http1::Builder::new().handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(broken)?;
    // Ends with the response that it carries, or with the tunnel.
    state.tasks().spawn(connection.with_upgrades());
    let mut response = sender.send_request(request).await.map_err(broken)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let service = hyper::upgrade::on(&mut response);
        let client = client.ok_or(Refusal::Unasked(target.port))?;
        state.tasks().spawn(async move {
            if let (Ok(client), Ok(service)) = tokio::join!(client, service) {
                let (mut client, mut service) = (TokioIo::new(client), TokioIo::new(service));
                let _ = tokio::io::copy_bidirectional(&mut client, &mut service).await;
            }
        });
    }
    let (mut head, body) = response.into_parts();
    let protocol = head.headers.get(header::UPGRADE).cloned();
    headers::to_client(&mut head.headers, &target.way);
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        let upgrade = HeaderValue::from_static("upgrade");
        head.headers.insert(header::CONNECTION, upgrade);
        head.headers
            .extend(protocol.map(|protocol| (header::UPGRADE, protocol)));
    }
    Ok(Response::from_parts(head, Body::new(body)))
}

/// The token that a request shows.
fn token(request: &Request) -> Option<&str> {
    let shown = request.headers().get(headers::TOKEN)?.to_str().ok()?;
    let (scheme, token) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The request as the devbox gets it.
fn prepare(state: &ApiState, request: Request, target: &Target) -> Result<Request, Refusal> {
    let host = headers::host(&request).and_then(|host| HeaderValue::from_str(host).ok());
    let is_https = state
        .public_url()
        .is_some_and(|url| url.starts_with("https:"));
    let (mut head, body) = request.into_parts();
    let path = match &target.way {
        Way::Host => head.uri.path(),
        Way::Path { rest, .. } => rest.as_str(),
    };
    let path = if path.is_empty() { "/" } else { path };
    let uri = match head.uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    head.uri = uri.parse::<Uri>().map_err(|_| Refusal::Path)?;
    head.version = Version::HTTP_11;
    head.extensions = http::Extensions::new();
    headers::to_devbox(
        &mut head.headers,
        &target.way,
        host.as_ref(),
        target.port,
        is_https,
    );
    Ok(Request::from_parts(head, body))
}

async fn connect(tunnel: &OpenTunnel, port: u16) -> Result<TunnelStream, Refusal> {
    let connected = tokio::time::timeout(PATIENCE, tunnel.connect(port)).await;
    let error = match connected {
        Ok(Ok(stream)) => return Ok(stream),
        Ok(Err(error)) => error,
        Err(_) => return Err(Refusal::NoListener(port)),
    };
    Err(match error {
        FleetError::Box(Error::NoListener(port)) => Refusal::NoListener(port),
        FleetError::Refused(refused) => Refusal::NotRunning(tunnel.advice(&refused)),
        FleetError::Box(Error::WrongState { .. } | Error::BoxEnded) => {
            Refusal::NotRunning("the devbox is not running".to_owned())
        }
        error => {
            tracing::warn!(error = %with_causes(&error), "a tunnel leads nowhere");
            Refusal::Unreachable
        }
    })
}

/// Why a request does not pass.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Nothing has this address.
    NoTunnel,
    /// The tunnel is not open to everybody.
    NoToken,
    /// The request has no host, or two.
    Host,
    /// The path cannot be sent on.
    Path,
    /// The request wants to go elsewhere.
    Connect,
    /// Nobody listens on the port.
    NoListener(u16),
    /// The devbox is in another state; the text says which.
    NotRunning(String),
    /// The devbox could not be entered.
    Unreachable,
    /// What listens on the port does not speak HTTP, or went away.
    Broken(u16, hyper::Error),
    /// It changed the protocol without being asked.
    Unasked(u16),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, why) = match self {
            Self::NoTunnel => (StatusCode::NOT_FOUND, "there is no such tunnel".to_owned()),
            Self::NoToken => (
                StatusCode::UNAUTHORIZED,
                "this tunnel wants its token: X-Runloop-Tunnel-Authorization: Bearer …".to_owned(),
            ),
            Self::Host => (
                StatusCode::BAD_REQUEST,
                "the request must name one host, and only one".to_owned(),
            ),
            Self::Path => (
                StatusCode::BAD_REQUEST,
                "this path cannot be sent on".to_owned(),
            ),
            Self::Connect => (
                StatusCode::METHOD_NOT_ALLOWED,
                "CONNECT does not pass a tunnel".to_owned(),
            ),
            Self::NoListener(port) => (
                StatusCode::BAD_GATEWAY,
                format!("nothing listens on port {port} of the devbox"),
            ),
            Self::NotRunning(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
            Self::Unreachable => (
                StatusCode::BAD_GATEWAY,
                "the devbox cannot be reached; the server's log says why".to_owned(),
            ),
            Self::Broken(port, error) => (
                StatusCode::BAD_GATEWAY,
                format!("what listens on port {port} of the devbox broke off: {error}"),
            ),
            Self::Unasked(port) => (
                StatusCode::BAD_GATEWAY,
                format!("what listens on port {port} changed the protocol without being asked"),
            ),
        };
        let text = [
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        (status, text, format!("{why}\n")).into_response()
    }
}
