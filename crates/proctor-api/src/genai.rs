//! What agents tell of their work, as spans in OpenTelemetry's conventions for generative AI: an agent that was invoked, the answers of
//! its model, the tools that it used.
//!
//! Spans go to the collector that is configured, and nothing is done without one. They hold names, times and numbers, and never what was said: that is in
//! the trajectory.

use std::time::{Duration, SystemTime};

use opentelemetry::{
    Context, KeyValue,
    trace::{SpanKind, TraceContextExt as _, Tracer as _},
};
use opentelemetry_sdk::trace::SdkTracer;
use proctor_core::{id::kinds::TaskRunId, time::Timestamp, usage::ModelUsage};
use serde_json::Value;

use crate::telemetry;

/// The longest name that is told.
const LONGEST: usize = 200;

/// One span, before it is exported.
#[derive(Clone, Debug, PartialEq)]
struct GenAiSpan {
    operation: &'static str,
    /// What it is about: an agent, a model or a tool.
    subject: String,
    start: Timestamp,
    end: Timestamp,
    attributes: Vec<(&'static str, Attribute)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Attribute {
    Text(String),
    Number(i64),
}

impl GenAiSpan {
    fn new(operation: &'static str, subject: &str, start: Timestamp) -> Self {
        Self {
            operation,
            subject: subject.chars().take(LONGEST).collect(),
            start,
            end: start,
            attributes: Vec::new(),
        }
    }

    fn text(mut self, name: &'static str, value: &str) -> Self {
        if !value.is_empty() {
            let value = value.chars().take(LONGEST).collect();
            self.attributes.push((name, Attribute::Text(value)));
        }
        self
    }

    fn number(mut self, name: &'static str, value: Option<u64>) -> Self {
        if let Some(value) = value.and_then(|value| i64::try_from(value).ok()) {
            self.attributes.push((name, Attribute::Number(value)));
        }
        self
    }

    fn name(&self) -> String {
        match self.subject.is_empty() {
            true => self.operation.to_owned(),
            false => format!("{} {}", self.operation, self.subject),
        }
    }

    fn begin(&self, tracer: &SdkTracer, task_run: TaskRunId, parent: &Context) -> Context {
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", self.operation),
            KeyValue::new("gen_ai.conversation.id", task_run.to_string()),
        ];
        for (name, value) in &self.attributes {
            attributes.push(match value {
                Attribute::Text(text) => KeyValue::new(*name, text.clone()),
                Attribute::Number(number) => KeyValue::new(*name, *number),
            });
        }
        let kind = match self.operation {
            "chat" => SpanKind::Client,
            _ => SpanKind::Internal,
        };
        let span = tracer
            .span_builder(self.name())
            .with_kind(kind)
            .with_start_time(system_time(self.start))
            .with_attributes(attributes);
        let span = tracer.build_with_context(span, parent);
        parent.with_span(span)
    }

    fn end(&self, begun: &Context) {
        begun.span().end_with_timestamp(system_time(self.end));
    }
}

