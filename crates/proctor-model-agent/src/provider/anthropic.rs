//! `messages`, as Anthropic has it.

use std::collections::BTreeMap;

use reqwest::RequestBuilder;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{Broken, Incoming, Question};
use crate::{
    conversation::{Answer, Call, Message, Stop},
    usage::Usage,
};

/// The revision of the interface.
const VERSION: &str = "2023-06-01";

pub(super) fn authorize(request: RequestBuilder, key: Option<&SecretString>) -> RequestBuilder {
    let request = request.header("anthropic-version", VERSION);
    match key {
        Some(key) => request.header("x-api-key", key.expose_secret()),
        None => request,
    }
}

pub(super) fn body(model: &str, question: &Question<'_>) -> Value {
    let messages: Vec<Value> = question.messages.iter().map(told).collect();
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
        })
        .collect();
    json!({
        "model": model,
        "messages": messages,
        "tools": tools,
        "max_tokens": question.longest,
        "stream": true,
    })
}

fn told(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Model(answer) => {
            let mut blocks = Vec::new();
            if !answer.text.is_empty() {
                blocks.push(json!({"type": "text", "text": answer.text}));
            }
            for call in &answer.calls {
                // What is not an object cannot be said back; the result tells the model what was wrong.
                let input = call.arguments().unwrap_or_default();
                blocks.push(
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}),
                );
            }
            json!({"role": "assistant", "content": blocks})
        }
        Message::Results(results) => {
            let blocks = results.iter().map(|result| {
                json!({"type": "tool_result", "tool_use_id": result.id,
                       "content": result.text, "is_error": result.is_error})
            });
            json!({"role": "user", "content": blocks.collect::<Vec<_>>()})
        }
    }
}

pub(super) async fn read(mut incoming: Incoming) -> Result<(Answer, Usage), Broken> {
    if !incoming.is_stream() {
        let whole = incoming.whole().await?;
        return Err(Broken::unreadable(&whole.to_string()));
    }
    let mut reading = Reading::default();
    while let Some(data) = incoming.next().await? {
        let event: Value = serde_json::from_str(&data).map_err(|_| Broken::unreadable(&data))?;
        if event["type"] == "message_stop" {
            return Ok(reading.finish());
        }
        reading.take(&event)?;
    }
    Err(Broken::Cut)
}

/// An answer while it comes.
#[derive(Default)]
struct Reading {
    answer: Answer,
    calls: BTreeMap<u64, Call>,
    usage: Usage,
}

impl Reading {
    fn take(&mut self, event: &Value) -> Result<(), Broken> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.take_usage(&event["message"]["usage"]),
            "content_block_start" => {
                let block = &event["content_block"];
                match block["type"].as_str() {
                    Some("tool_use") => {
                        let call = Call {
                            id: text(&block["id"]),
                            name: text(&block["name"]),
                            written: String::new(),
                        };
                        self.calls.insert(index, call);
                    }
                    Some("text") => self.answer.text += &text(&block["text"]),
                    _ => {}
                }
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                self.answer.text += &text(&delta["text"]);
                self.answer.reasoning += &text(&delta["thinking"]);
                if let Some(call) = self.calls.get_mut(&index) {
                    call.written += &text(&delta["partial_json"]);
                }
            }
            "message_delta" => {
                self.take_usage(&event["usage"]);
                match event["delta"]["stop_reason"].as_str() {
                    Some("max_tokens") => self.answer.stop = Stop::Length,
                    Some("refusal") => self.answer.stop = Stop::Refused,
                    _ => {}
                }
            }
            // Providers that are overloaded say so in the middle of a stream too.
            "error" => {
                let said = super::shown(&event["error"].to_string());
                return Err(Broken::Connection(said));
            }
            _ => {}
        }
        Ok(())
    }

    /// Numbers of later events replace earlier ones: they are totals.
    fn take_usage(&mut self, usage: &Value) {
        let number = |name: &str| usage[name].as_u64();
        if let Some(fresh) = number("input_tokens") {
            let cached = number("cache_read_input_tokens").unwrap_or_default();
            let stored = number("cache_creation_input_tokens").unwrap_or_default();
            self.usage.input_tokens = fresh + cached + stored;
            self.usage.cached_tokens = cached;
        }
        if let Some(written) = number("output_tokens") {
            self.usage.output_tokens = written;
        }
    }

    fn finish(mut self) -> (Answer, Usage) {
        self.answer.calls = self.calls.into_values().collect();
        (self.answer, self.usage)
    }
}
