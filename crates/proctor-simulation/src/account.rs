//! What is remembered of a request: enough to see what was asked and what became of it.
//!
//! Every simulator tells its events in this shape: `request` (method, path, query, body), `status`,
//! the `error` of a refused one, and behind them what only that simulator knows.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::{
    content::Content,
    exchange::{Request, Response},
    simulator::{Decision, Direction, Recorded},
};

/// Bodies up to this many bytes are kept with the request; of larger ones, only the size. What is
/// stored is told by the simulator that stores it, whatever its size.
const LARGEST_BODY: usize = 1024 * 1024;

impl Recorded {
    /// The account of a request and its answer.
    pub fn request(kind: &'static str, request: &Request, response: &Response) -> Self {
        let mut asked = Map::new();
        asked.insert("method".to_owned(), request.method.as_str().into());
        asked.insert("path".to_owned(), request.path.as_str().into());
        if !request.query.is_empty() {
            asked.insert("query".to_owned(), request.query.as_str().into());
        }
        if request.body.len() > LARGEST_BODY {
            asked.insert("body_size".to_owned(), request.body.len().into());
        } else if !request.body.is_empty() {
            asked.insert("body".to_owned(), body(&request.body));
        }
        let mut payload = Map::new();
        payload.insert("request".to_owned(), Value::Object(asked));
        payload.insert("status".to_owned(), response.status.as_u16().into());
        if let Some(error) = error(response) {
            payload.insert("error".to_owned(), error);
        }
        Self {
            kind,
            direction: Direction::Outbound,
            payload: Value::Object(payload),
        }
    }

    /// Something that came in from outside without being asked for.
    pub fn arrival(kind: &'static str, payload: Value) -> Self {
        Self {
            kind,
            direction: Direction::Inbound,
            payload,
        }
    }

    /// The account with one more thing told.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(payload) = &mut self.payload {
            payload.insert(name.to_owned(), value.into());
        }
        self
    }
}

impl Request {
    /// The request without its body, for events that tell the body in their own way.
    pub fn without_body(&self) -> Self {
        Self {
            body: Bytes::new(),
            ..self.clone()
        }
    }
}

impl<C> Decision<C> {
    /// A request that is answered and changes nothing.
    pub fn answer(kind: &'static str, request: &Request, response: Response) -> Self {
        let event = Recorded::request(kind, request, &response);
        Self::look(response, event)
    }
}

fn body(bytes: &[u8]) -> Value {
    match serde_json::from_slice(bytes) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => Content::of(bytes).told(),
    }
}

fn error(response: &Response) -> Option<Value> {
    if !response.status.is_client_error() && !response.status.is_server_error() {
        return None;
    }
    let told: Value = serde_json::from_slice(&response.body).ok()?;
    Some(told.get("error").cloned().unwrap_or(json!(told)))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use proctor_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_refused_request_is_remembered_with_its_error() {
        let request = Request::new(
            Method::POST,
            "faxes?direction=up",
            Timestamp::from_millis(0),
        )
        .with_json(&json!({"a": 1}));
        let refusal = Response::bad_request("no");
        let event = Recorded::request("fax_request", &request, &refusal).with("more", 5);
        insta::assert_snapshot!(serde_json::to_string_pretty(&event.payload).unwrap());
    }

    #[test]
    fn of_a_large_body_only_the_size_is_remembered() {
        let request = Request::new(Method::POST, "faxes", Timestamp::from_millis(0))
            .with_body(vec![0xff; LARGEST_BODY + 1]);
        let event = Recorded::request("x", &request, &Response::too_large("much"));
        assert_eq!(event.payload["request"]["body_size"], LARGEST_BODY + 1);
        assert_eq!(event.payload["request"].get("body"), None);
        let request = request.with_body(vec![0xff]);
        let event = Recorded::request("x", &request, &Response::too_large("much"));
        assert_eq!(
            event.payload["request"]["body"],
            json!({"content_base64": "/w=="})
        );
    }
}
