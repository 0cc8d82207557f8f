//! A message and its segments, read without copying.
//!
//! Reading finds the delimiters and where segments begin and end; everything inside a segment is divided when it is asked for. What
//! stands in a segment is never judged here (that is [`crate::validate`]), so a message with a broken line can still be looked into.

use std::borrow::Cow;

use crate::{
    charset::Charset,
    delimiters::{BadDelimiters, Delimiters},
    parse_error::ParseError,
    parts::{Encoding, Field},
    value::Value,
};

/// The most bytes that [`Message::parse`] reads; room for a scanned document inside an OBX.
pub const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

/// The most segments that a message may have.
pub const SEGMENT_LIMIT: usize = 100_000;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An HL7 v2 message as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    raw: &'a [u8],
    encoding: Encoding,
    segments: Vec<&'a [u8]>,
}

/// One segment of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    written: &'a [u8],
    encoding: Encoding,
}

impl<'a> Message<'a> {
    /// Reads a message of at most [`DEFAULT_LIMIT`] bytes.
    pub fn parse(raw: &'a [u8]) -> Result<Self, ParseError> {
        Self::parse_at_most(raw, DEFAULT_LIMIT)
    }

    /// Reads a message of at most `limit` bytes. Segments end with CR, LF or both; the last one may just end. Empty lines are skipped,
    /// and so are a byte order mark and white space before the header.
    pub fn parse_at_most(raw: &'a [u8], limit: usize) -> Result<Self, ParseError> {
        if raw.len() > limit {
            return Err(ParseError::TooLarge {
                length: raw.len(),
                limit,
            });
        }
        let content = content_of(raw);
        if content.is_empty() {
            return Err(ParseError::Empty);
        }
        let start = raw.len() - content.len();
        let delimiters = read_delimiters(content, start)?;
        let mut segments = Vec::with_capacity(16);
        let mut position = start;
        for line in content.split(|&byte| is_terminator(byte)) {
            if !line.is_empty() {
                if segments.len() == SEGMENT_LIMIT {
                    return Err(ParseError::TooManySegments {
                        limit: SEGMENT_LIMIT,
                        position,
                    });
                }
                segments.push(line);
            }
            position += line.len() + 1;
        }
        Ok(Self {
            raw,
            encoding: Encoding {
                delimiters,
                charset: Charset::of(content),
            },
            segments,
        })
    }

    /// The header alone of bytes that are not a message: because they are too many, or because MSH-2 makes no sense, which the
    /// usual delimiters then stand in for.
    pub(crate) fn salvage(raw: &'a [u8]) -> Option<Self> {
        let content = content_of(raw);
        let line = content.split(|&byte| is_terminator(byte)).next()?;
        let delimiters = read_delimiters(line, 0).ok().or_else(|| {
            let field = *line.strip_prefix(b"MSH")?.first()?;
            Delimiters::new(field, b"^~\\&").ok()
        })?;
        Some(Self {
            raw,
            encoding: Encoding {
                delimiters,
                charset: Charset::of(line),
            },
            segments: vec![line],
        })
    }

    /// The bytes as they were received.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The delimiters that the header names.
    pub fn delimiters(&self) -> &Delimiters {
        &self.encoding.delimiters
    }

    /// The character set that the message is read in.
    pub fn charset(&self) -> Charset {
        self.encoding.charset
    }

    /// All segments, in order.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> + '_ {
        self.segments.iter().map(|written| Segment {
            written,
            encoding: self.encoding,
        })
    }

    /// The segments of that name, in order.
    pub fn segments_named<'n>(
        &'n self,
        name: &'n str,
    ) -> impl Iterator<Item = Segment<'a>> + use<'n, 'a> {
        self.segments()
            .filter(move |segment| segment.name() == name)
    }

    /// MSH.
    pub fn header(&self) -> Segment<'a> {
        Segment {
            written: self.segments.first().copied().unwrap_or_default(),
            encoding: self.encoding,
        }
    }

    /// MSH-9.1: the type of the message, like ORU.
    pub fn code(&self) -> Value<'a> {
        self.of_header(9, 1)
    }

    /// MSH-9.2: the event that it tells of, like R01.
    pub fn event(&self) -> Value<'a> {
        self.of_header(9, 2)
    }

    /// MSH-10: what an acknowledgement refers to the message by.
    pub fn control_id(&self) -> Value<'a> {
        self.of_header(10, 1)
    }

    /// A component of a field of MSH.
    pub(crate) fn of_header(&self, field: usize, component: usize) -> Value<'a> {
        let field = self.header().field(field);
        field
            .map(|field| field.component(component))
            .unwrap_or_default()
    }

    /// The message with every segment ended by CR: the bytes themselves, if they were written like that.
    pub fn serialise(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.raw.len() + 1);
        for segment in &self.segments {
            bytes.extend_from_slice(segment);
            bytes.push(b'\r');
        }
        bytes
    }
}

