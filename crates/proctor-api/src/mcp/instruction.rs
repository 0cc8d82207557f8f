//! What a model is told of a task.

use proctor_core::definition::Task;
use serde_json::{Map, Value};

/// The members of a brief that hold what is to be done, in words.
const IN_WORDS: [&str; 3] = ["instructions", "instruction", "problem_statement"];

/// What is to be done, and how to end it.
pub(super) fn instruction(task: &Task) -> String {
    let said = match &task.brief {
        Value::Null => task.name.clone(),
        Value::String(text) => text.clone(),
        Value::Object(members) => of_members(members),
        other => pretty(other),
    };
    format!(
        "{}\n\nWork with the tools. Call `complete` once, when you are done: nothing can be changed after it.",
        said.trim_end()
    )
}

/// The words of a brief, and whatever else it says.
fn of_members(members: &Map<String, Value>) -> String {
    let words = IN_WORDS
        .iter()
        .find_map(|&name| Some((name, members.get(name)?.as_str()?)));
    let Some((name, text)) = words else {
        return pretty(members);
    };
    let rest: Map<String, Value> = members
        .iter()
        .filter(|(member, value)| *member != name && !value.is_null())
        .map(|(member, value)| (member.clone(), value.clone()))
        .collect();
    match rest.is_empty() {
        true => text.to_owned(),
        false => format!("{}\n\n{}", text.trim_end(), pretty(&rest)),
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(brief: Value) -> String {
        let Value::Object(members) = brief else {
            panic!("an object");
        };
        of_members(&members)
    }

    #[test]
    fn the_words_come_first_and_nothing_is_left_out() {
        assert_eq!(told(json!({"problem_statement": "Fix it.\n"})), "Fix it.\n");
        assert_eq!(
            told(json!({"instructions": "Do it.", "you_can_use": ["fhir"], "none": null})),
            "Do it.\n\n{\n  \"you_can_use\": [\n    \"fhir\"\n  ]\n}"
        );
        assert_eq!(told(json!({"a": 1})), "{\n  \"a\": 1\n}");
    }
}
