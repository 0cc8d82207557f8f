//! What a client asks, free of any HTTP library's types but the vocabulary of `http`.

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use proctor_core::time::Timestamp;

use crate::outcome::{Answer, Issue, IssueCode, Refusal};

/// One request to the store.
#[derive(Clone, Debug)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The path below the store's base, without a leading slash; still percent-encoded.
    pub path: String,
    /// The query, without the question mark; still percent-encoded.
    pub query: String,
    /// What the headers say.
    pub headers: Headers,
    /// The body, empty when there is none.
    pub body: Bytes,
    /// When the request arrived, by the playground's clock.
    pub at: Timestamp,
}

impl Request {
    /// A request without headers or body.
    pub fn new(method: Method, path: &str, at: Timestamp) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Self {
            method,
            path: path.trim_start_matches('/').to_owned(),
            query: query.to_owned(),
            headers: Headers::default(),
            body: Bytes::new(),
            at,
        }
    }

    /// The same request with a body of FHIR JSON.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Whether the request changes nothing.
    pub fn is_read_only(&self) -> bool {
        is_read_only(&self.method, &self.path)
    }
}

/// Whether a request by this method to this path changes nothing.
pub(crate) fn is_read_only(method: &Method, path: &str) -> bool {
    match *method {
        Method::GET | Method::HEAD => true,
        Method::POST => {
            let last = path.trim_end_matches('/').rsplit('/').next();
            matches!(last, Some("_search" | "$validate" | "$everything"))
        }
        _ => false,
    }
}

/// The headers that mean something to the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// `If-Match`.
    pub if_match: Option<String>,
    /// `If-None-Match`.
    pub if_none_match: Option<String>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<String>,
    /// `If-None-Exist`.
    pub if_none_exist: Option<String>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Accept`.
    pub accept: Option<String>,
    /// `Prefer`, all of them joined with commas.
    pub prefer: Option<String>,
}

impl Headers {
    /// The headers of an HTTP request that mean something to the store.
    pub fn from_http(map: &HeaderMap) -> Self {
        let text = |name: &str| Some(map.get(name)?.to_str().ok()?.to_owned());
        let prefer: Vec<&str> = map
            .get_all("prefer")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        Self {
            if_match: text(header::IF_MATCH.as_str()),
            if_none_match: text(header::IF_NONE_MATCH.as_str()),
            if_modified_since: text(header::IF_MODIFIED_SINCE.as_str()),
            if_none_exist: text("if-none-exist"),
            content_type: text(header::CONTENT_TYPE.as_str()),
            accept: text(header::ACCEPT.as_str()),
            prefer: (!prefer.is_empty()).then(|| prefer.join(",")),
        }
    }

    /// What `Prefer` asks for; what is not understood is ignored, as its standard demands.
    pub fn preferences(&self) -> Preferences {
        let mut preferences = Preferences::default();
        let Some(prefer) = &self.prefer else {
            return preferences;
        };
        for wish in prefer.split([',', ';']) {
            match wish.trim() {
                "return=minimal" => preferences.returns = Some(Return::Minimal),
                "return=representation" => preferences.returns = Some(Return::Representation),
                "return=OperationOutcome" => preferences.returns = Some(Return::OperationOutcome),
                "handling=strict" => preferences.handling = Handling::Strict,
                "handling=lenient" => preferences.handling = Handling::Lenient,
                "validation=none" => preferences.skip_validation = true,
                _ => {}
            }
        }
        preferences
    }
}

/// What a client wants beyond the bare interaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// What a write should answer with, if the client says.
    pub returns: Option<Return>,
    /// What to do about search parameters that the store does not know.
    pub handling: Handling,
    /// Whether the client asks to store content that does not validate.
    pub skip_validation: bool,
}

/// What a write answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// Headers only.
    Minimal,
    /// The stored resource.
    Representation,
    /// A resource that says how it went.
    OperationOutcome,
}

/// What to do about search parameters that the store does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handling {
    /// Refuse the search.
    Strict,
    /// Leave them out and say so.
    #[default]
    Lenient,
}

/// The version that an `If-Match` header (or `ifMatch` of a bundle entry) names.
pub(super) fn version_of_tag(tag: &str) -> Answer<u32> {
    let bare = tag.trim();
    let bare = bare.strip_prefix("W/").unwrap_or(bare).trim_matches('"');
    bare.parse().map_err(|_| {
        Refusal::new(
            http::StatusCode::PRECONDITION_FAILED,
            Issue::error(
                IssueCode::Conflict,
                format!("If-Match '{tag}' names no version: the form is W/\"3\""),
            )
            .at("http.If-Match"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_are_read_from_one_header_or_many() {
        let mut map = HeaderMap::new();
        map.append("prefer", "return=minimal; foo=bar".parse().unwrap());
        map.append("prefer", "handling=strict".parse().unwrap());
        let preferences = Headers::from_http(&map).preferences();
        assert_eq!(preferences.returns, Some(Return::Minimal));
        assert_eq!(preferences.handling, Handling::Strict);
    }

    #[test]
    fn tags_are_read_weak_strong_and_bare() {
        for tag in ["W/\"7\"", "\"7\"", "7"] {
            assert_eq!(version_of_tag(tag).unwrap(), 7);
        }
        assert_eq!(version_of_tag("W/\"x\"").unwrap_err().status, 412);
    }
}
