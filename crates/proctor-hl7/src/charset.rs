//! How the bytes of a message become text.
//!
//! MSH-18 is not believed: senders declare Latin-1 and send UTF-8, or declare nothing. Bytes that are UTF-8 are hardly ever meant as
//! anything else, and Latin-1 gives every byte a character, so no message is ever lost.

use std::borrow::Cow;

/// The character set that a message is read in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// UTF-8, which includes ASCII.
    Utf8,
    /// ISO 8859-1: each byte is the character of that number.
    Latin1,
}

impl Charset {
    /// UTF-8 if all of it is, Latin-1 otherwise.
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(_) => Self::Utf8,
            Err(_) => Self::Latin1,
        }
    }

    /// The text of these bytes.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Latin1 if bytes.is_ascii() => String::from_utf8_lossy(bytes),
            Self::Latin1 => bytes.iter().copied().map(char::from).collect(),
        }
    }

    /// The bytes of this text; none if the character set lacks one of its characters.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.as_bytes().to_vec()),
            Self::Latin1 => text.chars().map(|each| u8::try_from(each).ok()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character() {
        assert_eq!(Charset::of("Zoë".as_bytes()), Charset::Utf8);
        assert_eq!(Charset::of(b"Zo\xeb"), Charset::Latin1);
        assert_eq!(Charset::Latin1.decode(b"Zo\xeb"), "Zoë");
        let all: Vec<u8> = (0..=255).collect();
        let text = Charset::Latin1.decode(&all);
        assert_eq!(Charset::Latin1.encode(&text), Some(all.clone()));
    }

    #[test]
    fn what_latin_1_lacks_is_not_replaced() {
        assert_eq!(Charset::Latin1.encode("Łukasz"), None);
    }
}
