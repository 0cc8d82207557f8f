use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value, json};

use crate::{INSTRUCTION, ToolDescription, ToolResult, Toolbox, serve};

/// A toolbox with one tool, which says what it was called with.
struct Echo(Vec<ToolDescription>);

impl Echo {
    fn new() -> Arc<Self> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        Arc::new(Self(vec![ToolDescription {
            name: "echo",
            description: "Says what it was called with.",
            input_schema: schema,
            is_read_only: true,
            is_destructive: false,
        }]))
    }
}

#[async_trait]
impl Toolbox for Echo {
    fn name(&self) -> &str {
        "An echo"
    }

    fn instruction(&self) -> &str {
        "Call echo."
    }

    fn tools(&self) -> &[ToolDescription] {
        &self.0
    }

    async fn call(&self, name: &str, arguments: Map<String, Value>) -> ToolResult {
        match arguments.contains_key("fail") {
            true => ToolResult::error("it failed"),
            false => ToolResult::success(format!("{name} {}", Value::Object(arguments))),
        }
    }
}

async fn post(body: &Value) -> (StatusCode, Value) {
    let request = Request::post("/mcp")
        .header(header::HOST, "127.0.0.1")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .body(Bytes::from(body.to_string()))
        .unwrap();
    let answer = serve(Echo::new(), request).await;
    let status = answer.status();
    assert!(answer.headers().get("mcp-session-id").is_none());
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

async fn ask(method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (status, answer) = post(&request).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

#[tokio::test]
async fn every_request_stands_for_itself() {
    let listed = ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "echo");
    let annotations = &listed["result"]["tools"][0]["annotations"];
    assert_eq!(annotations["readOnlyHint"], true);
    let info = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let greeted = ask("initialize", hello).await;
    assert_eq!(greeted["result"]["serverInfo"]["name"], "proctor");
    assert_eq!(greeted["result"]["instructions"], "Call echo.");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&note).await.0, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn numbers_of_arguments_keep_their_digits() {
    let params =
        json!({"name": "echo", "arguments": {"dose": 1.10, "n": 12345678901234567890_u64}});
    let answer = ask("tools/call", params).await;
    assert_eq!(answer["result"]["isError"], false);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, r#"echo {"dose":1.1,"n":12345678901234567890}"#);
}

#[tokio::test]
async fn a_failed_call_is_a_result_and_an_unknown_tool_is_an_error() {
    let failed = ask(
        "tools/call",
        json!({"name": "echo", "arguments": {"fail": 1}}),
    )
    .await;
    assert_eq!(failed["result"]["isError"], true);
    let unknown = ask("tools/call", json!({"name": "shout"})).await;
    assert_eq!(
        unknown["error"]["message"],
        "there is no tool 'shout'; the tools are echo"
    );
}

#[tokio::test]
async fn the_instruction_is_a_resource_and_a_prompt() {
    let read = ask("resources/read", json!({"uri": INSTRUCTION})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "Call echo.");
    let prompt = ask("prompts/get", json!({"name": "task"})).await;
    let message = &prompt["result"]["messages"][0];
    assert_eq!(message["content"]["text"], "Call echo.");
    let missing = ask("resources/read", json!({"uri": "proctor://else"})).await;
    assert!(
        missing["error"]["message"]
            .as_str()
            .unwrap()
            .contains("proctor://task/instruction")
    );
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let (status, _) = post(&json!({"hello": "world"})).await;
    assert!(status.is_client_error(), "{status}");
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    assert!(post(&batch).await.0.is_client_error());
}
