//! The Model Context Protocol over Streamable HTTP, for anything that has tools and an instruction.
//!
//! Owns the protocol and nothing else: what a tool does, and who may call it, is up to the [`Toolbox`] and to whoever calls
//! [`serve`]. The endpoint keeps no sessions. Every request stands for itself, so a restart of the server is not noticed, and any
//! node can answer.

mod handler;

use std::{convert::Infallible, future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, header};
use http_body_util::{Full, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use serde_json::{Map, Value};

use handler::Handler;

/// The address of the resource that holds the instruction.
pub const INSTRUCTION: &str = "proctor://task/instruction";
/// The name of the prompt that holds the instruction.
pub const PROMPT: &str = "task";

/// What an endpoint offers.
#[async_trait]
pub trait Toolbox: Send + Sync + 'static {
    /// What people call the task.
    fn name(&self) -> &str;

    /// What is to be done, as text.
    fn instruction(&self) -> &str;

    /// The tools. The list is short and does not change.
    fn tools(&self) -> &[ToolDescription];

    /// Calls one of the tools.
    async fn call(&self, name: &str, arguments: Map<String, Value>) -> ToolResult;
}

/// A tool as clients are told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDescription {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// A JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// Whether it only looks.
    pub is_read_only: bool,
    /// Whether it may change or remove what is there.
    pub is_destructive: bool,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// What the model reads.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolResult {
    /// The tool did what it was asked.
    pub fn success(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: false,
        }
    }

    /// The tool could not do what it was asked; the text says why.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
        }
    }
}

/// The body of an answer.
pub type Body = BoxBody<Bytes, Infallible>;

/// Answers one request to an endpoint. Whoever sent it has been let in already.
pub fn serve(
    toolbox: Arc<dyn Toolbox>,
    request: http::Request<Bytes>,
) -> Pin<Box<dyn Future<Output = http::Response<Body>> + Send>> {
    Box::pin(async move {
        let config = StreamableHttpServerConfig::default()
            // A bearer token is needed anyway, which a page of another origin does not have.
            .disable_allowed_hosts()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            // The caller has read the body, within its own limit.
            .with_max_request_body_bytes(usize::MAX);
        let handler = Handler(toolbox);
        let mut request = request;
        // Answers are JSON, whatever else a client would take.
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        request.headers_mut().insert(header::ACCEPT, accepted);
        let sessions = Arc::new(NeverSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
        service.handle(request.map(Full::new)).await
    })
}

#[cfg(test)]
mod tests;
