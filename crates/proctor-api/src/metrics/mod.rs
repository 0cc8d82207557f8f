//! The server's numbers, in the text form that Prometheus scrapes.
//!
//! Labels are cheap to make: no text is copied per request. A route is named by its template,
//! never by its path, so that clients cannot grow the number of series.

mod striped;

use std::{
    fmt::{self, Write as _},
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use axum::extract::MatchedPath;
use http::{Method, StatusCode};
use prometheus_client::{
    encoding::{
        EncodeLabel as _, EncodeLabelSet, EncodeLabelValue, LabelSetEncoder, LabelValueEncoder,
        text,
    },
    metrics::family::Family,
    registry::Registry,
};

use self::striped::{Count, Durations, Level};
use crate::dialect::{self, Dialect};

/// All metrics of one server. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    requests: Family<AnswerLabels, Count>,
    durations: Family<RouteLabels, Durations>,
    in_flight: Level,
    connections: Level,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics that have counted nothing.
    pub fn new() -> Self {
        let metrics = Self {
            registry: Arc::default(),
            requests: Family::default(),
            durations: Family::default(),
            in_flight: Level::default(),
            connections: Level::default(),
        };
        metrics.register(|registry| {
            registry.register(
                "http_requests",
                "Answered requests",
                metrics.requests.clone(),
            );
            registry.register(
                "http_request_duration_seconds",
                "Time from a request's head to its answer's head",
                metrics.durations.clone(),
            );
            registry.register(
                "http_requests_in_flight",
                "Requests without an answer yet",
                metrics.in_flight.clone(),
            );
            registry.register(
                "http_connections",
                "Open connections",
                metrics.connections.clone(),
            );
        });
        metrics
    }

    /// Lets another part of the program add its metrics. All names get the prefix `proctor_`.
    pub fn register(&self, register: impl FnOnce(&mut Registry)) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        register(registry.sub_registry_with_prefix("proctor"));
    }

    /// All metrics as OpenMetrics text.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }

    pub(crate) fn connection_opened(&self) -> OpenConnection {
        self.connections.change(1);
        OpenConnection(self.connections.clone())
    }

    pub(crate) fn request_started(&self) {
        self.in_flight.change(1);
    }

    pub(crate) fn request_left(&self) {
        self.in_flight.change(-1);
    }

    /// Counts an answer. `usual` is where its route keeps the series that its answers usually
    /// belong to: found once, they cost no look-up again.
    pub(crate) fn request_answered(
        &self,
        usual: &UsualSeries,
        answered: &Answered<'_>,
        took: Duration,
    ) {
        let find = || {
            let labels = AnswerLabels::of(answered);
            Series {
                durations: self.durations.get_or_create_owned(&labels.route),
                requests: self.requests.get_or_create_owned(&labels),
                labels,
            }
        };
        let known = usual.0.get_or_init(find);
        if known.labels.are_of(answered) {
            known.count(took);
        } else {
            find().count(took);
        }
    }
}

/// What tells answers apart.
pub(crate) struct Answered<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) method: &'a Method,
    pub(crate) route: &'a Route,
    pub(crate) status: StatusCode,
}

/// Where a route keeps the series of its first answer, which most later ones share.
#[derive(Default)]
pub(crate) struct UsualSeries(OnceLock<Series>);

struct Series {
    labels: AnswerLabels,
    durations: Durations,
    requests: Count,
}

impl Series {
    fn count(&self, took: Duration) {
        self.durations.record(took);
        self.requests.increase();
    }
}

/// A connection that is counted as open until this is dropped.
pub(crate) struct OpenConnection(Level);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.change(-1);
    }
}

/// Which route a request took.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    dialect: DialectLabel,
    method: &'static str,
    route: Route,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AnswerLabels {
    route: RouteLabels,
    status: u16,
}

impl AnswerLabels {
    fn of(answered: &Answered<'_>) -> Self {
        Self {
            route: RouteLabels {
                dialect: DialectLabel(answered.dialect),
                method: method_label(answered.method),
                route: answered.route.clone(),
            },
            status: answered.status.as_u16(),
        }
    }

    fn are_of(&self, answered: &Answered<'_>) -> bool {
        self.status == answered.status.as_u16()
            && self.route.dialect.0 == answered.dialect
            && self.route.method == method_label(answered.method)
            && self.route.route == *answered.route
    }
}

impl EncodeLabelSet for AnswerLabels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        self.route.encode(encoder)?;
        ("status", self.status).encode(encoder.encode_label())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DialectLabel(Dialect);

impl EncodeLabelValue for DialectLabel {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(dialect::name(self.0))
    }
}

/// The template of a route, or the lack of one.
#[derive(Clone, Debug)]
pub(crate) struct Route(pub(crate) Option<MatchedPath>);

impl Route {
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_ref().map_or("(none)", MatchedPath::as_str)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}
impl Eq for Route {}
impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}
impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(self.as_str())
    }
}

/// Methods that clients invent are one series.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}
