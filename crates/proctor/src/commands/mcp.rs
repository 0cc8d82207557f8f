//! `proctor mcp`: the MCP endpoint of a task run, for clients that start a program and speak with it over standard input and output.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use proctor_core::causes::with_causes;
use reqwest::{Client, StatusCode, header};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    exit::{Exit, WrongUse},
    terminal,
};

/// How long an answer is waited for. Tools have limits of their own.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// The member of a request's `_meta` that names the protocol's revision.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The code of JSON-RPC for a server that failed.
const INTERNAL: i64 = -32603;
/// The code of JSON-RPC for what is not JSON.
const UNREADABLE: i64 = -32700;
/// How much of an answer that is not understood is shown.
const SHOWN: usize = 300;

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The endpoint: …/v1/task-runs/ID/mcp or …/v1/scenarios/runs/ID/mcp
    #[arg(long, value_name = "URL", env = "PROCTOR_MCP_URL")]
    pub(crate) url: String,
    /// The token or key that opens it
    #[arg(
        long,
        value_name = "TOKEN",
        env = "PROCTOR_TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: SecretString,
}

pub(crate) async fn run(arguments: Mcp) -> anyhow::Result<Exit> {
    if !arguments.url.starts_with("http://") && !arguments.url.starts_with("https://") {
        let message = format!(
            "--url: '{}' is not an address that begins with http:// or https://",
            arguments.url
        );
        return Err(WrongUse(message).into());
    }
    let bridge = Arc::new(Bridge {
        client: Client::builder().timeout(PATIENCE).build()?,
        arguments,
        version: Mutex::default(),
    });
    let mut lines = standard_input();
    let mut messages = JoinSet::new();
    while let Some(line) = lines.recv().await {
        let line = line.context("standard input cannot be read")?;
        if line.trim().is_empty() {
            continue;
        }
        let bridge = Arc::clone(&bridge);
        // A long call must not hold up the others.
        messages.spawn(async move { bridge.pass(&line).await });
        while messages.try_join_next().is_some() {}
    }
    while messages.join_next().await.is_some() {}
    Ok(Exit::Fine)
}

/// The lines of standard input. A thread of its own reads them: a read that waits must not keep the program from ending.
fn standard_input() -> mpsc::Receiver<io::Result<String>> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

struct Bridge {
    client: Client,
    arguments: Mcp,
    /// The revision that was agreed upon, once it was.
    version: Mutex<Option<String>>,
}

impl Bridge {
    /// Sends a message, and prints its answer on one line.
    async fn pass(&self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            print(&failure(&Value::Null, UNREADABLE, "this line is not JSON"));
            return;
        };
        let id = message.get("id").cloned();
        match self.send(&message).await {
            Ok(Some(answer)) => print(&answer),
            Ok(None) => {}
            Err(said) => match id {
                Some(id) => print(&failure(&id, INTERNAL, &said)),
                None => eprintln!("{said}"),
            },
        }
    }

    async fn send(&self, message: &Value) -> Result<Option<Value>, String> {
        let mut request = self
            .client
            .post(&self.arguments.url)
            .bearer_auth(self.arguments.token.expose_secret())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        for (name, value) in self.headers(message) {
            request = request.header(name, value);
        }
        let unreachable = |error: reqwest::Error| {
            format!("the server cannot be reached: {}", with_causes(&error))
        };
        let answer = request
            .body(message.to_string())
            .send()
            .await
            .map_err(unreachable)?;
        let status = answer.status();
        let body = answer.text().await.map_err(unreachable)?;
        if status == StatusCode::ACCEPTED || body.is_empty() {
            return Ok(None);
        }
        let read: Option<Value> = serde_json::from_str(&body).ok();
        match read {
            // Refusals of the protocol come with an error status, and are answers.
            Some(answer) if answer.get("jsonrpc").is_some() => {
                self.notice(&answer);
                Ok(Some(answer))
            }
            Some(answer) => Err(refusal(status, &answer, &body)),
            None => Err(refusal(status, &Value::Null, &body)),
        }
    }

    /// What the protocol says again in headers.
    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let params = &message["params"];
        let own = params["_meta"][VERSION].as_str().map(str::to_owned);
        let Some(own) = own else {
            let agreed = self.version.lock().unwrap_or_else(PoisonError::into_inner);
            let agreed = agreed.clone();
            return agreed
                .map(|version| ("mcp-protocol-version", version))
                .into_iter()
                .collect();
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let name = text(&params["name"]).or_else(|| text(&params["uri"]));
        [
            Some(("mcp-protocol-version", own)),
            text(&message["method"]).map(|method| ("mcp-method", method)),
            name.map(|name| ("mcp-name", name)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn notice(&self, answer: &Value) {
        if let Some(version) = answer["result"]["protocolVersion"].as_str() {
            let mut agreed = self.version.lock().unwrap_or_else(PoisonError::into_inner);
            *agreed = Some(version.to_owned());
        }
    }
}

/// Why the server did not answer with a message: in its own words, if it has some.
fn refusal(status: StatusCode, answer: &Value, body: &str) -> String {
    let verial = answer["error"]["message"].as_str();
    let said = verial.or_else(|| answer["message"].as_str());
    match said {
        Some(said) => format!("{status}: {said}"),
        None => format!("{status}: {}", body.chars().take(SHOWN).collect::<String>()),
    }
}

fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// One message, one line.
fn print(message: &Value) {
    terminal::print(format_args!("{message}\n"));
}
