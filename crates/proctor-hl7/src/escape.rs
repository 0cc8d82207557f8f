//! The escapes inside a value: `\F\ \S\ \R\ \T\ \E\ \P\ \Xhh…\ \.br\`. Everything else between escape characters stays as written.

use std::borrow::Cow;

use crate::{charset::Charset, delimiters::Delimiters};

/// The text of `written`, with the known escapes replaced by what they stand for.
pub(crate) fn decode<'a>(
    written: &'a [u8],
    delimiters: &Delimiters,
    charset: Charset,
) -> Cow<'a, str> {
    let Some(escape) = delimiters
        .escape()
        .filter(|escape| written.contains(escape))
    else {
        return charset.decode(written);
    };
    let mut text = Text {
        decoded: String::with_capacity(written.len()),
        bytes: vec![],
    };
    let mut rest = written;
    while let Some(start) = rest.iter().position(|&byte| byte == escape) {
        text.push_str(&charset.decode(&rest[..start]));
        let after = &rest[start + 1..];
        let meaning = after
            .iter()
            .position(|&byte| byte == escape)
            .and_then(|end| Some((Meaning::of(&after[..end], delimiters)?, end)));
        match meaning {
            Some((Meaning::Character(character), end)) => {
                text.push(character);
                rest = &after[end + 1..];
            }
            Some((Meaning::Bytes(bytes), end)) => {
                text.bytes.extend(bytes);
                rest = &after[end + 1..];
            }
            Some((Meaning::Itself, end)) => {
                text.push_str(&charset.decode(&rest[start..start + end + 2]));
                rest = &after[end + 1..];
            }
            None => {
                text.push(char::from(escape));
                rest = after;
            }
        }
    }
    text.push_str(&charset.decode(rest));
    Cow::Owned(text.finish())
}

/// `text` as it has to be written so that [`decode`] gives it back.
pub(crate) fn encode(text: &str, delimiters: &Delimiters) -> String {
    // Written plainly, these two quotation marks would be an explicit null.
    if text == r#""""# {
        return hexadecimal(text, delimiters);
    }
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match u8::try_from(character).ok().filter(u8::is_ascii) {
            Some(b'\t') => written.push('\t'),
            Some(byte) => match letters_for(byte, delimiters) {
                Some(letters) => push_escape(&mut written, letters, delimiters),
                None if byte.is_ascii_control() => {
                    written.push_str(&hexadecimal(character.encode_utf8(&mut [0]), delimiters));
                }
                None => written.push(character),
            },
            None => written.push(character),
        }
    }
    written
}

/// What is between two escape characters.
enum Meaning {
    Character(char),
    /// Bytes by number. Several such escapes in a row may spell one character.
    Bytes(Vec<u8>),
    /// An escape, but none that is a character: highlighting, other character sets, formatting, local ones.
    Itself,
}

impl Meaning {
    fn of(sequence: &[u8], delimiters: &Delimiters) -> Option<Self> {
        let delimiter = match sequence {
            b"F" => Some(delimiters.field()),
            b"S" => Some(delimiters.component()),
            b"R" => delimiters.repetition(),
            b"T" => delimiters.subcomponent(),
            b"E" => delimiters.escape(),
            b"P" => delimiters.truncation(),
            b".br" => Some(b'\n'),
            [b'X', digits @ ..] => {
                return Some(bytes_of(digits).map_or(Self::Itself, Self::Bytes));
            }
            b"H" | b"N" => return Some(Self::Itself),
            [b'C' | b'M' | b'Z' | b'.', more @ ..] if more.iter().all(u8::is_ascii_graphic) => {
                return Some(Self::Itself);
            }
            // A lone escape character in plain text, like that of `C:\temp`.
            _ => None,
        };
        delimiter.map(|byte| Self::Character(char::from(byte)))
    }
}

fn bytes_of(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok())
        .collect()
}

