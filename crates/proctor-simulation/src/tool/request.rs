//! A call of a tool becomes a request.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderName, HeaderValue, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proctor_core::{
    problem::{Problem, Problems},
    time::Timestamp,
};
use serde_json::{Map, Value};

use super::{Argument, Place, Shape, Tool};
use crate::exchange::Request;

/// What may stand in a segment of a path as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The same where slashes divide segments.
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

impl Tool {
    /// The request that a call with these arguments is; everything that is wrong with them otherwise.
    pub fn request(&self, arguments: &Map<String, Value>) -> Result<Request, Problems> {
        let mut problems = check(self.arguments, arguments);
        let bodies: Vec<&Argument> = self
            .arguments
            .iter()
            .filter(|argument| argument.place.is_body())
            .collect();
        let given = |argument: &&&Argument| is_given(arguments, argument.name);
        match (bodies.as_slice(), bodies.iter().filter(given).count()) {
            ([], _) | ([_], _) | (_, 1) => {}
            ([first, ..], 0) => {
                let names: Vec<_> = bodies.iter().map(|argument| argument.name).collect();
                let message = format!("one of {} is required", names.join(", "));
                problems.push(Problem::error(first.name, message));
            }
            ([first, ..], _) => {
                let names: Vec<_> = bodies.iter().map(|argument| argument.name).collect();
                let message = format!("only one of {} can be given", names.join(", "));
                problems.push(Problem::error(first.name, message));
            }
        }
        Problems::none_of(problems)?;
        let mut problems = Vec::new();
        let mut building = Building::of(self);
        for argument in self.arguments {
            let value = arguments
                .get(argument.name)
                .filter(|value| !value.is_null());
            if let Err(message) = building.add(argument, value) {
                problems.push(Problem::error(argument.name, message));
            }
        }
        Problems::none_of(problems)?;
        Ok(building.finish())
    }
}

/// Everything that is wrong with the arguments of a call, seen against what the tool takes.
pub fn check(known: &[Argument], arguments: &Map<String, Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for argument in known {
        match arguments.get(argument.name) {
            None | Some(Value::Null) if argument.required => {
                problems.push(Problem::error(argument.name, "is required"));
            }
            None | Some(Value::Null) => {}
            Some(value) => {
                if let Err(message) = argument.shape.check(value) {
                    problems.push(Problem::error(argument.name, message));
                }
            }
        }
    }
    for name in arguments.keys() {
        if known.iter().all(|argument| argument.name != name) {
            let names: Vec<_> = known.iter().map(|argument| argument.name).collect();
            let message = match names.is_empty() {
                true => "is not an argument of this tool, which takes none".to_owned(),
                false => format!(
                    "is not an argument of this tool; it takes {}",
                    names.join(", ")
                ),
            };
            problems.push(Problem::error(name, message));
        }
    }
    problems
}

fn is_given(arguments: &Map<String, Value>, name: &str) -> bool {
    arguments.get(name).is_some_and(|value| !value.is_null())
}

impl Shape {
    fn check(self, value: &Value) -> Result<(), String> {
        let wanted = match (self, value) {
            (Self::Text, Value::String(_))
            | (Self::List, Value::Array(_))
            | (Self::Object, Value::Object(_)) => return Ok(()),
            (Self::OneOf(words), Value::String(text)) if words.contains(&text.as_str()) => {
                return Ok(());
            }
            (Self::Integer, Value::Number(number)) if number.is_i64() || number.is_u64() => {
                return Ok(());
            }
            (Self::Texts, Value::Array(all)) if all.iter().all(Value::is_string) => return Ok(()),
            (Self::Text, _) => "must be a text".to_owned(),
            (Self::OneOf(words), _) => format!("must be one of {}", words.join(", ")),
            (Self::Integer, _) => "must be a whole number".to_owned(),
            (Self::Texts, _) => "must be a list of texts".to_owned(),
            (Self::List, _) => "must be a list".to_owned(),
            (Self::Object, _) => "must be an object".to_owned(),
        };
        Err(wanted)
    }
}

/// A request while arguments are put into it.
struct Building {
    request: Request,
    query: form_urlencoded::Serializer<'static, String>,
    members: Option<Map<String, Value>>,
}

impl Building {
    fn of(tool: &Tool) -> Self {
        let has_members = tool
            .arguments
            .iter()
            .any(|argument| matches!(argument.place, Place::Member));
        Self {
            request: Request::new(tool.method.clone(), tool.path, Timestamp::from_millis(0)),
            query: form_urlencoded::Serializer::new(String::new()),
            members: has_members.then(Map::new),
        }
    }

    /// Puts an argument where it belongs. One that is not given leaves an empty place in the path.
    fn add(&mut self, argument: &Argument, value: Option<&Value>) -> Result<(), String> {
        let text = || value.map(plain_text).unwrap_or_default();
        match (argument.place, value) {
            (Place::Segment, Some(_)) => self.fill(argument.name, &segment(&text())?),
            (Place::Path, Some(_)) => self.fill(argument.name, &path(&text())?),
            (Place::Segment | Place::Path, None) => self.fill(argument.name, ""),
            (_, None) => {}
            (Place::Query, Some(_)) => {
                self.query.append_pair(argument.name, &text());
            }
            (Place::Queries, Some(value)) => self.add_queries(value)?,
            (Place::Header(name), Some(_)) => {
                let value = HeaderValue::from_str(&text())
                    .map_err(|_| "holds characters that cannot be sent".to_owned())?;
                let name = HeaderName::from_static(name);
                self.request.headers.insert(name, value);
            }
            (Place::Member, Some(value)) => {
                if let Some(members) = &mut self.members {
                    members.insert(argument.name.to_owned(), value.clone());
                }
            }
            (Place::Json(media_type), Some(value)) => {
                self.set_type(media_type);
                self.request.body = value.to_string().into();
            }
            (Place::Text, Some(_)) => {
                self.set_type("text/plain; charset=utf-8");
                self.request.body = text().into();
            }
            (Place::Base64, Some(_)) => {
                self.set_type("application/octet-stream");
                let bytes = BASE64_STANDARD.decode(text().trim());
                self.request.body = bytes.map_err(|_| "is not base64".to_owned())?.into();
            }
        }
        Ok(())
    }

