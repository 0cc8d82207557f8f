//! The public HTTP API as its clients see it.

use reqwest::{Client, Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// A server, and the key to it.
#[derive(Clone)]
pub struct Api {
    http: Client,
    server: String,
    key: SecretString,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The server's address is no address.
    #[error("'{0}' is no address of a server: write http://… or https://…")]
    BadAddress(String),
    /// Nobody answered.
    #[error("the server at {server} does not answer")]
    Unreachable {
        /// The address.
        server: String,
        /// Why.
        source: reqwest::Error,
    },
    /// The server said no.
    #[error("{method} {path}: {status}: {message}")]
    Refused {
        /// What was asked.
        method: Method,
        /// Of what.
        path: String,
        /// The answer's status.
        status: StatusCode,
        /// The reasons, in words.
        message: String,
    },
    /// The answer is not what the API says it is.
    #[error("{method} {path}: the answer is not as expected: {problem}")]
    Odd {
        /// What was asked.
        method: Method,
        /// Of what.
        path: String,
        /// What is odd.
        problem: String,
    },
}

impl ApiError {
    /// The status of a refusal.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::BadAddress(_) | Self::Unreachable { .. } | Self::Odd { .. } => None,
        }
    }
}

/// An answer as it came.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl Api {
    /// The server at an address, with a key of any class.
    pub fn new(server: &str, key: SecretString) -> Result<Self, ApiError> {
        let bad = || ApiError::BadAddress(server.to_owned());
        let address = reqwest::Url::parse(server).map_err(|_| bad())?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(bad());
        }
        Ok(Self {
            http: Client::new(),
            server: server.trim_end_matches('/').to_owned(),
            key,
        })
    }

    /// The same server with another key.
    pub fn with_key(&self, key: SecretString) -> Self {
        Self {
            key,
            ..self.clone()
        }
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What the server answers to a question.
    pub async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.json(Method::GET, path, None).await
    }

    /// What the server answers to a request with a body.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
        self.json(Method::POST, path, Some(body)).await
    }

    /// What the server answers to a document that takes the place of another.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
        self.json(Method::PUT, path, Some(body)).await
    }

    /// The text that the server answers to a request with a body.
    pub async fn text_of(&self, path: &str, body: &Value) -> Result<String, ApiError> {
        let request = self.request(Method::POST, path).json(body);
        let response = self.answer_to(request).await?;
        let status = response.status();
        let text = response.text().await;
        let text = text.map_err(|source| self.unreachable(source))?;
        match status.is_success() {
            true => Ok(text),
            false => Err(ApiError::Refused {
                method: Method::POST,
                path: path.to_owned(),
                status,
                message: reasons(&text),
            }),
        }
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
        self.json(Method::PATCH, path, Some(body)).await
    }

    /// Removes something.
    pub async fn delete(&self, path: &str) -> Result<(), ApiError> {
        self.json(Method::DELETE, path, None).await.map(drop)
    }

    /// The bytes of a file that the server makes on request.
    pub async fn download(&self, path: &str) -> Result<Vec<u8>, ApiError> {
        self.bytes(Method::POST, path).await
    }

    /// The bytes of a file that the server has.
    pub async fn fetch(&self, path: &str) -> Result<Vec<u8>, ApiError> {
        self.bytes(Method::GET, path).await
    }

    async fn bytes(&self, method: Method, path: &str) -> Result<Vec<u8>, ApiError> {
        let request = self.request(method.clone(), path);
        let response = self.answer_to(request).await?;
        let status = response.status();
        if !status.is_success() {
            let text = response.text().await.unwrap_or_default();
            return Err(ApiError::Refused {
                method,
                path: path.to_owned(),
                status,
                message: reasons(&text),
            });
        }
        let bytes = response.bytes().await;
        Ok(bytes.map_err(|source| self.unreachable(source))?.to_vec())
    }

    /// Every element of a list, oldest first.
    pub async fn all(&self, path: &str) -> Result<Vec<Value>, ApiError> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let joint = if path.contains('?') { '&' } else { '?' };
            let page = match &cursor {
                None => format!("{path}{joint}limit=100"),
                Some(cursor) => format!("{path}{joint}limit=100&cursor={cursor}"),
            };
            let mut answer = self.get(&page).await?;
            let Value::Array(data) = answer["data"].take() else {
                return Err(self.odd(&Method::GET, path, "it has no list 'data'"));
            };
            all.extend(data);
            match answer["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        all.reverse();
        Ok(all)
    }

    fn odd(&self, method: &Method, path: &str, problem: impl Into<String>) -> ApiError {
        ApiError::Odd {
            method: method.clone(),
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    /// The text of a field that the API always has.
    pub(crate) fn text(&self, path: &str, answer: &Value, field: &str) -> Result<String, ApiError> {
        let text = answer[field].as_str().map(str::to_owned);
        text.ok_or_else(|| self.odd(&Method::GET, path, format!("it has no text '{field}'")))
    }

    /// An answer as a type of ours.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        answer: Value,
    ) -> Result<T, ApiError> {
        serde_path_to_error::deserialize(answer)
            .map_err(|error| self.odd(&Method::GET, path, error.to_string()))
    }

    async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let mut request = self.http.request(method.clone(), self.address(path));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = self.send(request).await?;
        if !answer.status.is_success() {
            return Err(ApiError::Refused {
                method,
                path: path.to_owned(),
                status: answer.status,
                message: reasons(&answer.text),
            });
        }
        if answer.text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&answer.text)
            .map_err(|error| self.odd(&method, path, error.to_string()))
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    /// A request that somebody else fills.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, self.address(path))
    }

    /// Sends a request with the key, and reads all of the answer.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, ApiError> {
        let response = self.answer_to(request).await?;
        let status = response.status();
        let text = response.text().await;
        let text = text.map_err(|source| self.unreachable(source))?;
        Ok(Answer { status, text })
    }

    /// Sends a request with the key.
    async fn answer_to(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, ApiError> {
        let request = request.bearer_auth(self.key.expose_secret());
        let response = request.send().await;
        response.map_err(|source| self.unreachable(source))
    }

    fn unreachable(&self, source: reqwest::Error) -> ApiError {
        ApiError::Unreachable {
            server: self.server.clone(),
            source,
        }
    }
}

