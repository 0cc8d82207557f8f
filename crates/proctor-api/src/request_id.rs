//! The id under which a request is known to the client and to the log.

use http::{HeaderMap, HeaderName, HeaderValue};
use proctor_core::id::IdSource;

/// The header that carries the id in both directions.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is taken over from a client.
const LONGEST: usize = 128;

/// The id of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestId {
    /// The client's own; in the Runloop dialect also an idempotency key.
    Given(HeaderValue),
    /// Made here, because the client sent none that is usable.
    Fresh(HeaderValue),
}

impl RequestId {
    /// The client's id when it is printable ASCII of at most 128 characters, else a fresh one.
    pub(crate) fn of(headers: &HeaderMap, ids: &dyn IdSource) -> Self {
        match headers.get(REQUEST_ID).filter(|id| is_usable(id)) {
            Some(id) => Self::Given(id.clone()),
            None => Self::Fresh(fresh(ids)),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        let (Self::Given(value) | Self::Fresh(value)) = self;
        value.to_str().unwrap_or_default()
    }

    /// A copy for a request that is passed on.
    pub(crate) fn as_header(&self) -> HeaderValue {
        let (Self::Given(value) | Self::Fresh(value)) = self;
        value.clone()
    }

    /// The id for the answer's head. It is given away, because a copy would cost every request
    /// an allocation; what is left is empty.
    pub(crate) fn take_header(&mut self) -> HeaderValue {
        let (Self::Given(value) | Self::Fresh(value)) = self;
        std::mem::replace(value, HeaderValue::from_static(""))
    }
}

fn is_usable(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=LONGEST).contains(&bytes.len()) && bytes.iter().all(|byte| (b' '..=b'~').contains(byte))
}

fn fresh(ids: &dyn IdSource) -> HeaderValue {
    let mut text = [0; 36];
    let text = ids.unordered_uuid().hyphenated().encode_lower(&mut text);
    HeaderValue::from_str(text).expect("hexadecimal digits and hyphens are header text")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct OneId;
    impl IdSource for OneId {
        fn next_uuid(&self) -> uuid::Uuid {
            uuid::Uuid::from_u128(7)
        }
    }

    fn of(value: &[u8]) -> RequestId {
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.insert(REQUEST_ID, value);
        }
        RequestId::of(&headers, &OneId)
    }

    #[test]
    fn a_clients_usable_id_is_kept() {
        for id in ["a", "trace 1/2 {x}", &"~".repeat(128)] {
            assert_eq!(
                of(id.as_bytes()),
                RequestId::Given(HeaderValue::from_str(id).unwrap())
            );
        }
    }

    #[test]
    fn what_is_empty_long_or_unprintable_is_replaced() {
        for id in [
            &b""[..],
            "x".repeat(129).as_bytes(),
            b"tab\there",
            "ümlaut".as_bytes(),
        ] {
            assert_eq!(of(id).as_str(), "00000000-0000-0000-0000-000000000007");
        }
    }

    proptest! {
        #[test]
        fn the_answer_always_has_printable_text(bytes: Vec<u8>) {
            let id = of(&bytes);
            prop_assert!(!id.as_str().is_empty());
            prop_assert!(id.as_str().len() <= LONGEST);
        }
    }
}
