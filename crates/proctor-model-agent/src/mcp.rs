//! The task, behind its MCP endpoint.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

/// The revision of the protocol that is spoken.
const VERSION: &str = "2025-06-18";
/// How long a call of a tool may take. Tools have limits of their own; this one is for endpoints that do not answer at all.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// How much of an answer that is not understood is shown.
const SHOWN: usize = 200;

/// A client of one endpoint.
pub struct Endpoint {
    client: Client,
    url: String,
    token: SecretString,
}

/// A tool of the task.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// Why the task could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The connection failed.
    #[error("the task's MCP endpoint cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// It answered with something else than MCP.
    #[error("the task's MCP endpoint answered with {status}: {body}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The beginning of the body.
        body: String,
    },
    /// It refused a method.
    #[error("the task's MCP endpoint refused {method}: {message}")]
    Method {
        /// What was asked.
        method: String,
        /// Why it was refused.
        message: String,
    },
}

impl Endpoint {
    /// The endpoint at this address, for whoever has this token.
    pub fn new(url: impl Into<String>, token: SecretString) -> Result<Self, reqwest::Error> {
        Ok(Self {
            client: Client::builder().no_proxy().timeout(PATIENCE).build()?,
            url: url.into(),
            token,
        })
    }

    /// What is to be done.
    pub async fn instruction(&self) -> Result<String, EndpointError> {
        let prompt = self.ask("prompts/get", json!({"name": "task"})).await?;
        let text = &prompt["messages"][0]["content"]["text"];
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// The tools.
    pub async fn tools(&self) -> Result<Vec<Tool>, EndpointError> {
        let listed = self.ask("tools/list", json!({})).await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tools = listed["tools"].as_array().into_iter().flatten();
        let told = tools.map(|tool| Tool {
            name: text(&tool["name"]),
            description: text(&tool["description"]),
            schema: tool["inputSchema"].clone(),
        });
        Ok(told.collect())
    }

    /// Calls a tool: what it says, and whether that is an error.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<(String, bool), EndpointError> {
        let params = json!({"name": name, "arguments": arguments});
        let result = match self.ask("tools/call", params).await {
            Ok(result) => result,
            // A tool that is not there is the model's mistake.
            Err(EndpointError::Method { message, .. }) => return Ok((message, true)),
            Err(other) => return Err(other),
        };
        let parts = result["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
        let is_error = result["isError"].as_bool().unwrap_or(false);
        Ok((texts.join("\n"), is_error))
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, EndpointError> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self
            .client
            .post(&self.url)
            .bearer_auth(self.token.expose_secret())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", VERSION)
            .body(message.to_string())
            .send()
            .await
            .map_err(EndpointError::Unreachable)?;
        let status = answer.status();
        let body = answer.text().await.map_err(EndpointError::Unreachable)?;
        let refused = || EndpointError::Refused {
            status,
            body: body.chars().take(SHOWN).collect(),
        };
        if !status.is_success() {
            return Err(refused());
        }
        let mut answer: Value = serde_json::from_str(&body).map_err(|_| refused())?;
        if let Some(message) = answer["error"]["message"].as_str() {
            return Err(EndpointError::Method {
                method: method.to_owned(),
                message: message.to_owned(),
            });
        }
        Ok(answer["result"].take())
    }
}
