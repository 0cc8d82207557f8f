//! A store in memory, and short words to talk to it.

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode};
use proctor_core::time::Timestamp;
use proctor_fhir_store::{
    Base, Seed, Settings, State,
    change::Event,
    rest::{Request, Response},
};
use serde_json::Value;

/// One sentence about the store, and the function that shows it.
pub(crate) struct Check {
    pub(crate) says: &'static str,
    pub(crate) run: fn(),
}

/// Checks that belong together.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) checks: Vec<Check>,
}

/// A group of checks, each a sentence and a function.
#[macro_export]
macro_rules! checks {
    ($name:literal: $($says:literal => $run:expr),* $(,)?) => {
        $crate::conformance::support::Group {
            name: $name,
            checks: vec![$($crate::conformance::support::Check { says: $says, run: $run }),*],
        }
    };
}

pub(crate) const BASE: &str = "http://fhir.test/base";

/// A store of its own for one check; its clock moves a second with every request.
pub(crate) struct Store {
    pub(crate) state: State,
    pub(crate) now: Timestamp,
    pub(crate) events: Vec<Event>,
}

/// An answer, taken apart.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) response: Response,
    pub(crate) json: Value,
}

/// A request under way.
pub(crate) struct Ask<'s> {
    store: &'s mut Store,
    request: Request,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self::on(Base::empty())
    }

    pub(crate) fn on(base: Arc<Base>) -> Self {
        Self {
            state: State::branch(base, Arc::new(Settings::at(BASE)), Seed::from_number(1)),
            now: Timestamp::from_millis(1_776_790_800_000),
            events: Vec::new(),
        }
    }

    pub(crate) fn ask(&mut self, method: Method, path: &str) -> Ask<'_> {
        self.now = self.now.plus(Duration::from_secs(1));
        let request = Request::new(method, path, self.now);
        Ask {
            store: self,
            request,
        }
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask(Method::GET, path).send()
    }

    pub(crate) fn post(&mut self, path: &str, body: Value) -> Reply {
        self.ask(Method::POST, path).json(body).send()
    }

    /// Stores a resource under its own id, valid or not as far as searches care.
    pub(crate) fn put(&mut self, body: Value) -> Reply {
        let path = format!("{}/{}", text(&body["resourceType"]), text(&body["id"]));
        let reply = self.ask(Method::PUT, &path).json(body).send();
        assert!(reply.status < 300, "{}", reply.json);
        reply
    }

    pub(crate) fn delete(&mut self, path: &str) -> Reply {
        self.ask(Method::DELETE, path).send()
    }

    /// The ids that a search finds, in order; includes are left out.
    pub(crate) fn ids(&mut self, path: &str) -> Vec<String> {
        self.found(path, "match")
    }

    /// The ids of a search's entries with this mode.
    pub(crate) fn found(&mut self, path: &str, mode: &str) -> Vec<String> {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.json);
        entries(&reply.json)
            .iter()
            .filter(|entry| entry["search"]["mode"] == mode)
            .map(|entry| text(&entry["resource"]["id"]))
            .collect()
    }

    /// The ids that a search finds, sorted.
    pub(crate) fn set(&mut self, path: &str) -> Vec<String> {
        let mut ids = self.ids(path);
        ids.sort();
        ids
    }
}

impl Ask<'_> {
    pub(crate) fn json(mut self, body: Value) -> Self {
        self.request.body = body.to_string().into();
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Self {
        self.request.body = body.to_owned().into();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let headers = &mut self.request.headers;
        let place = match name {
            "If-Match" => &mut headers.if_match,
            "If-None-Match" => &mut headers.if_none_match,
            "If-Modified-Since" => &mut headers.if_modified_since,
            "If-None-Exist" => &mut headers.if_none_exist,
            "Content-Type" => &mut headers.content_type,
            "Accept" => &mut headers.accept,
            "Prefer" => &mut headers.prefer,
            other => panic!("no such header: {other}"),
        };
        *place = Some(value.to_owned());
        self
    }

    pub(crate) fn send(self) -> Reply {
        let (response, event) = self.store.state.apply(self.request);
        self.store.events.push(event);
        let json = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
        assert_ne!(response.status, StatusCode::INTERNAL_SERVER_ERROR);
        Reply {
            status: response.status.as_u16(),
            response,
            json,
        }
    }
}

impl Reply {
    /// Asserts the status and answers the body.
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.json);
        self.json
    }

    /// Asserts a refusal whose diagnostics hold `words`.
    pub(crate) fn refused(self, status: u16, words: &str) {
        let json = self.expect(status);
        assert_eq!(json["resourceType"], "OperationOutcome");
        let said = text(&json["issue"][0]["diagnostics"]);
        assert!(said.contains(words), "'{said}' does not say '{words}'");
    }
}

pub(crate) fn entries(bundle: &Value) -> Vec<Value> {
    bundle["entry"].as_array().cloned().unwrap_or_default()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The address of a bundle's link.
pub(crate) fn link(bundle: &Value, relation: &str) -> Option<String> {
    let links = bundle["link"].as_array()?;
    let found = links.iter().find(|link| link["relation"] == relation)?;
    Some(text(&found["url"]).replace(&format!("{BASE}/"), ""))
}
