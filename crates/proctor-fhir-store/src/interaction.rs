//! What happened in a store, read from its journal: requests and answers with their bodies.
//!
//! Reads only; what an event *does* when a state is rebuilt is in [`super::change`].

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use proctor_core::time::Timestamp;
use proctor_simulation::payload::unpack;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};

use super::{
    change::BadEvent,
    kind::ResourceKind,
    resource::VersionName,
    said::{Mention, Said, Unknown},
    state::State,
};

/// One request to the store and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interaction {
    /// When the request came.
    pub at: Timestamp,
    /// The HTTP method.
    pub method: String,
    /// The path below the store's base, with the query.
    pub path: String,
    /// The body of the request; empty when there was none.
    pub request_body: Bytes,
    /// The HTTP status.
    pub status: u16,
    /// The body of the answer as it was sent; empty when there was none.
    pub response_body: Bytes,
}

/// Why an event cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The event is none of a FHIR store.
    #[error(transparent)]
    Event(#[from] BadEvent),
    /// The store is not the one that the event is from, or does not know of it yet.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

impl Interaction {
    /// What an event's payload tells, one interaction or several, given a store that has every
    /// version made up to then.
    pub fn read(state: &State, payload: &[u8]) -> Result<Vec<Self>, Unreadable> {
        let text = unpack(payload).map_err(BadEvent::from)?;
        let recorded = serde_json::Deserializer::from_slice(&text).into_iter::<Recorded>();
        recorded
            .map(|recorded| recorded.map_err(BadEvent::from)?.into_interaction(state))
            .collect()
    }

    /// The interaction for people to look at: bodies as JSON where they are JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "method": self.method,
            "path": self.path,
            "request_body": body_to_json(&self.request_body),
            "status": self.status,
            "response_body": body_to_json(&self.response_body),
        })
    }
}

fn body_to_json(body: &[u8]) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

/// An event as the journal keeps it, but for its effects.
#[derive(Deserialize)]
struct Recorded {
    at: i64,
    request: Asked,
    status: u16,
    #[serde(default, deserialize_with = "present")]
    response: Option<Box<RawValue>>,
    #[serde(default)]
    shown: Vec<String>,
    #[serde(default)]
    holes: Vec<Option<usize>>,
}

#[derive(Deserialize)]
struct Asked {
    method: String,
    path: String,
    #[serde(default)]
    query: String,
    #[serde(default)]
    body: String,
    #[serde(default, rename = "bodyBase64")]
    bytes: String,
}

/// A field that is there, even if it says `null`: that is the text of a body which is all hole.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}

impl Recorded {
    fn into_interaction(self, state: &State) -> Result<Interaction, Unreadable> {
        let Asked {
            method,
            path,
            query,
            body,
            bytes,
        } = self.request;
        let mark = if query.is_empty() { "" } else { "?" };
        let request_body = if bytes.is_empty() {
            body.into()
        } else {
            let decoded = BASE64_STANDARD.decode(&bytes);
            let bad = |error: base64::DecodeError| BadEvent(error.to_string());
            decoded.map_err(bad)?.into()
        };
        let mentions = self.shown.iter().zip(self.holes).map(|(name, hole)| {
            let bad = || BadEvent(format!("'{name}' names no version"));
            let name = version_named(name).ok_or_else(bad)?;
            Ok(Mention { name, hole })
        });
        let said = Said {
            text: self.response.map_or_else(Bytes::new, to_bytes),
            shown: mentions.collect::<Result<_, BadEvent>>()?,
        };
        Ok(Interaction {
            at: Timestamp::from_millis(self.at),
            method,
            path: format!("/{path}{mark}{query}"),
            request_body,
            status: self.status,
            response_body: said.restore(state)?,
        })
    }
}

fn to_bytes(text: Box<RawValue>) -> Bytes {
    String::from(Box::<str>::from(text)).into()
}

/// Reads `Type/id/_history/version`.
fn version_named(text: &str) -> Option<VersionName> {
    let mut parts = text.split('/');
    let (kind, id) = (parts.next()?, parts.next()?);
    let (history, version) = (parts.next()?, parts.next()?);
    if history != "_history" || parts.next().is_some() {
        return None;
    }
    Some(VersionName {
        kind: ResourceKind::named(kind)?,
        id: Arc::from(id),
        version: version.parse().ok()?,
    })
}
