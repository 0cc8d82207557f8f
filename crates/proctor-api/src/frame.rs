//! What happens around every request, in one service instead of a stack of them.
//!
//! The frame gives the request its id and its span, counts and times it, ends it at the
//! time-out, catches panics, renders problems in the request's dialect, and writes the access
//! log. It sits inside the router (see [`crate::router`]), so it knows the route's template.

use std::{
    any::Any,
    collections::HashSet,
    convert::Infallible,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    extract::{MatchedPath, Request},
    response::Response,
    routing::Route as AxumRoute,
};
use futures::{
    FutureExt as _,
    future::{BoxFuture, Future},
};
use http::{HeaderMap, Method, StatusCode};
use proctor_core::id::IdSource;
use tower::{Layer, Service};
use tracing::{Instrument as _, Span, field};

use crate::{
    dialect::{self, Dialect},
    metrics::{Metrics, Route, RouteLabels},
    problem::{Problem, ProblemKind, render},
    request_id::{REQUEST_ID, RequestId},
    server::PeerAddress,
    telemetry,
};

/// What all frames of one server share.
pub(crate) struct FrameSettings {
    pub(crate) metrics: Metrics,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) time_out: Duration,
    /// Templates of routes that take the time they need.
    pub(crate) unhurried: HashSet<String>,
}

/// Puts a [`Frame`] around every route.
#[derive(Clone)]
pub(crate) struct FrameLayer(Arc<FrameSettings>);

impl FrameLayer {
    pub(crate) fn new(settings: FrameSettings) -> Self {
        Self(Arc::new(settings))
    }
}

impl Layer<AxumRoute> for FrameLayer {
    type Service = Frame;

    fn layer(&self, route: AxumRoute) -> Frame {
        Frame {
            route,
            settings: Arc::clone(&self.0),
        }
    }
}

/// One route with everything around it.
#[derive(Clone)]
pub(crate) struct Frame {
    route: AxumRoute,
    settings: Arc<FrameSettings>,
}

impl Service<Request> for Frame {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.route, context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let exchange = Exchange::begin(&self.settings, &request);
        let time_out = exchange.time_out(&self.settings);
        let answer = self.route.call(request);
        let span = exchange.span.clone();
        let framed = async move {
            let response = match guarded(answer, time_out).await {
                Ok(response) => response,
                Err(problem) => render::response(&problem, exchange.dialect),
            };
            Ok(exchange.finish(response))
        };
        if span.is_disabled() {
            Box::pin(framed)
        } else {
            Box::pin(framed.instrument(span))
        }
    }
}

/// The route's response; a time-out or a panic as a problem.
async fn guarded(
    answer: impl Future<Output = Result<Response, Infallible>>,
    time_out: Option<Duration>,
) -> Result<Response, Problem> {
    let caught = AssertUnwindSafe(answer).catch_unwind();
    let ended = match time_out {
        Some(limit) => match tokio::time::timeout(limit, caught).await {
            Ok(ended) => ended,
            Err(_) => {
                return Err(Problem::new(
                    ProblemKind::TimedOut,
                    format!("no answer within {} seconds", limit.as_secs_f64()),
                ));
            }
        },
        None => caught.await,
    };
    match ended {
        Ok(Ok(response)) => Ok(response),
        Err(panic) => {
            tracing::error!(panic = panic_text(&*panic), "a handler panicked");
            Err(Problem::internal_without_cause())
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "(not a text)",
    }
}

/// One request on its way to an answer.
struct Exchange {
    settings: Arc<FrameSettings>,
    began: Instant,
    id: RequestId,
    dialect: Dialect,
    method: Method,
    route: Route,
    span: Span,
    _in_flight: crate::metrics::GaugeGuard,
}

impl Exchange {
    fn begin(settings: &Arc<FrameSettings>, request: &Request) -> Self {
        let id = RequestId::of(request.headers(), &*settings.ids);
        let path = request.uri().path();
        let dialect = dialect::of_path(path);
        let route = Route(request.extensions().get::<MatchedPath>().cloned());
        let span = request_span(&id, dialect, &route, request);
        Self {
            began: Instant::now(),
            id,
            dialect,
            method: request.method().clone(),
            route,
            span,
            _in_flight: settings.metrics.request_started(),
            settings: Arc::clone(settings),
        }
    }

    fn time_out(&self, settings: &FrameSettings) -> Option<Duration> {
        let unhurried =
            !settings.unhurried.is_empty() && settings.unhurried.contains(self.route.as_str());
        (!unhurried).then_some(settings.time_out)
    }

    /// Renders what is still a problem, adds the request's id, counts and logs.
    fn finish(self, mut response: Response) -> Response {
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            response = render_and_log(&problem, self.dialect, response.headers());
        }
        let status = response.status();
        let took = self.began.elapsed();
        self.log(status, took);
        response
            .headers_mut()
            .insert(REQUEST_ID, self.id.into_header());
        self.settings.metrics.request_answered(
            RouteLabels::new(self.dialect, &self.method, self.route),
            status,
            took,
        );
        response
    }

    fn log(&self, status: StatusCode, took: Duration) {
        self.span.record("status", status.as_u16());
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if status.is_server_error() {
            tracing::error!(target: "proctor::access", status = status.as_u16(), micros, "answered");
        } else if is_probe(self.route.as_str()) {
            tracing::debug!(target: "proctor::access", status = status.as_u16(), micros, "answered");
        } else {
            tracing::info!(target: "proctor::access", status = status.as_u16(), micros, "answered");
        }
    }
}

/// The rendered problem with the headers that the route had set, such as `Allow`.
fn render_and_log(problem: &Problem, dialect: Dialect, set: &HeaderMap) -> Response {
    if let Some(cause) = problem.cause_chain() {
        tracing::error!(cause, "a request failed");
    }
    let mut rendered = render::response(problem, dialect);
    for (name, value) in set {
        if !rendered.headers().contains_key(name) {
            rendered.headers_mut().insert(name, value.clone());
        }
    }
    rendered
}

/// Routes that machines ask every few seconds, not worth a line each.
fn is_probe(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics")
}

fn request_span(id: &RequestId, dialect: Dialect, route: &Route, request: &Request) -> Span {
    macro_rules! span {
        ($level:expr) => {
            tracing::span!(
                $level,
                "request",
                "otel.kind" = "server",
                request_id = id.as_str(),
                dialect = dialect::name(dialect),
                method = request.method().as_str(),
                route = route.as_str(),
                path = request.uri().path(),
                peer = field::Empty,
                organization = field::Empty,
                caller = field::Empty,
                status = field::Empty,
            )
        };
    }
    let span = if is_probe(route.as_str()) {
        span!(tracing::Level::DEBUG)
    } else {
        span!(tracing::Level::INFO)
    };
    if !span.is_disabled() {
        if let Some(PeerAddress(peer)) = request.extensions().get() {
            span.record("peer", field::display(peer));
        }
        telemetry::continue_trace(&span, request.headers());
    }
    span
}
