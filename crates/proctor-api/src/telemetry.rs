//! Logs and traces: where they go and in which form.
//!
//! Logs go to standard error, as lines for people or as JSON. Traces go to an OpenTelemetry
//! collector over OTLP/HTTP when an address is configured. [`install`] is called once, by the
//! binary.

use std::{
    io::{self, IsTerminal as _},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, StatusCode};
use opentelemetry::{
    propagation::{Extractor, TextMapPropagator as _},
    trace::TracerProvider as _,
};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{
    EnvFilter, Layer, Registry, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::dialect::{self, Dialect};
use proctor_core::causes::with_causes;

/// What logs look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Where logs and traces go.
#[derive(Clone, Debug)]
pub struct TelemetryOptions {
    /// What is logged, in the words of `RUST_LOG`. Requests that were answered are logged by
    /// `proctor::access=debug`, probes by `proctor::access=trace`, failures always.
    pub filter: String,
    /// What it looks like.
    pub format: LogFormat,
    /// The collector's base address, such as `http://localhost:4318`; no traces without.
    pub otlp_endpoint: Option<String>,
    /// The name under which traces are collected.
    pub service_name: String,
}

impl Default for TelemetryOptions {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Text,
            otlp_endpoint: None,
            service_name: "proctor".to_owned(),
        }
    }
}

/// Why logs or traces could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is not one.
    #[error("the log filter is not understood")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The exporter cannot be built.
    #[error("traces cannot be exported")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
    /// Logs were set up before.
    #[error("logs are already set up")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Keeps the export going; [`Telemetry::shutdown`] sends what is left.
#[must_use = "spans are lost unless `shutdown` is called at the end"]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Sends the spans that still wait, and stops. Blocks for a few seconds at most.
    pub fn shutdown(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown_with_timeout(Duration::from_secs(3))
        {
            tracing::warn!(error = %with_causes(&error), "the last traces were not exported");
        }
    }
}

/// What a collector receives: everything worth a word, and every request.
const EXPORTED: &str = "info,proctor::access=debug";

/// The SDK of the Model Context Protocol warns of every mistake of a client, which is the client's business. Whoever wants to
/// read that names `rmcp` in the filter.
const WITHOUT_SDK: &str = "rmcp=off";

/// Sets up logs and traces for the whole process.
pub fn install(options: &TelemetryOptions) -> Result<Telemetry, TelemetryError> {
    let mut logged = EnvFilter::try_new(&options.filter)?;
    if !options.filter.contains("rmcp") {
        logged = logged.add_directive(WITHOUT_SDK.parse()?);
    }
    let traces = trace_provider(options)?;
    // Each has a filter of its own: requests are traced whether or not they are logged.
    let exported = match &traces {
        Some(traces) => {
            let layer = tracing_opentelemetry::layer().with_tracer(tracer(traces));
            Some(layer.with_filter(EnvFilter::try_new(EXPORTED)?))
        }
        None => None,
    };
    Registry::default()
        .with(exported)
        .with(log_layer(options.format).with_filter(logged))
        .try_init()?;
    EXPORTING.store(traces.is_some(), Ordering::Relaxed);
    if let Some(traces) = &traces {
        // There is one collector for a process.
        let _ = COLLECTOR.set(tracer(traces));
    }
    Ok(Telemetry { traces })
}

fn log_layer<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    match format {
        LogFormat::Text => fmt::layer()
            .with_ansi(io::stderr().is_terminal())
            .with_writer(io::stderr)
            .boxed(),
        LogFormat::Json => fmt::layer()
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .with_writer(io::stderr)
            .boxed(),
    }
}

/// The provider that exports to the configured collector.
fn trace_provider(options: &TelemetryOptions) -> Result<Option<SdkTracerProvider>, TelemetryError> {
    let Some(endpoint) = &options.otlp_endpoint else {
        return Ok(None);
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(Duration::from_secs(5))
        .build()?;
    Ok(Some(
        SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(
                Resource::builder()
                    .with_service_name(options.service_name.clone())
                    .build(),
            )
            .build(),
    ))
}

fn tracer(traces: &SdkTracerProvider) -> SdkTracer {
    traces.tracer("proctor")
}

/// Whether spans go anywhere but to the log. What only a collector reads is left out otherwise.
static EXPORTING: AtomicBool = AtomicBool::new(false);

/// What spans are made with whose times are not now.
static COLLECTOR: OnceLock<SdkTracer> = OnceLock::new();

/// What makes spans for the collector, if there is one.
pub(crate) fn tracer_of_collector() -> Option<&'static SdkTracer> {
    COLLECTOR.get()
}

/// Tells a collector what the log can do without, and makes `span` a child of the client's span
/// when the request names one.
pub(crate) fn continue_trace(span: &Span, dialect: Dialect, headers: &HeaderMap) {
    if !EXPORTING.load(Ordering::Relaxed) {
        return;
    }
    tracing::record_all!(
        span,
        "otel.kind" = "server",
        dialect = dialect::name(dialect)
    );
    if headers.contains_key("traceparent") {
        let parent = TraceContextPropagator::new().extract(&HeaderCarrier(headers));
        if let Err(error) = span.set_parent(parent) {
            tracing::debug!(error = %with_causes(&error), "a span cannot join the client's trace");
        }
    }
}

/// Puts the answer's status on the span. The log has it on the line of the answer.
pub(crate) fn tell_status(span: &Span, status: StatusCode) {
    if EXPORTING.load(Ordering::Relaxed) {
        span.record("status", status.as_u16());
    }
}

struct HeaderCarrier<'h>(&'h HeaderMap);

impl Extractor for HeaderCarrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}