impl<'a> Segment<'a> {
    /// What stands before the first field, usually three capital letters or digits; empty if it is not even text.
    pub fn name(&self) -> &'a str {
        let name = self.pieces().next().unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }

    /// The segment as it was written, without its terminator.
    pub fn raw(&self) -> &'a [u8] {
        self.written
    }

    /// The text of the segment as it was written.
    pub fn as_written(&self) -> Cow<'a, str> {
        self.encoding.charset.decode(self.written)
    }

    /// The field of that number, counted from 1. MSH-1 is the field separator itself, and MSH-2 the other delimiters.
    pub fn field(&self, number: usize) -> Option<Field<'a>> {
        self.fields().nth(number.checked_sub(1)?)
    }

    /// All fields that are written, empty ones included.
    pub fn fields(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let encoding = self.encoding;
        let is_header = self.is_header();
        let separator = is_header.then(|| &self.written[3..4]);
        separator
            .into_iter()
            .chain(self.pieces().skip(1))
            .enumerate()
            .map(move |(position, piece)| {
                if is_header && position < 2 {
                    Field::literal(piece, encoding)
                } else {
                    Field::new(piece, encoding)
                }
            })
    }

    fn is_header(&self) -> bool {
        self.written.starts_with(b"MSH") && self.name() == "MSH" && self.written.len() > 3
    }

    fn pieces(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let separator = self.encoding.delimiters.field();
        self.written.split(move |&byte| byte == separator)
    }
}

/// The bytes without what may stand before a header.
fn content_of(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(raw)
        .trim_ascii_start()
}

fn read_delimiters(content: &[u8], start: usize) -> Result<Delimiters, ParseError> {
    let Some(rest) = content.strip_prefix(b"MSH") else {
        return Err(ParseError::NoHeader { position: start });
    };
    let broken = |reason| ParseError::Delimiters {
        reason,
        position: start + 3,
    };
    let (&field, rest) = rest
        .split_first()
        .filter(|(field, _)| !is_terminator(**field))
        .ok_or_else(|| broken(BadDelimiters::Missing))?;
    let encoding = rest
        .split(|&byte| byte == field || is_terminator(byte))
        .next()
        .unwrap_or_default();
    Delimiters::new(field, encoding).map_err(broken)
}

fn is_terminator(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(raw: &[u8]) -> Vec<String> {
        let message = Message::parse(raw).unwrap();
        message.segments().map(|s| s.name().to_owned()).collect()
    }

    #[test]
    fn all_line_ends_are_read_and_the_last_may_be_missing() {
        for raw in [
            "MSH|^~\\&|a\rPID|1\rPV1|1\r",
            "MSH|^~\\&|a\nPID|1\nPV1|1",
            "\u{feff}\r\n MSH|^~\\&|a\r\n\r\nPID|1\r\nPV1|1\r\n\n",
        ] {
            assert_eq!(names(raw.as_bytes()), ["MSH", "PID", "PV1"]);
        }
    }

    #[test]
    fn msh_counts_its_separator_as_a_field() {
        let message = Message::parse(b"MSH|^~\\&|app|fac").unwrap();
        let header = message.header();
        let field = |number: usize| header.field(number).unwrap().value();
        assert_eq!(field(1), Value::from("|"));
        assert_eq!(field(2), Value::from("^~\\&"));
        assert_eq!(field(3), Value::from("app"));
        assert_eq!((header.field(0), header.field(5)), (None, None));
        assert_eq!(header.fields().count(), 4);
    }

    #[test]
    fn another_segment_counts_from_its_name() {
        let message = Message::parse(b"MSH|^~\\&\rPID|1||x\rZZZ").unwrap();
        let segments: Vec<_> = message.segments().collect();
        assert_eq!(segments[1].fields().count(), 3);
        assert_eq!(segments[1].field(3).unwrap().value(), Value::from("x"));
        assert_eq!(segments[2].fields().count(), 0);
        assert_eq!(segments[2].field(1), None);
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        use ParseError::*;
        assert_eq!(Message::parse(b" \r\n"), Err(Empty));
        assert_eq!(Message::parse(b"\r\nPID|1"), Err(NoHeader { position: 2 }));
        assert_eq!(
            Message::parse(b"MSH\rPID|1"),
            Err(Delimiters {
                reason: BadDelimiters::Missing,
                position: 3
            })
        );
        assert_eq!(
            Message::parse_at_most(b"MSH|^~\\&|", 4),
            Err(TooLarge {
                length: 9,
                limit: 4
            })
        );
        let many = format!("MSH|^~\\&\r{}", "A\r".repeat(SEGMENT_LIMIT));
        assert_eq!(
            Message::parse(many.as_bytes()),
            Err(TooManySegments {
                limit: SEGMENT_LIMIT,
                position: many.len() - 2
            })
        );
    }

    #[test]
    fn a_message_that_is_not_utf_8_is_latin_1() {
        let message = Message::parse(b"MSH|^~\\&\rPID|||||Zo\xeb").unwrap();
        assert_eq!(message.charset(), Charset::Latin1);
        let pid = message.segments_named("PID").next().unwrap();
        assert_eq!(pid.field(5).unwrap().value(), Value::from("Zoë"));
    }
}
