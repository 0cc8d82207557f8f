//! What an agent did, in its own words: a document in ATIF (Agent Trajectory Interchange Format).
//!
//! It is kept as it was sent, but for credentials that are known by their form. Only what every reader of the format relies on is
//! checked.

use serde_json::Value;

use crate::{
    problem::Problems,
    reader::{Node, Notes, Wording},
};

/// What every revision of the format that we keep begins with.
const VERSION: &str = "ATIF-v1.";
/// Who may have taken a step.
const SOURCES: [(&str, ()); 3] = [("system", ()), ("user", ()), ("agent", ())];
/// What credentials of ours, and keys of common providers, begin with.
const CREDENTIALS: [&str; 5] = ["vk_", "vrl_slv_", "vrl_run_", "vrl_att_", "sk-"];
/// How many characters follow at least.
const SHORTEST: usize = 16;
/// What stands in their place.
const MASK: &str = "***";

/// A trajectory that can be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The document, without credentials.
    pub document: Value,
    /// How many steps it has.
    pub steps: usize,
}

impl Trajectory {
    /// Reads a document; everything that is wrong with it is named.
    pub fn read(mut document: Value) -> Result<Self, Problems> {
        let steps = check(&document)?;
        mask(&mut document);
        Ok(Self { document, steps })
    }
}

fn check(document: &Value) -> Result<usize, Problems> {
    let notes: Notes<'_> = Notes::worded(Wording::Request);
    let root = Node::root(document, &notes);
    let read = root.object().and_then(|object| {
        let version = object.required("schema_version").and_then(|version| {
            let text = version.text()?;
            if !text.starts_with(VERSION) {
                version.refuse(format!(
                    "must be a revision of the format such as {VERSION}7"
                ));
            }
            Some(text)
        });
        let agent = object.required("agent").and_then(|agent| {
            let agent = agent.object()?;
            let name = agent.required("name")?.filled_text();
            let version = agent.required("version")?.text();
            name.zip(version)
        });
        let steps = object.required("steps").and_then(|steps| {
            let all = steps.list()?;
            if all.is_empty() {
                steps.refuse("must have a step");
            }
            for (number, step) in (1_u64..).zip(&all) {
                check_step(step, number);
            }
            Some(all.len())
        });
        version.and(agent).and(steps)
    });
    notes.finish(read)
}

fn check_step(step: &Node<'_>, number: u64) {
    let Some(step) = step.object() else {
        return;
    };
    if let Some(id) = step.required("step_id")
        && id.whole(1..=u64::MAX).is_some_and(|id| id != number)
    {
        id.refuse(format!("must be {number}: steps are numbered from 1"));
    }
    if let Some(source) = step.required("source") {
        source.word(&SOURCES);
    }
    step.required("message");
}

/// Takes credentials out of all texts.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(masked) = masked(text) {
                *text = masked;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::Object(members) => members.values_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text without credentials; none if there are none in it.
fn masked(text: &str) -> Option<String> {
    let mut rest = text;
    let mut masked = String::new();
    while let Some((at, prefix)) = CREDENTIALS
        .iter()
        .filter_map(|prefix| Some((rest.find(prefix)?, *prefix)))
        .min()
    {
        let (before, found) = rest.split_at(at);
        let after = &found[prefix.len()..];
        let length = after
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-')
            .unwrap_or(after.len());
        masked += before;
        masked += prefix;
        // A word that only looks like the beginning of a credential stays.
        let is_word = before.ends_with(|letter: char| letter.is_ascii_alphanumeric());
        match length >= SHORTEST && !is_word {
            true => masked += MASK,
            false => masked += &after[..length],
        }
        rest = &after[length..];
    }
    let is_changed = !masked.is_empty();
    is_changed.then(|| masked + rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1", "more": 1},
            "steps": [{"step_id": 1, "source": "user", "message": "Do it."},
                      {"step_id": 2, "source": "agent", "message": "", "tool_calls": []}]})
    }

    #[test]
    fn a_document_is_kept_with_everything_that_it_says() {
        let read = Trajectory::read(document()).unwrap();
        assert_eq!(read.steps, 2);
        assert_eq!(read.document, document());
    }

    #[test]
    fn what_readers_rely_on_is_checked_and_named_all_at_once() {
        let mut wrong = document();
        wrong["schema_version"] = "v2".into();
        wrong["agent"] = json!({"name": ""});
        wrong["steps"][0]["source"] = "judge".into();
        wrong["steps"][1]["step_id"] = 5.into();
        let refused = Trajectory::read(wrong).unwrap_err().to_string();
        for place in [
            "schema_version",
            "agent.name",
            "steps.0.source",
            "steps.1.step_id",
        ] {
            assert!(refused.contains(place), "{place}: {refused}");
        }
        for wrong in [json!([]), json!({}), json!("x"), json!({"steps": []})] {
            assert!(Trajectory::read(wrong).is_err());
        }
    }

    #[test]
    fn credentials_are_masked_wherever_they_are() {
        for (text, kept) in [
            ("token vrl_run_0123456789abcdefXYZ.", "token vrl_run_***."),
            (
                "vk_0123456789abcdef and sk-ant-0123456789abcdef",
                "vk_*** and sk-***",
            ),
            (
                "task-0123456789abcdefghij stays",
                "task-0123456789abcdefghij stays",
            ),
            ("vk_short stays", "vk_short stays"),
            ("nothing", "nothing"),
        ] {
            let mut document = document();
            document["steps"][1]["message"] = text.into();
            let read = Trajectory::read(document).unwrap();
            assert_eq!(read.document["steps"][1]["message"], kept);
        }
    }
}
