//! What happens around every request, in one service instead of a stack of them.
//!
//! The frame gives the request its id and its span, counts and times it, ends it at the
//! time-out, catches panics, renders problems in the request's dialect, and writes the access
//! log. It sits inside the router (see [`crate::router`]), so it knows the route's template.

use std::{
    collections::HashSet,
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use axum::{
    extract::{MatchedPath, Request},
    response::{IntoResponse as _, Response},
    routing::{Route as AxumRoute, future::RouteFuture},
};
use futures::future::{BoxFuture, Either};
use http::{Method, StatusCode};
use pin_project_lite::pin_project;
use tower::{Layer, Service};
use tracing::{Span, field};

use crate::{
    dialect::{self, Dialect},
    error::{ApiError, ApiErrorKind, render},
    metrics::{Answered, Route, UsualSeries},
    once_only,
    request_id::{REQUEST_ID, RequestId},
    server::PeerAddress,
    state::ApiState,
    telemetry,
};

mod guarded;
mod security;

pub(crate) use guarded::Guarded;

/// In the extensions of an answer to somebody whose credential is not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotLetIn;

/// What all frames of one server share.
pub(crate) struct FrameSettings {
    pub(crate) state: ApiState,
    /// Templates of routes that take the time they need.
    pub(crate) unhurried: HashSet<String>,
    /// Templates of routes whose bodies are never collected.
    pub(crate) streaming: HashSet<String>,
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
            around: Arc::new(Around {
                settings: Arc::clone(&self.0),
                usual: UsualSeries::default(),
            }),
        }
    }
}

/// One route with everything around it.
#[derive(Clone)]
pub(crate) struct Frame {
    route: AxumRoute,
    around: Arc<Around>,
}

/// What requests of one route share: behind one pointer, because every count of a pointer that all threads share
/// is felt in each request.
struct Around {
    settings: Arc<FrameSettings>,
    usual: UsualSeries,
}

impl Service<Request> for Frame {
    type Response = Response;
    type Error = Infallible;
    type Future = Framed;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.route, context)
    }

    fn call(&mut self, mut request: Request) -> Framed {
        let exchange = Exchange::begin(&self.around, &request);
        if exchange.is_page {
            // A page that tells of a problem names the request.
            let id = exchange.id.as_header();
            request.headers_mut().insert(REQUEST_ID, id);
        }
        let time_out = exchange.time_out();
        let answer = match exchange.idempotency_key() {
            None => Either::Left(self.route.call(request)),
            Some(key) => Either::Right(Box::pin(once_only::answer(
                self.around.settings.state.clone(),
                key,
                request,
                self.route.clone(),
                time_out,
            )) as BoxFuture<'static, _>),
        };
        Framed {
            answer: Guarded::new(answer, time_out),
            exchange,
        }
    }
}

/// The answer of a route, or of another request with the same id.
type Answer = Either<RouteFuture<Infallible>, BoxFuture<'static, Result<Response, Infallible>>>;

pin_project! {
    /// The answer on its way out.
    pub(crate) struct Framed {
        #[pin]
        answer: Guarded<Answer>,
        exchange: Exchange,
    }
}

impl Future for Framed {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let span = this.exchange.span.clone();
        let _entered = span.enter();
        let answered = ready!(this.answer.poll(context));
        let response = answered.unwrap_or_else(ApiError::into_response);
        Poll::Ready(Ok(this.exchange.finish(response)))
    }
}

/// One request on its way to an answer.
struct Exchange {
    around: Arc<Around>,
    began: Instant,
    id: RequestId,
    dialect: Dialect,
    is_page: bool,
    method: Method,
    route: Route,
    span: Span,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.around.settings.state.metrics().request_left();
    }
}

impl Exchange {
    fn begin(around: &Arc<Around>, request: &Request) -> Self {
        let state = &around.settings.state;
        let id = RequestId::of(request.headers(), state.ids());
        let path = request.uri().path();
        let dialect = dialect::of_path(path);
        let route = Route(request.extensions().get::<MatchedPath>().cloned());
        let span = request_span(&id, dialect, &route, request);
        state.metrics().request_started();
        Self {
            began: Instant::now(),
            id,
            dialect,
            is_page: dialect::is_page(path),
            method: request.method().clone(),
            route,
            span,
            around: Arc::clone(around),
        }
    }

