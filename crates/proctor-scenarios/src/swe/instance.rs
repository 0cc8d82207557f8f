//! Reading instances: a list, one object, or one a line.

use serde_json::{Map, Value};

/// One instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its name.
    pub id: String,
    /// The repository, as `owner/name`.
    pub repo: String,
    /// The commit to start from; the repository's newest without it.
    pub base_commit: Option<String>,
    /// What the agent is told.
    pub problem_statement: String,
    /// What repairs the fault (or makes it, in SWE-smith).
    pub patch: String,
    /// The tests that came with the repair; may be empty.
    pub test_patch: String,
    /// Tests that must pass after the repair and did not before.
    pub fail_to_pass: Vec<String>,
    /// Tests that must pass after the repair and did before.
    pub pass_to_pass: Vec<String>,
    /// The version of the repository, if it is said.
    pub version: Option<String>,
    /// What was said about the problem before it was repaired.
    pub hints: Option<String>,
}

/// What is wrong with a text of instances, each fault with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct BadInstances(pub Vec<String>);

/// Reads instances: a JSON list, or objects one after the other.
pub fn read_instances(text: &str) -> Result<Vec<Instance>, BadInstances> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value {
            Ok(Value::Array(items)) => values.extend(items),
            Ok(value) => values.push(value),
            Err(error) => return Err(BadInstances(vec![error.to_string()])),
        }
    }
    let mut problems = Vec::new();
    let mut instances = Vec::new();
    for (place, value) in values.iter().enumerate() {
        match read(value) {
            Ok(instance) => instances.push(instance),
            Err(found) => {
                let at = |problem| format!("instance {}: {problem}", place + 1);
                problems.extend(found.into_iter().map(at));
            }
        }
    }
    if problems.is_empty() {
        Ok(instances)
    } else {
        Err(BadInstances(problems))
    }
}

fn read(value: &Value) -> Result<Instance, Vec<String>> {
    let Value::Object(map) = value else {
        return Err(vec!["must be an object".to_owned()]);
    };
    let mut problems = Vec::new();
    let mut needed = |name: &str| {
        let text = text(map, name);
        if text.is_none() {
            problems.push(format!("{name} is required and must be a text"));
        }
        text.unwrap_or_default()
    };
    let instance = Instance {
        id: needed("instance_id"),
        repo: needed("repo"),
        problem_statement: needed("problem_statement"),
        patch: needed("patch"),
        base_commit: text(map, "base_commit"),
        test_patch: text(map, "test_patch").unwrap_or_default(),
        version: text(map, "version"),
        hints: text(map, "hints_text").filter(|hints| !hints.trim().is_empty()),
        fail_to_pass: Vec::new(),
        pass_to_pass: Vec::new(),
    };
    let mut tests = |name: &str| match names(map.get(name)) {
        Some(names) => names,
        None => {
            problems.push(format!(
                "{name} must be a list of tests, or such a list as JSON"
            ));
            Vec::new()
        }
    };
    let (fail_to_pass, pass_to_pass) = (tests("FAIL_TO_PASS"), tests("PASS_TO_PASS"));
    if fail_to_pass.is_empty() && problems.is_empty() {
        problems.push("FAIL_TO_PASS is empty: nothing would tell a repair from none".to_owned());
    }
    if problems.is_empty() {
        Ok(Instance {
            fail_to_pass,
            pass_to_pass,
            ..instance
        })
    } else {
        Err(problems)
    }
}

fn text(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name)?.as_str().map(str::to_owned)
}

/// A list of texts, or one that is written as JSON in a text.
fn names(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn instance(id: &str) -> Value {
        json!({
            "instance_id": id, "repo": "a/b", "base_commit": "c", "problem_statement": "p", "patch": "d",
            "test_patch": "t", "FAIL_TO_PASS": ["x::y"], "PASS_TO_PASS": "[]", "hints_text": " ",
        })
    }

    #[test]
    fn a_list_and_a_line_each_are_the_same() {
        let lines = format!("{}\n{}\n", instance("1"), instance("2"));
        let list = json!([instance("1"), instance("2")]).to_string();
        let read = read_instances(&lines).unwrap();
        assert_eq!(read, read_instances(&list).unwrap());
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].hints, None);
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        let text = format!(
            "{}\n{}\n3",
            json!({"instance_id": "x", "FAIL_TO_PASS": 3}),
            json!({"instance_id": "x", "repo": "a/b", "problem_statement": "p", "patch": "d", "FAIL_TO_PASS": "[]", "PASS_TO_PASS": []})
        );
        let BadInstances(problems) = read_instances(&text).unwrap_err();
        assert_eq!(
            problems,
            [
                "instance 1: repo is required and must be a text",
                "instance 1: problem_statement is required and must be a text",
                "instance 1: patch is required and must be a text",
                "instance 1: FAIL_TO_PASS must be a list of tests, or such a list as JSON",
                "instance 1: PASS_TO_PASS must be a list of tests, or such a list as JSON",
                "instance 2: FAIL_TO_PASS is empty: nothing would tell a repair from none",
                "instance 3: must be an object",
            ]
        );
        assert!(read_instances("{").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_fail_otherwise_than_by_saying_so(text in "[\\[\\]{}\",:a-z0-9]{0,40}") {
            let _ = read_instances(&text);
        }
    }
}
