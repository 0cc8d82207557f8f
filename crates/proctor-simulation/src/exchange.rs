//! Requests and answers as simulators see them: HTTP without a server.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use proctor_core::{
    causes::with_causes,
    problem::{Problem, in_words},
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One request to a simulator.
#[derive(Clone, Debug)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The path below the playground, without a leading slash (`hl7/outbound`,
    /// `portal/prior-auths/pa_1`); still percent-encoded.
    pub path: String,
    /// The query, without the question mark; still percent-encoded.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, empty when there is none.
    pub body: Bytes,
    /// When the request arrived, by the playground's clock.
    pub at: Timestamp,
    /// The address of the playground that was asked, if it is another than the playground's own.
    pub base: Option<String>,
}

impl Request {
    /// A request without headers or body.
    pub fn new(method: Method, target: &str, at: Timestamp) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method,
            path: path.trim_start_matches('/').to_owned(),
            query: query.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            at,
            base: None,
        }
    }

    /// The same request with a JSON body.
    #[must_use]
    pub fn with_json(mut self, body: &Value) -> Self {
        self.headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        self.body = body.to_string().into();
        self
    }

    /// The same request with a body of any kind.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The segments of the path, percent-decoded. A segment that is not UTF-8 is no segment.
    pub fn segments(&self) -> Option<Vec<String>> {
        self.path
            .trim_matches('/')
            .split('/')
            .map(|segment| {
                percent_encoding::percent_decode_str(segment)
                    .decode_utf8()
                    .ok()
                    .map(std::borrow::Cow::into_owned)
            })
            .collect()
    }

    /// The first value of a query parameter, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Refuses parameters that a list does not know, all of them at once: a misspelt one would change nothing.
    pub fn check_parameters(&self, known: &[&str]) -> Result<(), Box<Response>> {
        let mut problems: Vec<Problem> = Vec::new();
        for (name, _) in form_urlencoded::parse(self.query.as_bytes()) {
            let is_told = problems.iter().any(|problem| problem.path == name);
            if !known.contains(&&*name) && !is_told {
                let message = match known {
                    [] => "is no parameter of this list: it has none".to_owned(),
                    known => format!("is no parameter of this list: it has {}", known.join(", ")),
                };
                problems.push(Problem::error(name.into_owned(), message));
            }
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Box::new(Response::invalid(&problems))),
        }
    }

    /// The answer of a list that knows these parameters.
    pub fn listing(&self, known: &[&str], list: impl FnOnce() -> Response) -> Response {
        match self.check_parameters(known) {
            Ok(()) => list(),
            Err(refusal) => *refusal,
        }
    }

    /// The text of a header.
    pub fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as a JSON object; an empty body is an empty object.
    pub fn json(&self) -> Result<Map<String, Value>, Box<Response>> {
        if self.body.trim_ascii().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_slice(&self.body) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err(Box::new(Response::bad_request(
                "the body must be a JSON object",
            ))),
            Err(error) => Err(Box::new(Response::bad_request(format!(
                "the body is not JSON: {error}"
            )))),
        }
    }
}

/// One answer of a simulator.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty when there is none.
    pub body: Bytes,
}

impl Response {
    /// An answer with a status and nothing else.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// An answer with a body of some media type.
    pub fn with_body(
        status: StatusCode,
        content_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        let mut headers = HeaderMap::with_capacity(2);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self {
            status,
            headers,
            body: body.into(),
        }
    }

    /// An answer with a JSON body.
    pub fn json(status: StatusCode, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => Self::with_body(status, "application/json", bytes),
            Err(error) => {
                tracing::error!(error = %with_causes(&error), "an answer could not be written as JSON");
                Self::empty(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    /// The answer with one more header.
    #[must_use]
    pub fn with_header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// A refusal in the shape that all simulators but FHIR share.
    pub fn problem(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self::json(
            status,
            &json!({"error": {"code": code, "message": message, "details": {}}}),
        )
    }

    /// 400, because the request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::problem(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    /// 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::problem(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::problem(StatusCode::CONFLICT, "CONFLICT", message)
    }

    /// 413.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::problem(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message)
    }

    /// 405, naming the methods that are there.
    pub fn wrong_method(request: &Request, allow: &'static str) -> Self {
        Self::problem(
            StatusCode::METHOD_NOT_ALLOWED,
            "METHOD_NOT_ALLOWED",
            format!(
                "{} is not a method of /{}; {allow} are",
                request.method, request.path
            ),
        )
        .with_header(header::ALLOW, HeaderValue::from_static(allow))
    }

    /// 400, because fields are wrong: all of them are named.
    pub fn invalid(problems: &[Problem]) -> Self {
        let mut details: Map<String, Value> = Map::new();
        for problem in problems {
            let messages = details
                .entry(problem.path.clone())
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(messages) = messages {
                messages.push(problem.message.as_str().into());
            }
        }
        Self::json(
            StatusCode::BAD_REQUEST,
            &json!({"error": {
                "code": "VALIDATION_ERROR",
                "message": in_words(problems),
                "details": details,
            }}),
        )
    }
}

impl From<Response> for http::Response<Bytes> {
    fn from(response: Response) -> Self {
        let mut answer = Self::new(response.body);
        *answer.status_mut() = response.status;
        *answer.headers_mut() = response.headers;
        answer
    }
}