    fn fill(&mut self, name: &str, text: &str) {
        self.request.path = self.request.path.replace(&format!("{{{name}}}"), text);
    }

    fn add_queries(&mut self, value: &Value) -> Result<(), String> {
        let Value::Object(parameters) = value else {
            return Err("must be an object".to_owned());
        };
        for (name, value) in parameters {
            let values = match value {
                Value::Array(values) => values.as_slice(),
                Value::Null => &[],
                one => std::slice::from_ref(one),
            };
            for value in values {
                if value.is_object() || value.is_array() {
                    return Err(format!(
                        "'{name}' must be a text, a number or a list of them"
                    ));
                }
                self.query.append_pair(name, &plain_text(value));
            }
        }
        Ok(())
    }

    fn set_type(&mut self, media_type: &'static str) {
        let value = HeaderValue::from_static(media_type);
        self.request.headers.insert(header::CONTENT_TYPE, value);
    }

    fn finish(mut self) -> Request {
        self.request.query = self.query.finish();
        match self.members {
            Some(members) => self.request.with_json(&Value::Object(members)),
            None => self.request,
        }
    }
}

/// A value as a path or a query has it.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One segment of a path.
fn segment(text: &str) -> Result<String, String> {
    match text {
        "" => Err("must not be empty".to_owned()),
        "." | ".." => Err(format!("'{text}' cannot stand in a path")),
        text => Ok(utf8_percent_encode(text, SEGMENT).to_string()),
    }
}

/// Several segments. Slashes around them mean nothing.
fn path(text: &str) -> Result<String, String> {
    Ok(utf8_percent_encode(text.trim_matches('/'), PATH).to_string())
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;
    use crate::tool::Effect;

    const TOOL: Tool = Tool {
        name: "shelf_put",
        description: "Puts something on a shelf.",
        effect: Effect::Changes,
        method: Method::PUT,
        path: "shelf/{kind}/{place}",
        arguments: &[
            Argument::required("kind", Shape::Text, Place::Segment, "The kind."),
            Argument::optional("place", Shape::Text, Place::Path, "The place."),
            Argument::optional("filter", Shape::Object, Place::Queries, "A filter."),
            Argument::optional("limit", Shape::Integer, Place::Query, "At most."),
            Argument::optional(
                "revision",
                Shape::Text,
                Place::Header("if-match"),
                "The revision.",
            ),
            Argument::optional("content", Shape::Text, Place::Text, "The content."),
            Argument::optional("content_base64", Shape::Text, Place::Base64, "The content."),
        ],
    };

    fn call(arguments: Value) -> Result<Request, String> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        TOOL.request(&arguments)
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn arguments_go_where_the_tool_says() {
        let request = call(json!({
            "kind": "a/b", "place": "/inbox/x y.txt", "limit": 5, "revision": "W/\"1\"",
            "filter": {"code": ["1", "2"], "n": 3}, "content": "hello",
        }))
        .unwrap();
        assert_eq!(request.path, "shelf/a%2Fb/inbox/x%20y.txt");
        assert_eq!(request.query, "code=1&code=2&n=3&limit=5");
        assert_eq!(request.header("if-match"), Some("W/\"1\""));
        assert_eq!(&request.body[..], b"hello");
        assert_eq!(request.method, Method::PUT);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let refused = call(json!({"limit": "many", "colour": "red", "content": "x"})).unwrap_err();
        assert_eq!(
            refused,
            "kind: is required; limit: must be a whole number; colour: is not an argument of this tool; it takes kind, \
             place, filter, limit, revision, content, content_base64"
        );
        let refused = call(json!({"kind": ".."  , "content": "x"})).unwrap_err();
        assert_eq!(refused, "kind: '..' cannot stand in a path");
    }

    #[test]
    fn a_body_is_given_in_exactly_one_way() {
        let refused = call(json!({"kind": "a"})).unwrap_err();
        assert_eq!(
            refused,
            "content: one of content, content_base64 is required"
        );
        let refused = call(json!({"kind": "a", "content": "", "content_base64": ""})).unwrap_err();
        assert_eq!(
            refused,
            "content: only one of content, content_base64 can be given"
        );
        let request = call(json!({"kind": "a", "content_base64": "AAEC"})).unwrap();
        assert_eq!(&request.body[..], &[0, 1, 2]);
        assert_eq!(
            call(json!({"kind": "a", "content_base64": "%"})).unwrap_err(),
            "content_base64: is not base64"
        );
    }

    #[test]
    fn the_schema_says_what_is_checked() {
        let schema = TOOL.input_schema();
        assert_eq!(schema["required"], json!(["kind"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["limit"]["type"], "integer");
    }
}
