//! A resource on its way in: parsed, of a known type, stamped with what the server owns.
//!
//! The stored form of a resource is its bytes, made once and sent as they are. The tree exists only
//! while a resource is written.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use proctor_core::time::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{
    kind::ResourceKind,
    outcome::{Answer, Issue, IssueCode, Refusal},
};

/// How a version came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Created under an id that the server chose.
    Post,
    /// Written under an id that the client chose.
    Put,
    /// Changed in part.
    Patch,
    /// Deleted.
    Delete,
}

impl Verb {
    /// The HTTP method that it is named after.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Reads what [`Verb::as_str`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Post, Self::Put, Self::Patch, Self::Delete]
            .into_iter()
            .find(|verb| verb.as_str() == name)
    }
}

/// One version of a resource: what was stored, when and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Counts from 1.
    pub number: u32,
    /// How it came to be.
    pub verb: Verb,
    /// When it came to be.
    pub at: Timestamp,
    /// The resource as it is sent; nothing after a deletion.
    pub body: Option<Bytes>,
}

/// The full name of a version.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionName {
    /// The type of the resource.
    pub kind: ResourceKind,
    /// Its id.
    pub id: Arc<str>,
    /// The number of the version.
    pub version: u32,
}

impl fmt::Display for VersionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/_history/{}", self.kind, self.id, self.version)
    }
}

impl fmt::Debug for VersionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A resource of a known type.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    kind: ResourceKind,
    value: Value,
}

impl Resource {
    /// Reads a resource from the body of a request.
    pub fn parse(body: &[u8]) -> Answer<Self> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Err(Refusal::bad_request(
                IssueCode::Required,
                "the body is empty: a FHIR resource as JSON is expected",
            ));
        }
        Self::from_value(parse_json(body)?)
    }

    /// Takes a JSON value as a resource.
    pub fn from_value(value: Value) -> Answer<Self> {
        let Value::Object(map) = &value else {
            return Err(Refusal::bad_request(
                IssueCode::Structure,
                "a resource is a JSON object with a 'resourceType'",
            ));
        };
        let kind = match map.get("resourceType") {
            Some(Value::String(name)) => ResourceKind::named(name).ok_or_else(|| {
                Refusal::bad_request(
                    IssueCode::Invalid,
                    format!("'{name}' is no resource type of FHIR R4"),
                )
                .at("resourceType")
            })?,
            Some(_) => {
                return Err(Refusal::bad_request(
                    IssueCode::Structure,
                    "'resourceType' must be a string",
                )
                .at("resourceType"));
            }
            None => {
                return Err(Refusal::bad_request(
                    IssueCode::Required,
                    "'resourceType' is missing: it names the type of the resource",
                )
                .at("resourceType"));
            }
        };
        Ok(Self { kind, value })
    }

    /// The type.
    pub fn kind(&self) -> ResourceKind {
        self.kind
    }

    /// The tree.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The tree, to rewrite references in it. The type must stay what it is.
    pub fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    /// The id that the resource says it has.
    pub fn id(&self) -> Answer<Option<&str>> {
        match self.value.get("id") {
            None => Ok(None),
            Some(Value::String(id)) => Ok(Some(id)),
            Some(other) => Err(Refusal::bad_request(
                IssueCode::Value,
                format!("the id must be a string, not {other}"),
            )
            .at(&format!("{}.id", self.kind))),
        }
    }

    /// Refuses a resource of another type than the address asks for.
    pub fn expect_kind(&self, kind: ResourceKind) -> Answer<()> {
        if self.kind == kind {
            return Ok(());
        }
        Err(Refusal::bad_request(
            IssueCode::Invalid,
            format!(
                "the body is a {}, but the address asks for a {kind}",
                self.kind
            ),
        )
        .at("resourceType"))
    }

    /// Writes what the server owns into the resource, and makes the bytes that will be sent.
    pub fn stamp(&mut self, id: &str, version: u32, at: Timestamp) -> Answer<Bytes> {
        let Value::Object(map) = &mut self.value else {
            unreachable!("a resource is an object by construction");
        };
        map.insert("id".to_owned(), id.into());
        let meta = map
            .entry("meta")
            .or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(meta) = meta else {
            return Err(
                Refusal::bad_request(IssueCode::Structure, "'meta' must be an object")
                    .at(&format!("{}.meta", self.kind)),
            );
        };
        meta.insert("versionId".to_owned(), version.to_string().into());
        meta.insert("lastUpdated".to_owned(), at.to_string().into());
        Ok(to_bytes(map))
    }
}

