//! One store behind several addresses.
//!
//! Inside, a store has one address, whoever asks: what is recorded and judged does not depend on the door. Outside, answers name
//! the address that was asked, so that a client can follow them; and what a client writes with that address is meant for the store.
//! Strings of JSON that begin with one address begin with the other on the other side.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};

/// The address of a store inside, and the one that a request asked.
pub(crate) struct Addresses<'s> {
    own: &'s str,
    asked: String,
}

impl<'s> Addresses<'s> {
    /// Nothing if the store was asked at its own address.
    pub(crate) fn new(own: &'s str, asked: String) -> Option<Self> {
        (asked != own).then_some(Self { own, asked })
    }

    /// A body as the store reads it.
    pub(crate) fn body_inside(&self, body: &Bytes) -> Bytes {
        exchanged(body, &self.asked, self.own)
    }

    /// A query as the store reads it.
    pub(crate) fn query_inside(&self, query: &str) -> String {
        let is_meant = |value: &str| begins(value, &self.asked);
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        if !pairs.any(|(_, value)| value.split(',').any(is_meant)) {
            return query.to_owned();
        }
        let mut out = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let parts = value.split(',').map(|part| match is_meant(part) {
                true => format!("{}{}", self.own, &part[self.asked.len()..]),
                false => part.to_owned(),
            });
            out.append_pair(&name, &parts.collect::<Vec<_>>().join(","));
        }
        out.finish()
    }

    /// A body as the client reads it.
    pub(crate) fn body_outside(&self, body: &Bytes) -> Bytes {
        exchanged(body, self.own, &self.asked)
    }

    /// Has the headers say the address that was asked.
    pub(crate) fn headers_outside(&self, headers: &mut HeaderMap) {
        for name in [header::LOCATION, header::CONTENT_LOCATION] {
            let Some(said) = headers.get(&name).and_then(|value| value.to_str().ok()) else {
                continue;
            };
            if begins(said, self.own) {
                let said = format!("{}{}", self.asked, &said[self.own.len()..]);
                if let Ok(value) = HeaderValue::from_str(&said) {
                    headers.insert(name, value);
                }
            }
        }
    }
}

/// Whether a text is an address below `base`, or `base` itself.
fn begins(text: &str, base: &str) -> bool {
    let rest = text.strip_prefix(base);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '|']))
}

/// The same JSON with `to` for `from` wherever a string begins so.
fn exchanged(body: &Bytes, from: &str, to: &str) -> Bytes {
    let Ok(text) = std::str::from_utf8(body) else {
        return body.clone();
    };
    let needle = format!("\"{from}");
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find(&needle) {
        let (before, after) = rest.split_at(place + needle.len());
        if after.starts_with(['/', '?', '|', '"']) {
            out.push_str(&before[..place]);
            out.push('"');
            out.push_str(to);
        } else {
            out.push_str(before);
        }
        rest = after;
    }
    if out.is_empty() {
        return body.clone();
    }
    out.push_str(rest);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "http://here/v1/task-runs/tr_1/fhir";
    const ASKED: &str = "http://there/sandboxes/sbx_1/fhir";

    fn addresses() -> Addresses<'static> {
        Addresses::new(OWN, ASKED.to_owned()).unwrap()
    }

    #[test]
    fn a_store_that_is_asked_at_its_own_address_exchanges_nothing() {
        assert!(Addresses::new(OWN, OWN.to_owned()).is_none());
    }

    #[test]
    fn strings_that_begin_with_one_address_begin_with_the_other() {
        let inside = format!(
            r#"{{"url":"{OWN}","fullUrl":"{OWN}/Patient/1","next":"{OWN}?_count=2","other":"{OWN}er/x","text":"see {OWN}/Patient/1"}}"#
        );
        let outside = format!(
            r#"{{"url":"{ASKED}","fullUrl":"{ASKED}/Patient/1","next":"{ASKED}?_count=2","other":"{OWN}er/x","text":"see {OWN}/Patient/1"}}"#
        );
        let addresses = addresses();
        assert_eq!(addresses.body_outside(&inside.clone().into()), outside);
        assert_eq!(addresses.body_inside(&outside.into()), inside);
        let plain = Bytes::from_static(br#"{"a": 1}"#);
        assert_eq!(addresses.body_inside(&plain), plain);
    }

    #[test]
    fn queries_and_headers_are_exchanged_too() {
        let addresses = addresses();
        let asked = "patient=http%3A%2F%2Fthere%2Fsandboxes%2Fsbx_1%2Ffhir%2FPatient%2F1&_count=2";
        let read = addresses.query_inside(asked);
        let pairs: Vec<_> = form_urlencoded::parse(read.as_bytes()).collect();
        assert_eq!(pairs[0].1, format!("{OWN}/Patient/1"));
        assert_eq!(addresses.query_inside("name=a%20b&x"), "name=a%20b&x");
        let mut headers = HeaderMap::new();
        let said = HeaderValue::from_str(&format!("{OWN}/Patient/1/_history/1")).unwrap();
        headers.insert(header::LOCATION, said);
        addresses.headers_outside(&mut headers);
        assert_eq!(
            headers[header::LOCATION],
            format!("{ASKED}/Patient/1/_history/1")
        );
    }
}
