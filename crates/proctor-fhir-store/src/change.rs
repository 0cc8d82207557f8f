//! What a request leaves behind: its changes, and the event that the journal keeps of it.
//!
//! An event holds what was asked (method, path, headers that mattered, body), how it was answered,
//! and the changes as effects. State is rebuilt from the effects alone, so a journal keeps its
//! meaning when the code that made it is corrected. What it says to people is read in
//! [`super::interaction`].

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use proctor_core::time::Timestamp;
use serde_json::{Map, Value};

use super::{
    json_writer::JsonObject,
    kind::ResourceKind,
    resource::{Verb, Version, to_bytes},
    rest::{Request, Response},
    said::Said,
    state::State,
};

/// One version of one resource coming to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The type of the resource.
    pub kind: ResourceKind,
    /// Its id.
    pub id: Box<str>,
    /// The new version.
    pub version: Version,
}

/// One interaction with the store.
#[derive(Clone, Debug)]
pub struct Event {
    /// What was asked.
    pub request: Request,
    /// The status of the answer.
    pub status: u16,
    /// The body of the answer, without a second copy of every resource.
    pub said: Said,
    /// What the request changed.
    pub changes: Vec<Change>,
    /// How many ids had been drawn when it was done.
    pub drawn: u64,
}

/// A payload that is no event of this store.
#[derive(Debug, thiserror::Error)]
#[error("the journal holds an event that is not of a FHIR store: {0}")]
pub struct BadEvent(pub(super) String);

impl From<std::io::Error> for BadEvent {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for BadEvent {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// What must be repeated to rebuild the state: the part of an event that has effects.
#[derive(Debug, PartialEq)]
pub struct Effects {
    /// When the request was carried out.
    pub at: Timestamp,
    /// What it changed.
    pub changes: Vec<Change>,
    /// How many ids had been drawn when it was done.
    pub drawn: u64,
}

impl Event {
    /// The event of a request that was answered.
    pub(crate) fn new(
        request: Request,
        response: &Response,
        changes: Vec<Change>,
        drawn: u64,
    ) -> Self {
        Self {
            request,
            status: response.status.as_u16(),
            said: Said::of(response),
            changes,
            drawn,
        }
    }

    /// The event as the journal keeps it: JSON, with stored resources byte for byte as they are.
    pub fn to_json(&self) -> Vec<u8> {
        let bodies = self
            .changes
            .iter()
            .filter_map(|change| change.version.body.as_ref());
        let stored: usize = bodies.map(Bytes::len).sum();
        let asked = self.request.body.len() * 2;
        let mut out = JsonObject::with_capacity(512 + asked + self.said.length() + stored);
        out.field("at").number(self.request.at.as_millis());
        out.field("request")
            .object(|asked| self.write_request(asked));
        out.field("status").number(i64::from(self.status));
        self.said.write(&mut out);
        if !self.changes.is_empty() {
            out.field("changes").list(&self.changes, |out, change| {
                out.object(|out| change.write(out));
            });
            out.field("drawn")
                .number(i64::try_from(self.drawn).unwrap_or(i64::MAX));
        }
        out.finish()
    }

    fn write_request(&self, out: &mut JsonObject) {
        let request = &self.request;
        out.field("method").text(request.method.as_str());
        out.field("path").text(&request.path);
        let (body, bytes) = match std::str::from_utf8(&request.body) {
            Ok(text) => (text, String::new()),
            Err(_) => ("", BASE64_STANDARD.encode(&request.body)),
        };
        let headers = &request.headers;
        let rest = [
            ("query", Some(request.query.as_str())),
            ("body", Some(body)),
            ("bodyBase64", Some(&*bytes)),
            ("ifMatch", headers.if_match.as_deref()),
            ("ifNoneMatch", headers.if_none_match.as_deref()),
            ("ifModifiedSince", headers.if_modified_since.as_deref()),
            ("ifNoneExist", headers.if_none_exist.as_deref()),
            ("contentType", headers.content_type.as_deref()),
            ("accept", headers.accept.as_deref()),
            ("prefer", headers.prefer.as_deref()),
        ];
        for (name, text) in rest {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                out.field(name).text(text);
            }
        }
    }
}

impl Change {
    fn write(&self, out: &mut JsonObject) {
        out.field("kind").text(self.kind.name());
        out.field("id").text(&self.id);
        out.field("version").number(i64::from(self.version.number));
        out.field("verb").text(self.version.verb.as_str());
        out.field("at").number(self.version.at.as_millis());
        out.field("resource")
            .raw(self.version.body.as_deref().unwrap_or(b"null"));
    }

    fn from_json(value: &Value) -> Option<Self> {
        let body = match value.get("resource")? {
            Value::Object(map) => Some(to_bytes(map)),
            _ => None,
        };
        Some(Self {
            kind: ResourceKind::named(value.get("kind")?.as_str()?)?,
            id: value.get("id")?.as_str()?.into(),
            version: Version {
                number: u32::try_from(value.get("version")?.as_u64()?).ok()?,
                verb: Verb::from_name(value.get("verb")?.as_str()?)?,
                at: Timestamp::from_millis(value.get("at")?.as_i64()?),
                body,
            },
        })
    }
}

impl Effects {
    /// Reads the effects of an event that [`Event::to_json`] wrote; nothing when it had none.
    pub fn from_json(event: &Value) -> Result<Option<Self>, BadEvent> {
        let Some(changes) = event.get("changes") else {
            return Ok(None);
        };
        Self::parse(event, changes)
            .map(Some)
            .ok_or_else(|| BadEvent(Value::Object(summary(event)).to_string()))
    }

    fn parse(event: &Value, changes: &Value) -> Option<Self> {
        Some(Self {
            at: Timestamp::from_millis(event.get("at")?.as_i64()?),
            changes: changes
                .as_array()?
                .iter()
                .map(Change::from_json)
                .collect::<Option<_>>()?,
            drawn: event.get("drawn")?.as_u64()?,
        })
    }
}

/// Repeats on a state what an event that [`Event::to_json`] wrote tells of.
pub fn replay(state: &mut State, event: &[u8]) -> Result<(), BadEvent> {
    replay_after(state, event, |_, _| {})
}

/// The same; `look` sees the changes and the state before them.
pub(crate) fn replay_after(
    state: &mut State,
    event: &[u8],
    look: impl FnOnce(&State, &[Change]),
) -> Result<(), BadEvent> {
    let event: Value = serde_json::from_slice(event)?;
    let Some(effects) = Effects::from_json(&event)? else {
        return Ok(());
    };
    look(state, &effects.changes);
    state
        .replay(&effects.changes, effects.drawn)
        .map_err(|refusal| BadEvent(format!("a change cannot be repeated: {refusal}")))
}

/// Enough of an event to find it, without the resources in it.
fn summary(event: &Value) -> Map<String, Value> {
    let pick = |name: &str| Some((name.to_owned(), event.get(name)?.clone()));
    ["at", "status", "drawn"]
        .into_iter()
        .filter_map(pick)
        .collect()
}
