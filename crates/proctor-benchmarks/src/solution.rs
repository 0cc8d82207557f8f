//! How a task is solved, as data: the calls that an agent would make, with values picked from
//! earlier answers.

use std::collections::{BTreeMap, BTreeSet};

use proctor_core::{environment::Entity, problem::Problem};
use proctor_simulation::registry::SimulatorRegistry;
use proctor_verify::unresolved;
use regex::Regex;
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;

/// Names that templates know besides entities and picks.
pub(crate) const NOW: &str = "now";
/// The day of [`NOW`].
pub(crate) const TODAY: &str = "today";

/// The path that advances the clock of the task's world.
pub(crate) const CLOCK_ADVANCE: &str = "clock/advance";

/// The calls of a solution, in order.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    pub(crate) calls: Vec<Call>,
}

/// One call on an endpoint of the run.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Below the run's prefix, with its query: `fhir/Patient?name=Ray`.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Body,
    pub(crate) expect: Vec<u16>,
    pub(crate) pick: BTreeMap<String, Pick>,
}

/// What a call sends.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Nothing,
    Json(Value),
    Text(String),
}

/// Where a value is in an answer.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    /// A JSON path; the whole text without one.
    pub(crate) path: Option<String>,
    /// What to take of it: the first group, or all that matches.
    pub(crate) regex: Option<Regex>,
}

/// A call as authors write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with a 'call'")]
struct WrittenCall {
    call: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Value>,
    text: Option<String>,
    expect: Option<Value>,
    #[serde(default)]
    pick: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a path, or a map with a path and a regex"
)]
struct WrittenPick {
    path: Option<String>,
    regex: Option<String>,
}

impl Solution {
    /// Reads a solution, naming everything that is wrong with it.
    pub(crate) fn read(
        written: &[Value],
        simulators: &SimulatorRegistry,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut calls = Vec::new();
        for (place, value) in written.iter().enumerate() {
            match Call::read(value, simulators) {
                Ok(call) => calls.push(call),
                Err((path, message)) => {
                    // Serde's word for all of it is a dot.
                    let path = path.trim_start_matches('.');
                    problems.push(Problem::error(path, message).below(&place.to_string()));
                }
            }
        }
        if problems.is_empty() {
            Ok(Self { calls })
        } else {
            Err(problems)
        }
    }

    /// Templates that cannot be filled when their turn comes.
    pub(crate) fn unresolved(&self, entities: &[Entity]) -> Vec<Problem> {
        let mut known: BTreeSet<&str> = BTreeSet::from([NOW, TODAY]);
        let mut problems = Vec::new();
        for (place, call) in self.calls.iter().enumerate() {
            let mut test = |field: &str, text: &str| {
                if let Err(message) = unresolved(text, entities, |key| known.contains(key)) {
                    let path = format!("{place}.{field}");
                    problems.push(Problem::error(path, message));
                }
            };
            test("call", &call.path);
            for (name, text) in &call.headers {
                test(&format!("headers.{name}"), text);
            }
            match &call.body {
                Body::Nothing => {}
                Body::Text(text) => test("text", text),
                Body::Json(value) => each_text(value, "body", &mut test),
            }
            known.extend(call.pick.keys().map(String::as_str));
        }
        problems
    }
}

/// Every text in a value, with the path to it.
fn each_text(value: &Value, path: &str, test: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => test(path, text),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                each_text(item, &format!("{path}.{place}"), test);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                each_text(member, &format!("{path}.{name}"), test);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Call {
    /// Reads a call; a refusal says where in it, and why.
    fn read(value: &Value, simulators: &SimulatorRegistry) -> Result<Self, (String, String)> {
        let written: WrittenCall = serde_path_to_error::deserialize(value)
            .map_err(|error| (error.path().to_string(), error.into_inner().to_string()))?;
        let at = |field: &str| {
            let field = field.to_owned();
            move |message: String| (field, message)
        };
        let (method, path) = read_call(&written.call, simulators).map_err(at("call"))?;
        let body = match (written.body, written.text) {
            (None, None) => Body::Nothing,
            (Some(body), None) => Body::Json(body),
            (None, Some(text)) => Body::Text(text),
            (Some(_), Some(_)) => {
                return Err(at("text")("only one of 'body' and 'text'".to_owned()));
            }
        };
        let mut pick = BTreeMap::new();
        for (name, value) in written.pick {
            let read = read_pick(&value).map_err(at(&format!("pick.{name}")))?;
            pick.insert(name, read);
        }
        Ok(Self {
            method,
            path,
            headers: written.headers,
            body,
            expect: read_expected(written.expect.as_ref()).map_err(at("expect"))?,
            pick,
        })
    }
}

/// `POST fhir/Patient`.
fn read_call(text: &str, simulators: &SimulatorRegistry) -> Result<(Method, String), String> {
    let (method, path) = text.trim().split_once(char::is_whitespace).ok_or_else(|| {
        format!("'{text}' is no call: write a method and a path, such as GET fhir/Patient")
    })?;
    let method = match method {
        "GET" => Method::GET,
        "POST" => Method::POST,
        "PUT" => Method::PUT,
        "PATCH" => Method::PATCH,
        "DELETE" => Method::DELETE,
        other => {
            return Err(format!(
                "'{other}' is none of GET, POST, PUT, PATCH, DELETE"
            ));
        }
    };
    let path = path.trim().trim_start_matches('/').to_owned();
    let below = path.split('?').next().unwrap_or_default();
    let is_clock = method == Method::POST && below == CLOCK_ADVANCE;
    if !is_clock && simulators.of_path(below).is_none() {
        return Err(format!("no simulator answers at '{path}'"));
    }
    Ok((method, path))
}

/// A status, or several; none means any success.
fn read_expected(value: Option<&Value>) -> Result<Vec<u16>, String> {
    let status = |value: &Value| {
        let status = value.as_u64().and_then(|status| u16::try_from(status).ok());
        status
            .filter(|status| (100..600).contains(status))
            .ok_or_else(|| format!("{value} is no HTTP status"))
    };
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(all)) => all.iter().map(status).collect(),
        Some(one) => Ok(vec![status(one)?]),
    }
}

