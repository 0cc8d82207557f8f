//! A model that plays a script, and a task with a counter.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response},
    routing::post,
};
use proctor_core::time::{ManualClock, Timestamp};
use proctor_model_agent::{
    Agent,
    limits::Limits,
    mcp::Endpoint,
    provider::{Dialect, Model, Retries},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// The token that opens the task.
pub(crate) const TOKEN: &str = "vrl_att_secret";
/// The key of the provider.
pub(crate) const KEY: &str = "sk-secret";

/// What the model's server does with one request.
pub(crate) enum Play {
    /// It streams these events.
    Events(Vec<Value>),
    /// It streams these events and nothing more, as if the connection had ended.
    Cut(Vec<Value>),
    /// It answers with a status, headers and a body.
    Status(u16, Vec<(&'static str, &'static str)>, &'static str),
    /// It answers with a page.
    Page(&'static str),
    /// It never answers.
    Hang,
}

/// Both servers, and what they were asked.
pub(crate) struct Stage {
    pub(crate) dialect: Dialect,
    model: SocketAddr,
    task: SocketAddr,
    pub(crate) asked: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    pub(crate) counter: Arc<Mutex<Counter>>,
    pub(crate) directory: tempfile::TempDir,
    _servers: JoinSet<()>,
}

#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) value: i64,
    pub(crate) completions: u32,
    pub(crate) calls: Vec<String>,
}

#[derive(Clone)]
struct Script {
    plays: Arc<Mutex<VecDeque<Play>>>,
    asked: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    dialect: Dialect,
}

impl Stage {
    pub(crate) async fn new(dialect: Dialect, plays: Vec<Play>) -> Self {
        let asked = Arc::default();
        let counter = Arc::default();
        let script = Script {
            plays: Arc::new(Mutex::new(plays.into())),
            asked: Arc::clone(&asked),
            dialect,
        };
        let model = Router::new()
            .route("/v1/chat/completions", post(play))
            .route("/v1/messages", post(play))
            .with_state(script);
        let task = Router::new()
            .route("/mcp", post(task))
            .with_state(Arc::clone(&counter));
        let mut servers = JoinSet::new();
        Self {
            dialect,
            model: serve(&mut servers, model).await,
            task: serve(&mut servers, task).await,
            asked,
            counter,
            directory: tempfile::tempdir().unwrap(),
            _servers: servers,
        }
    }

    pub(crate) fn agent(&self) -> Agent {
        let base = format!("http://{}/v1/", self.model);
        let key = Some(KEY.to_owned().into());
        let mut model = Model::new(self.dialect, "toy-1", &base, key).unwrap();
        model.retries = Retries {
            tries: 4,
            first: Duration::from_millis(5),
            longest: Duration::from_secs(2),
            silence: Duration::from_secs(20),
        };
        Agent {
            model,
            task: Endpoint::new(format!("http://{}/mcp", self.task), TOKEN.to_owned().into())
                .unwrap(),
            limits: Limits::default(),
            prices: None,
            clock: Arc::new(ManualClock::at(Timestamp::from_millis(1_776_790_800_000))),
            session: "tr_1".to_owned(),
            secrets: vec![TOKEN.to_owned(), KEY.to_owned()],
            trajectory_file: Some(self.path("trajectory.json")),
            usage_file: Some(self.path("usage.jsonl")),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn trajectory(&self) -> Value {
        let text = fs_err::read_to_string(self.path("trajectory.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn usage(&self) -> Vec<Value> {
        let text = fs_err::read_to_string(self.path("usage.jsonl")).unwrap_or_default();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// How often the model was asked.
    pub(crate) fn questions(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

async fn serve(servers: &mut JoinSet<()>, router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    servers.spawn(async move {
        axum::serve(listener, router).await.unwrap();
    });
    address
}

async fn play(State(script): State<Script>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let question = serde_json::from_slice(&body).unwrap();
    script.asked.lock().unwrap().push((headers, question));
    let next = script.plays.lock().unwrap().pop_front();
    let stream = |events: Vec<Value>, end: &str| {
        let mut text = String::new();
        for event in events {
            text += &format!("data: {event}\n\n");
        }
        text += end;
        let answer = Response::builder().header("content-type", "text/event-stream");
        answer.body(Body::from(text)).unwrap()
    };
    match next {
        Some(Play::Events(events)) => match script.dialect {
            Dialect::OpenAi => stream(events, "data: [DONE]\n\n"),
            Dialect::Anthropic => stream(events, "data: {\"type\": \"message_stop\"}\n\n"),
        },
        Some(Play::Cut(events)) => stream(events, ""),
        Some(Play::Status(status, headers, body)) => {
            let mut answer = Response::builder().status(status);
            for (name, value) in headers {
                answer = answer.header(name, value);
            }
            answer.body(Body::from(body)).unwrap()
        }
        Some(Play::Page(page)) => Response::builder()
            .header("content-type", "text/html")
            .body(Body::from(page))
            .unwrap(),
        Some(Play::Hang) => std::future::pending().await,
        None => Response::builder()
            .status(400)
            .body(Body::from("the script is over"))
            .unwrap(),
    }
}

/// The task: add to a counter, then complete.
async fn task(
    State(counter): State<Arc<Mutex<Counter>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    if headers["authorization"] != format!("Bearer {TOKEN}") {
        let refused = Response::builder().status(401);
        return refused.body(Body::from("who are you?")).unwrap();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    let params = &message["params"];
    let result = match message["method"].as_str().unwrap() {
        "prompts/get" => json!({"messages": [{"role": "user", "content":
            {"type": "text", "text": format!("Make it 5. Your token is {TOKEN}.")}}]}),
        "tools/list" => json!({"tools": [
            {"name": "add", "description": "Adds.", "inputSchema": {"type": "object",
                "properties": {"number": {"type": "integer"}}, "required": ["number"]}},
            {"name": "complete", "description": "Ends.", "inputSchema": {"type": "object"}}]}),
        "tools/call" => call(&mut counter.lock().unwrap(), params),
        other => panic!("{other} is not spoken here"),
    };
    let mut answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    if result.is_null() {
        let error = json!({"code": -32602, "message": "there is no such tool"});
        answer = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
    }
    Response::new(Body::from(answer.to_string()))
}

fn call(counter: &mut Counter, params: &Value) -> Value {
    let name = params["name"].as_str().unwrap();
    counter.calls.push(name.to_owned());
    let (text, is_error) = match (name, params["arguments"]["number"].as_i64()) {
        ("add", Some(number)) => {
            counter.value += number;
            (format!("{}", counter.value), false)
        }
        ("add", None) => ("number: is required".to_owned(), true),
        ("complete", _) => {
            counter.completions += 1;
            (json!({"score": 1.0}).to_string(), false)
        }
        _ => return Value::Null,
    };
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

/// Events of OpenAI's interface.
pub(crate) mod openai {
    use super::{Value, json};

    pub(crate) fn delta(delta: &Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    pub(crate) fn stop(reason: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    pub(crate) fn usage(input: u64, output: u64) -> Value {
        json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": 2}}})
    }

    /// An answer that calls tools; each call comes in two parts.
    pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Vec<Value> {
        let mut events = Vec::new();
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            let (first, second) = arguments.split_at(arguments.len() / 2);
            events.push(delta(
                &json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": first}}]}),
            ));
            events.push(delta(
                &json!({"tool_calls": [{"index": index, "function": {"arguments": second}}]}),
            ));
        }
        events.push(stop("tool_calls"));
        events.push(usage(10, 5));
        events
    }

    /// An answer in words.
    pub(crate) fn says(text: &str, reason: &str) -> Vec<Value> {
        vec![delta(&json!({"content": text})), stop(reason), usage(10, 5)]
    }
}

/// Events of Anthropic's interface.
pub(crate) mod anthropic {
    use super::{Value, json};

    fn begin() -> Value {
        json!({"type": "message_start", "message": {"usage":
            {"input_tokens": 8, "cache_read_input_tokens": 2, "output_tokens": 1}}})
    }

    fn end(reason: &str) -> Value {
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
    }

    pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Vec<Value> {
        let mut events = vec![begin()];
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            let (first, second) = arguments.split_at(arguments.len() / 2);
            events.push(json!({"type": "content_block_start", "index": index,
                "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}));
            for part in [first, second] {
                events.push(json!({"type": "content_block_delta", "index": index,
                    "delta": {"type": "input_json_delta", "partial_json": part}}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        events.push(end("tool_use"));
        events
    }

    pub(crate) fn says(text: &str, reason: &str) -> Vec<Value> {
        let delta = json!({"type": "text_delta", "text": text});
        vec![
            begin(),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            end(reason),
        ]
    }
}