fn letters_for(byte: u8, delimiters: &Delimiters) -> Option<&'static str> {
    let is = |delimiter: Option<u8>| delimiter == Some(byte);
    if is(Some(delimiters.field())) {
        Some("F")
    } else if is(Some(delimiters.component())) {
        Some("S")
    } else if is(delimiters.repetition()) {
        Some("R")
    } else if is(delimiters.subcomponent()) {
        Some("T")
    } else if is(delimiters.escape()) {
        Some("E")
    } else if is(delimiters.truncation()) {
        Some("P")
    } else if byte == b'\n' && !delimiters.contains(b'.') {
        Some(".br")
    } else {
        None
    }
}

fn hexadecimal(text: &str, delimiters: &Delimiters) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    let mut written = String::new();
    push_escape(&mut written, &format!("X{digits}"), delimiters);
    written
}

fn push_escape(written: &mut String, letters: &str, delimiters: &Delimiters) {
    let escape = delimiters.escape().map(char::from);
    written.extend(escape);
    written.push_str(letters);
    written.extend(escape);
}

/// Text under way, and bytes by number that have not become text yet.
struct Text {
    decoded: String,
    bytes: Vec<u8>,
}

impl Text {
    fn push_str(&mut self, part: &str) {
        if !part.is_empty() {
            self.settle();
            self.decoded.push_str(part);
        }
    }

    fn push(&mut self, character: char) {
        self.settle();
        self.decoded.push(character);
    }

    fn settle(&mut self) {
        if !self.bytes.is_empty() {
            self.decoded
                .push_str(&Charset::of(&self.bytes).decode(&self.bytes));
            self.bytes.clear();
        }
    }

    fn finish(mut self) -> String {
        self.settle();
        self.decoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(written: &str) -> String {
        decode(written.as_bytes(), &Delimiters::default(), Charset::Utf8).into_owned()
    }

    #[test]
    fn each_known_escape_is_replaced() {
        assert_eq!(read(r"a\F\b\S\c\R\d\T\e\E\f"), r"a|b^c~d&e\f");
        assert_eq!(read(r"one\.br\two"), "one\ntwo");
        assert_eq!(read(r"\X0D0a\"), "\r\n");
    }

    #[test]
    fn bytes_by_number_may_spell_a_character_together() {
        assert_eq!(read(r"\XC3A9\"), "é");
        assert_eq!(read(r"\XC3\\XA9\"), "é");
        assert_eq!(read(r"\XE9\"), "é");
    }

    #[test]
    fn unknown_and_broken_escapes_stay_as_written() {
        for written in [
            r"\H\bold\N\",
            r"\Z12\",
            r"\XZZ\",
            r"\X4\",
            r"\X\",
            r"C:\temp",
            r"\",
            r"\\",
            r"\P\",
        ] {
            assert_eq!(read(written), written);
        }
        assert_eq!(read(r"C:\temp\F\x"), r"C:\temp|x");
        assert_eq!(read(r"\H\F\N\"), r"\H\F\N\");
    }

    #[test]
    fn text_of_two_quotation_marks_is_not_written_as_null() {
        assert_eq!(encode(r#""""#, &Delimiters::default()), r"\X2222\");
    }

    proptest! {
        #[test]
        fn text_comes_back(text in r#"[a-zA-Z|^~\\&#.\r\n\t"\x0b\x1céŁ🩺]{0,20}"#) {
            for delimiters in [Delimiters::default(), Delimiters::new(b'#', b"|~^\\&").unwrap(), Delimiters::new(b'.', b"|~^&").unwrap()] {
                let written = encode(&text, &delimiters);
                prop_assert!(!written.contains(['\r', '\n', '\x0b', '\x1c']));
                prop_assert_eq!(decode(written.as_bytes(), &delimiters, Charset::Utf8), text.as_str());
            }
        }

        #[test]
        fn any_bytes_have_a_text(bytes: Vec<u8>) {
            decode(&bytes, &Delimiters::default(), Charset::of(&bytes));
        }
    }
}
