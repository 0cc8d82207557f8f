//! `chat/completions`, as OpenAI has it and many others.

use std::collections::BTreeMap;

use reqwest::RequestBuilder;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{Broken, Incoming, Question};
use crate::{
    conversation::{Answer, Call, Message, Stop},
    usage::Usage,
};

pub(super) fn authorize(request: RequestBuilder, key: Option<&SecretString>) -> RequestBuilder {
    match key {
        Some(key) => request.bearer_auth(key.expose_secret()),
        None => request,
    }
}

pub(super) fn body(model: &str, question: &Question<'_>) -> Value {
    let messages: Vec<Value> = question.messages.iter().flat_map(told).collect();
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema,
            }})
        })
        .collect();
    json!({
        "model": model,
        "messages": messages,
        "tools": tools,
        "max_completion_tokens": question.longest,
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

fn told(message: &Message) -> Vec<Value> {
    match message {
        Message::User(text) => vec![json!({"role": "user", "content": text})],
        Message::Model(answer) => {
            let mut told = json!({"role": "assistant", "content": answer.text});
            if !answer.calls.is_empty() {
                let calls = answer.calls.iter().map(|call| {
                    json!({"id": call.id, "type": "function",
                           "function": {"name": call.name, "arguments": call.written}})
                });
                told["tool_calls"] = calls.collect();
            }
            vec![told]
        }
        Message::Results(results) => results
            .iter()
            .map(|result| {
                let content = match result.is_error {
                    true => format!("error: {}", result.text),
                    false => result.text.clone(),
                };
                json!({"role": "tool", "tool_call_id": result.id, "content": content})
            })
            .collect(),
    }
}

pub(super) async fn read(mut incoming: Incoming) -> Result<(Answer, Usage), Broken> {
    let mut reading = Reading::default();
    if !incoming.is_stream() {
        let whole = incoming.whole().await?;
        let Some(choice) = whole["choices"].get(0) else {
            return Err(Broken::unreadable(&whole.to_string()));
        };
        reading.take(&json!({"choices": [{"delta": choice["message"],
            "finish_reason": choice["finish_reason"]}], "usage": whole["usage"]}))?;
        return reading.finish();
    }
    while let Some(data) = incoming.next().await? {
        if data.trim() == "[DONE]" {
            return reading.finish();
        }
        let chunk = serde_json::from_str(&data).map_err(|_| Broken::unreadable(&data))?;
        reading.take(&chunk)?;
    }
    // Some providers end without [DONE]; what counts is that the model said why it stopped.
    reading.finish()
}

/// An answer while it comes.
#[derive(Default)]
struct Reading {
    answer: Answer,
    calls: BTreeMap<u64, Call>,
    usage: Usage,
    has_stopped: bool,
}

impl Reading {
    fn take(&mut self, chunk: &Value) -> Result<(), Broken> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(Broken::Connection(super::shown(&error.to_string())));
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let usage = &chunk["usage"];
        if usage.is_object() {
            let number = |value: &Value| value.as_u64().unwrap_or_default();
            self.usage = Usage {
                input_tokens: number(&usage["prompt_tokens"]),
                cached_tokens: number(&usage["prompt_tokens_details"]["cached_tokens"]),
                output_tokens: number(&usage["completion_tokens"]),
                cost_usd: None,
            };
        }
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        self.answer.text += &text(&delta["content"]);
        self.answer.reasoning += &text(&delta["reasoning_content"]);
        if let Some(refusal) = delta["refusal"].as_str().filter(|said| !said.is_empty()) {
            self.answer.text += refusal;
            self.answer.stop = Stop::Refused;
        }
        let calls = delta["tool_calls"].as_array().into_iter().flatten();
        for (place, part) in calls.enumerate() {
            let index = part["index"].as_u64().unwrap_or(place as u64);
            let call = self.calls.entry(index).or_insert_with(|| Call {
                id: String::new(),
                name: String::new(),
                written: String::new(),
            });
            call.id += &text(&part["id"]);
            call.name += &text(&part["function"]["name"]);
            call.written += &text(&part["function"]["arguments"]);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.has_stopped = true;
            match reason {
                "length" => self.answer.stop = Stop::Length,
                "content_filter" => self.answer.stop = Stop::Refused,
                _ => {}
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(Answer, Usage), Broken> {
        if !self.has_stopped {
            return Err(Broken::Cut);
        }
        for (index, mut call) in self.calls {
            if call.id.is_empty() {
                call.id = format!("call_{index}");
            }
            self.answer.calls.push(call);
        }
        Ok((self.answer, self.usage))
    }
}
