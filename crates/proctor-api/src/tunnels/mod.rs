//! What passes through tunnels to services in devboxes.
//!
//! A port of a devbox is a host name, `{port}-{key}.{domain}`, where a domain is configured, and a path, `/tunnel/{port}-{key}/`, in any case. A
//! host name under the domain never leads to a route of this server. What a devbox answers below the path is
//! shown in this server's own origin, so browsers are told to treat it as a stranger's, and cookies do not pass.

mod headers;
mod proxy;

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
    routing::{Route, any, future::RouteFuture},
};
use futures::future::{BoxFuture, Either};
use tower::{Layer, Service};

use self::proxy::{Refusal, Target, Way};
use crate::state::ApiState;

/// The route of tunnels by path.
pub(crate) const PATH: &str = "/tunnel/{*rest}";
const PREFIX: &str = "/tunnel/";

/// The routes of tunnels by path.
pub(crate) fn routes(state: ApiState) -> Router {
    Router::new().route(PATH, any(by_path)).with_state(state)
}

/// Where a port is, with `{port}` in its place.
pub(crate) fn url(state: &ApiState, key: &str) -> String {
    let public = state.public_url().unwrap_or_default();
    match state.tunnel_domain() {
        Some(domain) => {
            let scheme = if public.starts_with("http:") {
                "http"
            } else {
                "https"
            };
            format!("{scheme}://{{port}}-{key}.{domain}")
        }
        None => format!("{}{PREFIX}{{port}}-{key}", public.trim_end_matches('/')),
    }
}

/// A port and a key, as they stand in a host name or a path: `8080-4f…`.
fn address(text: &str) -> Option<(u16, &str)> {
    let (port, key) = text.split_once('-')?;
    let is_number = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|_| is_number)?;
    Some((port, key))
}

async fn by_path(State(state): State<ApiState>, request: Request) -> Response {
    // As it was sent: what the devbox gets is not decoded and not tidied up.
    let path = request
        .uri()
        .path()
        .strip_prefix(PREFIX)
        .unwrap_or_default();
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let Some((port, key)) = address(first) else {
        return Refusal::NoTunnel.into_response();
    };
    let target = Target {
        port,
        key: key.to_owned(),
        way: Way::Path {
            prefix: format!("{PREFIX}{first}"),
            rest: format!("/{rest}"),
        },
    };
    proxy::forward(&state, request, target).await
}

/// Takes requests out whose host is a port of a devbox, before any route sees them.
#[derive(Clone)]
pub(crate) struct TunnelLayer(Arc<Doors>);

struct Doors {
    state: ApiState,
    /// With a point before it.
    domain: String,
}

impl TunnelLayer {
    pub(crate) fn new(state: ApiState, domain: &str) -> Self {
        let domain = format!(".{}", domain.to_ascii_lowercase());
        Self(Arc::new(Doors { state, domain }))
    }
}

impl Doors {
    /// What stands before the domain in the host of a request; `None` if the host is another.
    fn label(&self, request: &Request) -> Option<String> {
        let host = headers::host(request)?;
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        name.strip_suffix(&self.domain).map(str::to_owned)
    }
}

impl Layer<Route> for TunnelLayer {
    type Service = TunnelDoor;

    fn layer(&self, route: Route) -> TunnelDoor {
        TunnelDoor {
            doors: Arc::clone(&self.0),
            route,
        }
    }
}

/// A route behind the tunnels.
#[derive(Clone)]
pub(crate) struct TunnelDoor {
    doors: Arc<Doors>,
    route: Route,
}

impl Service<Request> for TunnelDoor {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<RouteFuture<Infallible>, BoxFuture<'static, Result<Response, Infallible>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.route, context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(label) = self.doors.label(&request) else {
            return Either::Left(self.route.call(request));
        };
        let doors = Arc::clone(&self.doors);
        Either::Right(Box::pin(async move {
            let Some((port, key)) = address(&label) else {
                return Ok(Refusal::NoTunnel.into_response());
            };
            let target = Target {
                port,
                key: key.to_owned(),
                way: Way::Host,
            };
            Ok(proxy::forward(&doors.state, request, target).await)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_and_a_key() {
        assert_eq!(address("8080-abc"), Some((8080, "abc")));
        for wrong in [
            "",
            "abc",
            "-abc",
            "0-abc",
            "08-abc",
            "+8-abc",
            "65536-abc",
            "8080abc",
            "8 0-abc",
        ] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }
}
