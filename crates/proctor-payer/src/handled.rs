//! How a request was handled, before it becomes a decision with its event.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::header;
use proctor_simulation::{
    exchange::{Request, Response},
    simulator::{Decision, Direction, Recorded},
};
use serde_json::{Map, Value, json};

use super::desk::Change;

/// How a request was handled.
pub(super) struct Handled {
    /// What kind of event it is.
    pub(super) kind: &'static str,
    /// The answer.
    pub(super) response: Response,
    /// What changes.
    pub(super) changes: Vec<Change>,
    /// What the event tells besides request and status.
    pub(super) told: Map<String, Value>,
}

/// A refusal is an answer like any other.
pub(super) type Handling = Result<Handled, Box<Response>>;

impl Handled {
    /// An answer that changes nothing.
    pub(super) fn look(kind: &'static str, response: Response) -> Self {
        Self {
            kind,
            response,
            changes: Vec::new(),
            told: Map::new(),
        }
    }

    /// The same with something more for the event to tell.
    #[must_use]
    pub(super) fn telling(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.told.insert(name.to_owned(), value.into());
        self
    }

    /// The same with a change.
    #[must_use]
    pub(super) fn with(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// The decision about the request, with everything in its event.
    pub(super) fn decide(self, request: &Request) -> Decision<Change> {
        let mut payload = Map::new();
        payload.insert("method".to_owned(), request.method.as_str().into());
        payload.insert("path".to_owned(), request.path.as_str().into());
        if !request.query.is_empty() {
            payload.insert("query".to_owned(), request.query.as_str().into());
        }
        if !request.body.is_empty() {
            payload.insert("request".to_owned(), body_of(request));
        }
        let status = self.response.status;
        payload.insert("status".to_owned(), status.as_u16().into());
        if status.is_client_error()
            && let Ok(Value::Object(mut body)) = serde_json::from_slice(&self.response.body)
            && let Some(error) = body.remove("error")
        {
            payload.insert("error".to_owned(), error);
        }
        payload.extend(self.told);
        Decision {
            response: self.response,
            event: Recorded {
                kind: self.kind,
                direction: Direction::Outbound,
                payload: Value::Object(payload),
            },
            changes: self.changes,
        }
    }
}

/// Whether a request carries an HTML form.
fn is_form(request: &Request) -> bool {
    let kind = request.header(header::CONTENT_TYPE).unwrap_or_default();
    kind.starts_with("application/x-www-form-urlencoded")
}

/// The body as events keep it: JSON, the fields of a form, text, or bytes as base64. A password is
/// not kept, nor what proves that a form is the portal's own.
fn body_of(request: &Request) -> Value {
    if is_form(request) {
        let mut fields = Map::new();
        for (name, value) in form_urlencoded::parse(&request.body) {
            let value = match &*name {
                "password" | "csrf_token" => "(not kept)".into(),
                _ => value.into_owned(),
            };
            match fields.get_mut(&*name) {
                Some(Value::Array(all)) => all.push(value.into()),
                Some(first) => *first = json!([first.clone(), value]),
                None => {
                    fields.insert(name.into_owned(), value.into());
                }
            }
        }
        return Value::Object(fields);
    }
    if let Ok(value) = serde_json::from_slice(&request.body) {
        return value;
    }
    match std::str::from_utf8(&request.body) {
        Ok(text) => text.into(),
        Err(_) => json!({"base64": STANDARD.encode(&request.body)}),
    }
}
