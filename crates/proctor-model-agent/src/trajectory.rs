//! What an agent did, as ATIF (Agent Trajectory Interchange Format), which Harbor reads.

use std::{
    io,
    path::{Path, PathBuf},
};

use proctor_core::time::Timestamp;
use serde_json::{Value, json};

use crate::{
    conversation::{Answer, Call, CallResult},
    mcp::Tool,
    usage::Usage,
};

/// The revision of the format.
const VERSION: &str = "ATIF-v1.7";
/// What stands where a secret was.
const MASK: &str = "***";

/// A trajectory while it grows.
pub struct Trajectory {
    session: String,
    model: String,
    tools: Vec<Value>,
    steps: Vec<Value>,
    /// What must not be written anywhere.
    secrets: Vec<String>,
    file: Option<PathBuf>,
}

impl Trajectory {
    /// A trajectory in which nothing happened, to be kept in a file.
    pub fn new(
        session: impl Into<String>,
        model: impl Into<String>,
        tools: &[Tool],
        secrets: Vec<String>,
        file: Option<&Path>,
    ) -> Self {
        let tools = tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema,
            }})
        });
        Self {
            session: session.into(),
            model: model.into(),
            tools: tools.collect(),
            steps: Vec::new(),
            secrets: secrets
                .into_iter()
                .filter(|secret| !secret.is_empty())
                .collect(),
            file: file.map(Path::to_owned),
        }
    }

    fn push(&mut self, at: Timestamp, mut step: Value) {
        step["step_id"] = (self.steps.len() + 1).into();
        step["timestamp"] = at.to_string().into();
        self.steps.push(step);
    }

    /// The model is told something.
    pub fn user(&mut self, at: Timestamp, text: &str) {
        self.push(at, json!({"source": "user", "message": text}));
    }

    /// Something happened to the conversation that the model did not do.
    pub fn system(&mut self, at: Timestamp, text: &str, extra: &Value) {
        let step = json!({"source": "system", "message": text, "extra": extra});
        self.push(at, step);
    }

    /// The model answered, and its calls came to something.
    pub fn answer(
        &mut self,
        at: Timestamp,
        answer: &Answer,
        results: &[CallResult],
        usage: &Usage,
    ) {
        let mut step = json!({
            "source": "agent",
            "model_name": self.model,
            "message": answer.text,
            "llm_call_count": 1,
            "metrics": {
                "prompt_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "cached_tokens": usage.cached_tokens,
            },
        });
        if let Some(cost) = usage.cost_usd {
            step["metrics"]["cost_usd"] = cost.into();
        }
        if !answer.reasoning.is_empty() {
            step["reasoning_content"] = answer.reasoning.as_str().into();
        }
        put_calls(&mut step, &answer.calls, results);
        self.push(at, step);
    }

    /// The agent called a tool without asking the model.
    pub fn own_call(&mut self, at: Timestamp, why: &str, call: &Call, result: &CallResult) {
        let mut step = json!({"source": "agent", "message": why, "llm_call_count": 0});
        put_calls(
            &mut step,
            std::slice::from_ref(call),
            std::slice::from_ref(result),
        );
        self.push(at, step);
    }

    /// The whole document, without secrets.
    pub fn document(&self, total: &Usage, ended: &str) -> Value {
        let mut document = json!({
            "schema_version": VERSION,
            "session_id": self.session,
            "agent": {
                "name": "proctor-model-agent",
                "version": env!("CARGO_PKG_VERSION"),
                "model_name": self.model,
                "tool_definitions": self.tools,
            },
            "steps": self.steps,
            "final_metrics": {
                "total_prompt_tokens": total.input_tokens,
                "total_completion_tokens": total.output_tokens,
                "total_cached_tokens": total.cached_tokens,
                "total_steps": self.steps.len(),
            },
            "extra": {"ended": ended},
        });
        if let Some(cost) = total.cost_usd {
            document["final_metrics"]["total_cost_usd"] = cost.into();
        }
        self.mask(&mut document);
        document
    }

    /// Writes what there is so far. A reader sees an old document or this one, never half of one.
    pub fn write(&self, total: &Usage, ended: &str) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        if self.steps.is_empty() {
            return Ok(());
        }
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let part = file.with_file_name(name);
        fs_err::write(&part, self.document(total, ended).to_string())?;
        fs_err::rename(part, file)
    }

    fn mask(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for secret in &self.secrets {
                    if text.contains(secret) {
                        *text = text.replace(secret, MASK);
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask(value)),
            Value::Object(members) => members.values_mut().for_each(|value| self.mask(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn put_calls(step: &mut Value, calls: &[Call], results: &[CallResult]) {
    if calls.is_empty() {
        return;
    }
    let told = calls.iter().map(|call| {
        let mut told = json!({"tool_call_id": call.id, "function_name": call.name});
        match call.arguments() {
            Ok(arguments) => told["arguments"] = Value::Object(arguments),
            // The format wants an object; what the model wrote instead is kept beside it.
            Err(_) => {
                told["arguments"] = json!({});
                told["extra"] = json!({"written": call.written});
            }
        }
        told
    });
    step["tool_calls"] = told.collect();
    let results: Vec<Value> = results
        .iter()
        .map(|result| {
            let mut told = json!({"source_call_id": result.id, "content": result.text});
            if result.is_error {
                told["extra"] = json!({"is_error": true});
            }
            told
        })
        .collect();
    if !results.is_empty() {
        step["observation"] = json!({"results": results});
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_nowhere_in_a_trajectory() {
        let secrets = vec!["s3cret".to_owned(), String::new()];
        let mut trajectory = Trajectory::new("tr_1", "m", &[], secrets, None);
        let at = Timestamp::from_millis(1_776_790_800_000);
        trajectory.user(at, "the key is s3cret!");
        let call = Call {
            id: "c".to_owned(),
            name: "shell".to_owned(),
            written: "{\"command\": \"echo s3cret\"}".to_owned(),
        };
        let answer = Answer {
            calls: vec![call],
            ..Answer::default()
        };
        let result = CallResult {
            id: "c".to_owned(),
            text: "s3cret".to_owned(),
            is_error: true,
        };
        trajectory.answer(at, &answer, &[result], &Usage::default());
        let document = trajectory.document(&Usage::default(), "done");
        let text = document.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(document["steps"][0]["message"], "the key is ***!");
        assert_eq!(
            document["steps"][0]["timestamp"],
            "2026-04-21T17:00:00.000Z"
        );
        assert_eq!(document["steps"][1]["step_id"], 2);
        assert_eq!(document["final_metrics"].get("total_cost_usd"), None);
    }
}
