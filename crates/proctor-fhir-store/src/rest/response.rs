//! What the store answers, ready to be written to any transport.

use std::ops::Range;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use proctor_core::time::Timestamp;

use crate::{
    outcome::{Refusal, operation_outcome_bytes},
    resource::VersionName,
};

/// The media type of every body that the store sends.
pub const FHIR_JSON: &str = "application/fhir+json; charset=utf-8";

/// One answer of the store.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: StatusCode,
    /// The version that the body shows, or that was written.
    pub version: Option<u32>,
    /// When that version was made.
    pub last_modified: Option<Timestamp>,
    /// Where a resource that was written can be read, as a full address.
    pub location: Option<String>,
    /// The allowed methods, after a wrong one.
    pub allow: Option<&'static str>,
    /// The body; empty when there is none.
    pub body: Bytes,
    /// The versions that the body shows, in the order in which it shows them.
    pub shown: Vec<Shown>,
}

/// A stored version that a body shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Which version.
    pub name: VersionName,
    /// Where in the body it stands, when it is there whole and unchanged.
    pub place: Option<Range<usize>>,
}

impl Shown {
    /// The same version in a body that does not show it as it is stored.
    #[must_use]
    pub(super) fn in_part(self) -> Self {
        Self {
            place: None,
            ..self
        }
    }

    /// The same version in a body that holds this one's from `start` on.
    #[must_use]
    pub(super) fn moved_by(&self, start: usize) -> Self {
        let place = self.place.as_ref();
        Self {
            name: self.name.clone(),
            place: place.map(|place| place.start + start..place.end + start),
        }
    }
}

impl Response {
    /// An answer with a status and nothing else.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            version: None,
            last_modified: None,
            location: None,
            allow: None,
            body: Bytes::new(),
            shown: Vec::new(),
        }
    }

    /// An answer with a body.
    pub fn with_body(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..Self::empty(status)
        }
    }

    /// The tag of the version, as HTTP writes it.
    pub fn etag(&self) -> Option<String> {
        self.version.map(etag)
    }

    /// The headers of this answer.
    pub fn http_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(6);
        if !self.body.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(FHIR_JSON));
        }
        let mut put = |name, text: String| {
            // What cannot be written as a header (a control character in an address) is left out.
            if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(text)) {
                headers.insert(name, value);
            }
        };
        if let Some(tag) = self.etag() {
            put(header::ETAG, tag);
        }
        if let Some(text) = self.last_modified.and_then(http_date) {
            put(header::LAST_MODIFIED, text);
        }
        if let Some(location) = &self.location {
            put(header::LOCATION, location.clone());
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        headers
    }

    /// The answer to the same request by `method`: `HEAD` has no body.
    #[must_use]
    pub fn for_method(mut self, method: &Method) -> Self {
        if method == Method::HEAD {
            self.body = Bytes::new();
            self.shown.clear();
        }
        self
    }
}

impl From<Box<Refusal>> for Response {
    fn from(refusal: Box<Refusal>) -> Self {
        Self {
            allow: refusal.allow,
            version: refusal.version,
            ..Self::with_body(refusal.status, operation_outcome_bytes(&refusal.issues))
        }
    }
}

/// The tag of a version, as HTTP writes it.
pub(super) fn etag(version: u32) -> String {
    format!("W/\"{version}\"")
}

/// An instant as HTTP writes it; nothing for instants beyond its calendar.
pub(super) fn http_date(at: Timestamp) -> Option<String> {
    let instant = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
    jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&instant)
        .ok()
}

/// The instant that an HTTP date names.
pub(super) fn parse_http_date(text: &str) -> Option<Timestamp> {
    let zoned = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_zoned(text)
        .ok()?;
    Some(Timestamp::from_millis(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_dates_are_read_as_they_are_written() {
        let at = Timestamp::from_millis(1_776_790_800_000);
        let text = http_date(at).unwrap();
        assert_eq!(text, "Tue, 21 Apr 2026 17:00:00 GMT");
        assert_eq!(parse_http_date(&text), Some(at));
    }
}