/// Reads JSON; a refusal says where it breaks off.
pub fn parse_json(body: &[u8]) -> Answer<Value> {
    serde_json::from_slice(body).map_err(|error| {
        Refusal::bad_request(
            IssueCode::Invalid,
            format!("the body is not well-formed JSON: {error}"),
        )
        .at("http.body")
    })
}

/// The bytes of a resource, its identity first so that people find it.
pub fn to_bytes(resource: &Map<String, Value>) -> Bytes {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, &IdentityFirst(resource))
        .expect("a JSON tree can be written to memory");
    bytes.into()
}

/// A resource whose type, id and meta are written before everything else.
struct IdentityFirst<'a>(&'a Map<String, Value>);

const IDENTITY: [&str; 3] = ["resourceType", "id", "meta"];

impl Serialize for IdentityFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for name in IDENTITY {
            if let Some(value) = self.0.get(name) {
                map.serialize_entry(name, value)?;
            }
        }
        for (name, value) in self.0 {
            if !IDENTITY.contains(&name.as_str()) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// The longest id that can be stored. The standard's 64 are validation's concern: some official
/// examples have more.
const LONGEST_ID: usize = 128;

/// Refuses a text that cannot be an id: letters, digits, hyphens and dots.
pub fn check_id(kind: ResourceKind, id: &str) -> Answer<()> {
    let fits = (1..=LONGEST_ID).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.');
    if fits {
        return Ok(());
    }
    Err(Refusal::new(
        http::StatusCode::BAD_REQUEST,
        Issue::error(
            IssueCode::Value,
            format!("'{id}' is no id: 1 to 64 letters, digits, '-' and '.'"),
        )
        .at(format!("{kind}.id")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_keeps_decimals_and_puts_identity_first() {
        let mut resource = Resource::parse(
            br#"{"valueQuantity":{"value":1.10},"resourceType":"Observation","status":"final"}"#,
        )
        .unwrap();
        let bytes = resource
            .stamp("a", 2, Timestamp::from_millis(1_776_790_800_000))
            .unwrap();
        insta::assert_snapshot!(
            std::str::from_utf8(&bytes).unwrap(),
            @r#"{"resourceType":"Observation","id":"a","meta":{"lastUpdated":"2026-04-21T17:00:00.000Z","versionId":"2"},"status":"final","valueQuantity":{"value":1.10}}"#
        );
    }

    #[test]
    fn what_is_no_resource_is_refused_with_a_reason() {
        for (body, reason) in [
            ("", "empty"),
            ("{", "well-formed"),
            ("[]", "object"),
            ("{}", "missing"),
            (r#"{"resourceType":7}"#, "string"),
            (r#"{"resourceType":"Pacient"}"#, "Pacient"),
        ] {
            let refusal = Resource::parse(body.as_bytes()).unwrap_err();
            assert_eq!(refusal.status, 400, "{body}");
            assert!(refusal.to_string().contains(reason), "{body}: {refusal}");
        }
    }

    #[test]
    fn ids_have_one_form() {
        let patient = ResourceKind::named("Patient").unwrap();
        for good in ["a", "A-1.b", &"x".repeat(128)] {
            assert!(check_id(patient, good).is_ok());
        }
        for bad in ["", "a/b", "ä", "a b", &"x".repeat(129)] {
            assert_eq!(check_id(patient, bad).unwrap_err().status, 400);
        }
    }
}