    fn time_out(&self) -> Option<Duration> {
        let settings = &self.around.settings;
        (!self.is_among(&settings.unhurried)).then(|| settings.state.request_time_out())
    }

    /// The client's own id, when it makes this request one that is done once.
    fn idempotency_key(&self) -> Option<String> {
        match &self.id {
            RequestId::Given(_)
                if self.dialect == Dialect::Runloop
                    && !self.method.is_safe()
                    && self.route.0.is_some()
                    && !self.is_among(&self.around.settings.streaming) =>
            {
                Some(self.id.as_str().to_owned())
            }
            RequestId::Given(_) | RequestId::Fresh(_) => None,
        }
    }

    fn is_among(&self, templates: &HashSet<String>) -> bool {
        !templates.is_empty() && templates.contains(self.route.as_str())
    }

    /// Renders what is still a problem, adds the request's id, counts and logs.
    fn finish(&mut self, mut response: Response) -> Response {
        let mut cause = None;
        if let Some(problem) = response.extensions_mut().remove::<ApiError>() {
            cause = problem.causes();
            response = match self.is_page {
                true => render::page(&problem, self.dialect, self.id.as_str()),
                false => render::response(&problem, self.dialect),
            };
            if matches!(problem.kind(), ApiErrorKind::Unauthorized) {
                response.extensions_mut().insert(NotLetIn);
            }
        }
        let status = response.status();
        if self.is_page && status == StatusCode::UNAUTHORIZED {
            response.extensions_mut().insert(NotLetIn);
        }
        let took = self.began.elapsed();
        self.log(status, took, cause.as_deref());
        security::secure(response.headers_mut());
        response
            .headers_mut()
            .insert(REQUEST_ID, self.id.take_header());
        let answered = Answered {
            dialect: self.dialect,
            method: &self.method,
            route: &self.route,
            status,
        };
        let Around { settings, usual } = &*self.around;
        let metrics = settings.state.metrics();
        metrics.request_answered(usual, &answered, took);
        response
    }

    fn log(&self, status: StatusCode, took: Duration, cause: Option<&str>) {
        telemetry::tell_status(&self.span, status);
        let status = status.as_u16();
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if status == StatusCode::NOT_IMPLEMENTED.as_u16() && cause.is_none() {
            // Nothing broke: somebody wants what is not offered here.
            let request_id = self.id.as_str();
            tracing::warn!(target: "proctor::access", request_id, status, micros, "not offered");
        } else if status >= 500 || cause.is_some() {
            // The id is repeated because the span is logged only where the access log is wanted.
            let request_id = self.id.as_str();
            tracing::error!(target: "proctor::access", request_id, status, micros, cause, "failed");
        } else if is_probe(self.route.as_str()) {
            tracing::trace!(target: "proctor::access", status, micros, "answered");
        } else {
            tracing::debug!(target: "proctor::access", status, micros, "answered");
        }
    }
}

/// Whether any request is logged with the address that it came from.
pub(crate) fn tells_of_peers() -> bool {
    tracing::enabled!(target: "proctor::access", tracing::Level::DEBUG)
}

/// Routes that machines ask every few seconds, not worth a line each.
fn is_probe(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics")
}

fn request_span(id: &RequestId, dialect: Dialect, route: &Route, request: &Request) -> Span {
    macro_rules! span {
        ($level:expr) => {
            tracing::span!(
                target: "proctor::access",
                $level,
                "request",
                "otel.kind" = field::Empty,
                request_id = id.as_str(),
                dialect = field::Empty,
                method = request.method().as_str(),
                route = route.as_str(),
                path = request.uri().path(),
                peer = request
                    .extensions()
                    .get::<PeerAddress>()
                    .map(|PeerAddress(peer)| field::display(peer)),
                organization = field::Empty,
                caller = field::Empty,
                status = field::Empty,
            )
        };
    }
    let span = if is_probe(route.as_str()) {
        span!(tracing::Level::TRACE)
    } else {
        span!(tracing::Level::DEBUG)
    };
    telemetry::continue_trace(&span, dialect, request.headers());
    span
}
