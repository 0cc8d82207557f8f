//! Bytes in a JSON document: text where they are text, base64 where they are not.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Bytes as a document holds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// They are this text in UTF-8.
    #[serde(rename = "content")]
    Text(String),
    /// They are not text; this is their base64.
    #[serde(rename = "content_base64")]
    Base64(String),
}

impl Content {
    /// How these bytes are written.
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// The bytes. Base64 that we did not write ourselves may be none.
    pub fn bytes(self) -> Result<Bytes, base64::DecodeError> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Base64(text) => STANDARD.decode(text.trim()).map(Bytes::from),
        }
    }

    /// For an event: the text, or an object that says that it is base64.
    pub fn told(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Base64(text) => json!({"content_base64": text}),
        }
    }
}

/// For `#[serde(with)]`: bytes that are kept as [`Content`].
pub mod as_content {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::Content;

    /// Writes bytes.
    pub fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        Content::of(bytes).serialize(serializer)
    }

    /// Reads bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        Content::deserialize(deserializer)?
            .bytes()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_survive_being_written(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let text = serde_json::to_string(&Content::of(&bytes)).unwrap();
            let read: Content = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.bytes().unwrap(), bytes);
        }
    }
}
