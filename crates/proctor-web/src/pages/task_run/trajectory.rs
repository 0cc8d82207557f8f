//! What an agent told of itself (ATIF): its steps, with tool calls folded. It is the agent's own word, beside what was observed.

use proctor_core::usage::ModelUsage;
use serde_json::Value;

use crate::{
    html::{self, Html},
    query::Params,
};

/// How many steps are on a page.
const A_PAGE: usize = 100;
/// How much of a text is shown.
const LONGEST: usize = 20_000;

/// A part of a trajectory.
pub(crate) struct TrajectoryView {
    pub(crate) agent: Html,
    pub(crate) steps: Vec<StepView>,
    pub(crate) total: usize,
    pub(crate) from: usize,
    /// What was used up, by model.
    pub(crate) usage: Vec<(Html, String)>,
    params: Params,
}

/// A step.
pub(crate) struct StepView {
    pub(crate) number: usize,
    pub(crate) source: &'static str,
    pub(crate) model: Option<Html>,
    pub(crate) at: Option<Html>,
    pub(crate) message: Html,
    pub(crate) reasoning: Option<Html>,
    pub(crate) calls: Vec<CallView>,
    /// What came back that belongs to no call.
    pub(crate) observed: Vec<Html>,
}

/// A tool call, with what came back.
pub(crate) struct CallView {
    pub(crate) name: Html,
    pub(crate) summary: Html,
    pub(crate) arguments: Html,
    pub(crate) result: Option<Html>,
}

impl TrajectoryView {
    /// The steps from a number on, counted from 1.
    pub(crate) fn of(document: &Value, usage: &[ModelUsage], params: &Params) -> Self {
        let from = params.number("step");
        let from = from
            .and_then(|step| usize::try_from(step).ok())
            .unwrap_or(1);
        let steps = document["steps"].as_array().map_or(&[][..], Vec::as_slice);
        let begin = from.saturating_sub(1).min(steps.len());
        let name = document["agent"]["name"].as_str().unwrap_or("an agent");
        let version = document["agent"]["version"].as_str().unwrap_or_default();
        let shown = steps.iter().enumerate().skip(begin).take(A_PAGE);
        Self {
            agent: html::short(format!("{name} {version}"), 120),
            steps: shown.map(|(place, step)| view(place + 1, step)).collect(),
            total: steps.len(),
            from: begin + 1,
            usage: usage.iter().map(used).collect(),
            params: params.clone(),
        }
    }

    /// The address of the next part.
    pub(crate) fn next(&self) -> Option<String> {
        let next = self.from + self.steps.len();
        (next <= self.total).then(|| self.link(next))
    }

    /// The address of the part before.
    pub(crate) fn previous(&self) -> Option<String> {
        (self.from > 1).then(|| self.link(self.from.saturating_sub(A_PAGE).max(1)))
    }

    fn link(&self, step: usize) -> String {
        self.params.link_with("step", &step.to_string())
    }
}

/// What a model was used for.
fn used(report: &ModelUsage) -> (Html, String) {
    let usage = &report.usage;
    let cost = match usage.cost_usd {
        Some(cost) => format!("${cost:.4}"),
        None => "cost not reported".to_owned(),
    };
    let told = format!(
        "{} tokens read ({} from a cache), {} written, {cost}",
        html::count(usage.input_tokens),
        html::count(usage.cached_tokens),
        html::count(usage.output_tokens)
    );
    let model = report.model.as_deref().unwrap_or("a model");
    (html::short(model, 80), told)
}

fn view(number: usize, step: &Value) -> StepView {
    let results = step["observation"]["results"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let calls = step["tool_calls"].as_array().into_iter().flatten();
    let of_call = |result: &&Value, id: &Value| !id.is_null() && result["source_call_id"] == *id;
    let calls: Vec<&Value> = calls.collect();
    let is_known = |result: &&Value| {
        calls
            .iter()
            .any(|call| of_call(result, &call["tool_call_id"]))
    };
    StepView {
        number,
        source: match step["source"].as_str() {
            Some("user") => "user",
            Some("agent") => "agent",
            _ => "system",
        },
        model: step["model_name"]
            .as_str()
            .map(|name| html::short(name, 60)),
        at: step["timestamp"].as_str().map(|at| html::short(at, 30)),
        message: text(&step["message"]),
        reasoning: step["reasoning_content"]
            .as_str()
            .filter(|text| !text.trim().is_empty())
            .map(|text| html::short_lines(text, LONGEST)),
        calls: calls
            .iter()
            .map(|call| CallView {
                name: html::short(call["function_name"].as_str().unwrap_or("a tool"), 80),
                summary: html::short(plain(&call["arguments"]), 120),
                arguments: match &call["arguments"] {
                    Value::String(text) => html::short_lines(text, LONGEST),
                    other => html::json(other),
                },
                result: results
                    .iter()
                    .find(|result| of_call(result, &call["tool_call_id"]))
                    .map(|result| text(&result["content"])),
            })
            .collect(),
        observed: results
            .iter()
            .filter(|result| !is_known(result))
            .map(|result| text(&result["content"]))
            .collect(),
    }
}

/// The words of a message: a text, or parts of which some are texts.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part["text"].as_str() {
                Some(text) => text.to_owned(),
                None => part.to_string(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

fn text(value: &Value) -> Html {
    html::short_lines(plain(value), LONGEST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_stand_beside_their_calls_and_nothing_becomes_markup() {
        let document = json!({"agent": {"name": "<b>a", "version": "1"}, "steps": [
            {"step_id": 1, "source": "user", "message": "<script>"},
            {"step_id": 2, "source": "agent", "message": [{"type": "text", "text": "hm"}],
             "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls <x>"}}],
             "observation": {"results": [{"source_call_id": "c1", "content": "a\nb"}, {"content": "loose"}]}},
        ]});
        let view = TrajectoryView::of(&document, &[], &Params::default());
        assert_eq!(view.agent.as_str(), "&lt;b&gt;a 1");
        assert_eq!(view.steps[0].message.as_str(), "&lt;script&gt;");
        let call = &view.steps[1].calls[0];
        assert_eq!(call.result.as_ref().unwrap().as_str(), "a\nb");
        assert!(call.arguments.as_str().contains("ls &lt;x&gt;"));
        assert_eq!(view.steps[1].observed[0].as_str(), "loose");
        assert_eq!((view.next(), view.previous()), (None, None));
        for broken in [json!(null), json!({"steps": [1, {"tool_calls": 7}]})] {
            let view = TrajectoryView::of(&broken, &[], &Params::read(Some("step=9")));
            assert!(view.steps.is_empty());
        }
    }
}
