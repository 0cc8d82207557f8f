//! What was said between the model and the task, in the words of no provider.

use serde_json::{Map, Value};

/// One part of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the model is told.
    User(String),
    /// What it answered.
    Model(Answer),
    /// What its calls came to, in their order.
    Results(Vec<CallResult>),
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Its words.
    pub text: String,
    /// What it thought, if the provider says.
    pub reasoning: String,
    /// The tools that it calls.
    pub calls: Vec<Call>,
    /// Why it stopped.
    pub stop: Stop,
}

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// It was done, or calls tools.
    #[default]
    Done,
    /// The answer has as many tokens as it may have.
    Length,
    /// It, or its provider's filter, refuses.
    Refused,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The provider's name for the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them.
    pub written: String,
}

impl Call {
    /// The arguments, or what is wrong with what the model wrote.
    pub fn arguments(&self) -> Result<Map<String, Value>, String> {
        if self.written.trim().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(&self.written) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err("the arguments must be a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments are not JSON: {error}")),
        }
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    /// The call.
    pub id: String,
    /// What the tool said.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// How many of the newest results stay when a conversation is trimmed.
const KEPT: usize = 4;

/// Takes the text out of the older half of the results that still have theirs, except for the newest few. Answers the calls whose
/// results were taken out: none if there was nothing left to take.
pub fn trim(messages: &mut [Message]) -> Vec<String> {
    let mut full: Vec<&mut CallResult> = messages
        .iter_mut()
        .filter_map(|message| match message {
            Message::Results(results) => Some(results),
            Message::User(_) | Message::Model(_) => None,
        })
        .flatten()
        .filter(|result| !result.text.starts_with(TRIMMED))
        .collect();
    let spare = full.len().saturating_sub(KEPT);
    let count = spare.div_ceil(2);
    let mut trimmed = Vec::new();
    for result in full.iter_mut().take(count) {
        let size = result.text.chars().count();
        result.text = format!("{TRIMMED} {size} characters were taken out to make room]");
        trimmed.push(result.id.clone());
    }
    trimmed
}

const TRIMMED: &str = "[an earlier result:";

#[cfg(test)]
mod tests {
    use super::*;

    fn results(count: usize) -> Vec<Message> {
        let result = |number: usize| CallResult {
            id: format!("c{number}"),
            text: "x".repeat(10),
            is_error: false,
        };
        (0..count)
            .map(|number| Message::Results(vec![result(number)]))
            .collect()
    }

    #[test]
    fn the_oldest_results_go_first_and_the_newest_stay() {
        let mut messages = results(8);
        assert_eq!(trim(&mut messages), ["c0", "c1"]);
        assert_eq!(trim(&mut messages), ["c2"]);
        assert_eq!(trim(&mut messages), ["c3"]);
        assert!(trim(&mut messages).is_empty());
        let Message::Results(first) = &messages[0] else {
            panic!("results");
        };
        assert_eq!(
            first[0].text,
            "[an earlier result: 10 characters were taken out to make room]"
        );
    }

    #[test]
    fn arguments_must_be_an_object() {
        let call = |written: &str| Call {
            id: String::new(),
            name: String::new(),
            written: written.to_owned(),
        };
        assert_eq!(call("").arguments(), Ok(Map::new()));
        assert!(call("{\"a\": 1}").arguments().is_ok());
        assert_eq!(
            call("[1]").arguments().unwrap_err(),
            "the arguments must be a JSON object"
        );
        assert!(call("{\"a\": ").arguments().is_err());
    }
}
