//! A client of the Model Context Protocol that says one message after the other.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::support::{Answer, TestServer};

/// An endpoint and the credential that opens it.
pub(crate) struct Mcp<'s> {
    server: &'s TestServer,
    path: String,
    token: String,
}

impl<'s> Mcp<'s> {
    pub(crate) fn new(server: &'s TestServer, path: String, token: &str) -> Self {
        Self {
            server,
            path,
            token: token.to_owned(),
        }
    }

    fn request(&self, body: &Value) -> RequestBuilder {
        self.server
            .post(&self.path)
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18")
            .body(body.to_string())
    }

    /// The answer to a message, whatever it is.
    pub(crate) async fn post(&self, method: &str, params: Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        Answer::of(self.request(&message).send().await.unwrap()).await
    }

    /// What a method answers that is not refused.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.body["error"], Value::Null, "{}", answer.body);
        answer.body["result"].clone()
    }

    /// What a call of a tool says, and whether it failed.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> (String, bool) {
        let params = json!({"name": name, "arguments": arguments});
        let result = self.ask("tools/call", params).await;
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (text, result["isError"].as_bool().unwrap())
    }

    /// What a call says that succeeds with JSON.
    pub(crate) async fn does(&self, name: &str, arguments: Value) -> Value {
        let (text, failed) = self.call(name, arguments).await;
        assert!(!failed, "{name}: {text}");
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    /// Why a call failed.
    pub(crate) async fn fails(&self, name: &str, arguments: Value) -> String {
        let (text, failed) = self.call(name, arguments).await;
        assert!(failed, "{name}: {text}");
        text
    }

    /// The names of all tools.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }
}
