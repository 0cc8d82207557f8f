//! Requests to a server with one key, as a program would make them.

use reqwest::{Client, Method};
use serde_json::{Value, json};

/// Somebody with a key, who asks one server over connections that stay open.
#[derive(Clone)]
pub struct Caller {
    http: Client,
    server: String,
    key: String,
    request_id: Option<String>,
}

impl Caller {
    /// Somebody with this key who asks the server at this address.
    #[must_use]
    pub fn new(server: &str, key: &str) -> Self {
        Self {
            http: Client::new(),
            server: server.to_owned(),
            key: key.to_owned(),
            request_id: None,
        }
    }

    /// The same, whose requests carry this id.
    #[must_use]
    pub fn with_request_id(&self, id: &str) -> Self {
        Self {
            request_id: Some(id.to_owned()),
            ..self.clone()
        }
    }

    /// The same with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }

    /// The address of a path on the server.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    /// The status and the JSON of an answer, unless the server died over it; what is not JSON is null.
    pub async fn try_ask(&self, method: Method, path: &str, body: &Value) -> Option<(u16, Value)> {
        let request = self
            .http
            .request(method, self.url(path))
            .bearer_auth(&self.key)
            .header("content-type", "application/json");
        let request = match &self.request_id {
            None => request,
            Some(id) => request.header("x-request-id", id),
        };
        let request = match body {
            Value::Null => request,
            body => request.body(body.to_string()),
        };
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        let text = answer.text().await.ok()?;
        Some((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// The status and the JSON of an answer.
    ///
    /// # Panics
    /// When there is none.
    pub async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let answer = self.try_ask(method, path, &body).await;
        answer.unwrap_or_else(|| panic!("{path}: no answer"))
    }

    /// What is at a path.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn get(&self, path: &str) -> Value {
        self.granted(Method::GET, path, Value::Null).await
    }

    /// What comes of a request with a body.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        self.granted(Method::POST, path, body).await
    }

    async fn granted(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(method, path, body).await;
        assert!(
            (200..300).contains(&status),
            "{path}: {status} with {answer}"
        );
        answer
    }

    /// The text of what is at a path, which may be a stream that ends.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn text(&self, path: &str) -> String {
        let request = self.http.get(self.url(path)).bearer_auth(&self.key);
        let answer = request.send().await.expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.text().await.expect("all of the text")
    }

    /// Asks a `wait_for_status` route again until it no longer says that the wait was too short.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn wait(&self, path: &str, statuses: &[&str]) -> Value {
        let body = json!({"statuses": statuses});
        loop {
            let (status, answer) = self.ask(Method::POST, path, body.clone()).await;
            match status {
                200 => return answer,
                408 => {}
                other => panic!("{path}: {other} with {answer}"),
            }
        }
    }
}