fn system_time(at: Timestamp) -> SystemTime {
    let millis = u64::try_from(at.as_millis()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

/// Tells a collector what the agent of a task run did.
pub(crate) fn tell_trajectory(task_run: TaskRunId, document: &Value, now: Timestamp) {
    let Some(tracer) = telemetry::tracer_of_collector() else {
        return;
    };
    let (agent, steps) = spans_of(document, now);
    let begun = agent.begin(tracer, task_run, &Context::new());
    for step in steps {
        step.end(&step.begin(tracer, task_run, &begun));
    }
    agent.end(&begun);
}

/// Tells a collector what the agent of a task run used up, if it told nothing else.
pub(crate) fn tell_usage(task_run: TaskRunId, reports: &[ModelUsage], now: Timestamp) {
    let Some(tracer) = telemetry::tracer_of_collector() else {
        return;
    };
    for report in reports {
        let span = chat_of_usage(report, now);
        span.end(&span.begin(tracer, task_run, &Context::new()));
    }
}

fn chat_of_usage(report: &ModelUsage, now: Timestamp) -> GenAiSpan {
    let model = report.model.as_deref().unwrap_or_default();
    GenAiSpan::new("chat", model, now)
        .text("gen_ai.request.model", model)
        .number("gen_ai.usage.input_tokens", Some(report.usage.input_tokens))
        .number(
            "gen_ai.usage.output_tokens",
            Some(report.usage.output_tokens),
        )
}

/// The agent of a trajectory, and everything that it did. Steps without a time have that of the one before, at first `now`.
fn spans_of(document: &Value, now: Timestamp) -> (GenAiSpan, Vec<GenAiSpan>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&document["agent"]["name"]);
    let usual_model = text(&document["agent"]["model_name"]);
    let steps = document["steps"].as_array().map_or(&[][..], Vec::as_slice);
    let time = |step: &Value| step["timestamp"].as_str()?.parse::<Timestamp>().ok();
    let first = steps.iter().find_map(time).unwrap_or(now);
    let mut at = first;
    let mut spans: Vec<GenAiSpan> = Vec::new();
    for step in steps {
        let before = at;
        at = time(step).unwrap_or(at).max(before);
        if step["source"] != "agent" {
            continue;
        }
        let model = match text(&step["model_name"]) {
            own if own.is_empty() => usual_model.clone(),
            own => own,
        };
        let metrics = &step["metrics"];
        let mut chat = GenAiSpan::new("chat", &model, before)
            .text("gen_ai.request.model", &model)
            .number(
                "gen_ai.usage.input_tokens",
                metrics["prompt_tokens"].as_u64(),
            )
            .number(
                "gen_ai.usage.output_tokens",
                metrics["completion_tokens"].as_u64(),
            );
        chat.end = at;
        spans.push(chat);
        for call in step["tool_calls"].as_array().into_iter().flatten() {
            let tool = text(&call["function_name"]);
            spans.push(
                GenAiSpan::new("execute_tool", &tool, at)
                    .text("gen_ai.tool.name", &tool)
                    .text("gen_ai.tool.call.id", &text(&call["tool_call_id"])),
            );
        }
    }
    let totals = &document["final_metrics"];
    let mut agent = GenAiSpan::new("invoke_agent", &name, first)
        .text("gen_ai.agent.name", &name)
        .text("gen_ai.request.model", &usual_model)
        .number(
            "gen_ai.usage.input_tokens",
            totals["total_prompt_tokens"].as_u64(),
        )
        .number(
            "gen_ai.usage.output_tokens",
            totals["total_completion_tokens"].as_u64(),
        );
    agent.end = at;
    (agent, spans)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trajectory_is_an_agent_its_answers_and_its_tools() {
        let now = Timestamp::from_millis(5);
        let document = json!({
            "agent": {"name": "clerk", "version": "1", "model_name": "m-1"},
            "steps": [
                {"step_id": 1, "source": "user", "message": "secret words", "timestamp": "2026-04-21T17:00:00Z"},
                {"step_id": 2, "source": "agent", "message": "more words", "timestamp": "2026-04-21T17:00:03Z",
                    "metrics": {"prompt_tokens": 10, "completion_tokens": 2},
                    "tool_calls": [{"tool_call_id": "c1", "function_name": "fhir_read", "arguments": {"id": "x"}}]},
                {"step_id": 3, "source": "agent", "message": "", "model_name": "m-2"},
            ],
            "final_metrics": {"total_prompt_tokens": 10, "total_completion_tokens": 2},
        });
        let (agent, spans) = spans_of(&document, now);
        assert_eq!(agent.name(), "invoke_agent clerk");
        assert_eq!(agent.end.since(agent.start).as_secs(), 3);
        let names: Vec<String> = spans.iter().map(GenAiSpan::name).collect();
        assert_eq!(names, ["chat m-1", "execute_tool fhir_read", "chat m-2"]);
        assert_eq!(spans[0].end.since(spans[0].start).as_secs(), 3);
        assert!(
            spans[0]
                .attributes
                .contains(&("gen_ai.usage.input_tokens", Attribute::Number(10)))
        );
        assert!(
            !format!("{agent:?}{spans:?}").contains("words"),
            "what was said stays here"
        );
    }

    #[test]
    fn a_trajectory_that_says_little_is_told_all_the_same() {
        let now = Timestamp::from_millis(5);
        let (agent, spans) = spans_of(&json!({"steps": [{"source": "agent"}]}), now);
        assert_eq!((agent.name().as_str(), agent.start), ("invoke_agent", now));
        assert_eq!(spans[0].name(), "chat");
        assert!(
            spans[0].attributes.is_empty(),
            "what is not reported is not told as 0"
        );
    }
}