/// What an error says, with its details by field.
fn reasons(text: &str) -> String {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let error = &body["error"];
    // One dialect says it below `error`, the other at the top.
    let message = error["message"]
        .as_str()
        .or_else(|| body["message"].as_str());
    let mut said = match message {
        Some(message) => message.to_owned(),
        None => text.chars().take(300).collect(),
    };
    for (field, messages) in error["details"].as_object().into_iter().flatten() {
        for message in messages.as_array().into_iter().flatten() {
            let message = message.as_str().unwrap_or_default();
            // A server whose message names every field has said it already.
            let is_said = said.contains(&format!("{field}: ")) && said.contains(message);
            if !is_said {
                said.push_str(&format!("\n  {field}: {message}"));
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_its_details() {
        let text = r#"{"error":{"code":"VALIDATION_ERROR","message":"not valid","details":{"name":["is required"]}}}"#;
        assert_eq!(reasons(text), "not valid\n  name: is required");
        let text = r#"{"error":{"message":"a: is required; b: too long, not so","details":{"a":["is required"],"b":["too long","not so"]}}}"#;
        assert_eq!(reasons(text), "a: is required; b: too long, not so");
        let text = r#"{"message":"not so","code":"BAD_REQUEST"}"#;
        assert_eq!(reasons(text), "not so");
        assert_eq!(reasons("<html>"), "<html>");
    }

    #[test]
    fn an_address_must_be_one() {
        let key = || SecretString::from("vk_x");
        for bad in ["", "localhost:7070", "ftp://a", "not an address"] {
            assert!(Api::new(bad, key()).is_err(), "{bad}");
        }
        let api = Api::new("http://127.0.0.1:7070/", key()).unwrap();
        assert_eq!(api.server(), "http://127.0.0.1:7070");
    }
}