fn read_pick(value: &Value) -> Result<Pick, String> {
    let written = match value {
        Value::String(path) => WrittenPick {
            path: Some(path.clone()),
            regex: None,
        },
        other => serde_path_to_error::deserialize(other).map_err(|error| error.to_string())?,
    };
    if let Some(path) = &written.path {
        proctor_verify::pick(&Value::Null, path)?;
    }
    let regex = written.regex.map(|text| Regex::new(&text));
    let regex = regex.transpose().map_err(|error| {
        let said = error.to_string();
        // The last line says why; those before it draw the expression.
        let why = said.lines().last().unwrap_or_default();
        why.trim_start_matches("error: ").to_owned()
    })?;
    if written.path.is_none() && regex.is_none() {
        return Err("needs a path or a regex".to_owned());
    }
    Ok(Pick {
        path: written.path,
        regex,
    })
}

impl Pick {
    /// The value that it means in an answer, or why there is none.
    pub(crate) fn from(&self, answer: &str) -> Result<Value, String> {
        let found = match &self.path {
            None => Value::String(answer.to_owned()),
            Some(path) => {
                let json: Value = serde_json::from_str(answer)
                    .map_err(|error| format!("the answer is no JSON: {error}"))?;
                let found = proctor_verify::pick(&json, path)?;
                found
                    .cloned()
                    .ok_or_else(|| format!("the answer has nothing at '{path}'"))?
            }
        };
        let Some(regex) = &self.regex else {
            return Ok(found);
        };
        let text = match &found {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let captures = regex
            .captures(&text)
            .ok_or_else(|| format!("'{regex}' is not found in the answer"))?;
        let whole = captures.get(0);
        let taken = captures.get(1).or(whole);
        Ok(taken.map_or(Value::Null, |taken| taken.as_str().into()))
    }
}

#[cfg(test)]
mod tests {
    use proctor_engine::Extensions;
    use serde_json::json;

    use super::*;

    fn read(written: &[Value]) -> Result<Solution, Vec<Problem>> {
        Solution::read(written, &Extensions::shipped().simulators)
    }

    #[test]
    fn calls_are_read() {
        let solution = read(&[
            json!({"call": "GET fhir/Patient?name=Ray", "pick": {"id": "entry.0.resource.id"}}),
            json!({"call": "PUT files/out/a.txt", "text": "Seen {{id}} {{now}}", "expect": [200, 201]}),
            json!({"call": "POST clearinghouse/x12", "text": "ISA", "headers": {"accept": "application/edi-x12"},
                   "pick": {"trace": {"regex": "TRN\\*2\\*(\\w+)"}}}),
        ])
        .unwrap();
        assert_eq!(solution.calls.len(), 3);
        assert_eq!(solution.unresolved(&[]), []);
    }

    #[test]
    fn everything_wrong_is_named() {
        let problems = read(&[
            json!({"call": "LOOK fhir/Patient"}),
            json!({"call": "GET moon/phase"}),
            json!({"call": "GET fhir/Patient", "expect": 99}),
            json!({"call": "GET fhir/Patient", "body": {}, "text": ""}),
            json!({"call": "GET fhir/Patient", "pick": {"a": {"regex": "("}}}),
            json!({"call": "GET fhir/Patient", "pick": {"a": "x..y"}}),
            json!({"cal": "GET fhir/Patient"}),
            json!("GET fhir/Patient"),
        ])
        .unwrap_err();
        let told: Vec<String> = problems.iter().map(Problem::to_string).collect();
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_value_must_be_picked_before_it_is_used() {
        let solution = read(&[
            json!({"call": "GET fhir/Patient/{{id}}", "pick": {"id": "id"}}),
            json!({"call": "POST fhir/Patient", "body": {"id": ["{{id}}", "{{other}}"]}}),
        ])
        .unwrap();
        let problems = solution.unresolved(&[]);
        let places: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(places, ["0.call", "1.body.id.1"]);
    }

    #[test]
    fn values_are_picked_by_path_and_expression() {
        let pick = |value: Value, answer: &str| read_pick(&value).unwrap().from(answer);
        let answer = r#"{"data": [{"payload": "MSH|^~\\&|LAB\rOBR|1|A77"}], "n": 5}"#;
        assert_eq!(pick(json!("n"), answer), Ok(json!(5)));
        let order = json!({"path": "data.0.payload", "regex": "OBR\\|1\\|(\\w+)"});
        assert_eq!(pick(order, answer), Ok(json!("A77")));
        assert_eq!(pick(json!({"regex": "M\\w+"}), answer), Ok(json!("MSH")));
        assert!(pick(json!("data.1"), answer).is_err());
        assert!(pick(json!({"regex": "absent"}), answer).is_err());
        assert!(pick(json!("n"), "no JSON").is_err());
    }
}
