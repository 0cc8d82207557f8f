//! The primitive types and the forms that their values must have.

use serde_json::Value;

use super::Name;
use crate::primitive::moment::{Moment, Precision, is_time};
use crate::reference::is_id;

/// A type that is one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// `base64Binary`.
    Base64Binary,
    /// `boolean`.
    Boolean,
    /// `canonical`.
    Canonical,
    /// `code`.
    Code,
    /// `date`.
    Date,
    /// `dateTime`.
    DateTime,
    /// `decimal`.
    Decimal,
    /// `id`.
    Id,
    /// `instant`.
    Instant,
    /// `integer`.
    Integer,
    /// `markdown`.
    Markdown,
    /// `oid`.
    Oid,
    /// `positiveInt`.
    PositiveInt,
    /// `string`.
    String,
    /// `time`.
    Time,
    /// `unsignedInt`.
    UnsignedInt,
    /// `uri`.
    Uri,
    /// `url`.
    Url,
    /// `uuid`.
    Uuid,
    /// `xhtml`.
    Xhtml,
}

/// The longest string that the standard allows, in bytes.
const LONGEST_STRING: usize = 1024 * 1024;

impl Primitive {
    /// The primitive type of a name; none if the type has elements of its own.
    pub fn named(name: Name) -> Option<Self> {
        Some(match name {
            "base64Binary" => Self::Base64Binary,
            "boolean" => Self::Boolean,
            "canonical" => Self::Canonical,
            "code" => Self::Code,
            "date" => Self::Date,
            "dateTime" => Self::DateTime,
            "decimal" => Self::Decimal,
            "id" => Self::Id,
            "instant" => Self::Instant,
            "integer" => Self::Integer,
            "markdown" => Self::Markdown,
            "oid" => Self::Oid,
            "positiveInt" => Self::PositiveInt,
            "string" => Self::String,
            "time" => Self::Time,
            "unsignedInt" => Self::UnsignedInt,
            "uri" => Self::Uri,
            "url" => Self::Url,
            "uuid" => Self::Uuid,
            "xhtml" => Self::Xhtml,
            _ => return None,
        })
    }

    /// What a value must look like, in words.
    pub fn form(self) -> &'static str {
        match self {
            Self::Base64Binary => "a string of base64",
            Self::Boolean => "true or false",
            Self::Canonical => "a canonical URL as a string without white space",
            Self::Code => "a code as a string without leading, trailing or repeated white space",
            Self::Date => "a real date as YYYY, YYYY-MM or YYYY-MM-DD",
            Self::DateTime => {
                "a real date as YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss[.fff] with a zone (Z or ±hh:mm)"
            }
            Self::Decimal => "a number",
            Self::Id => "an id of 1 to 64 letters, digits, `-` and `.`",
            Self::Instant => "an instant as YYYY-MM-DDThh:mm:ss[.fff] with a zone (Z or ±hh:mm)",
            Self::Integer => "a whole number of 32 bits",
            Self::Markdown => "a string that is not empty",
            Self::Oid => "an OID as urn:oid:…",
            Self::PositiveInt => "a whole number from 1 to 2147483647",
            Self::String => {
                "a string that is not empty, without control characters, of at most 1 MB"
            }
            Self::Time => "a time of day as hh:mm:ss[.fff]",
            Self::UnsignedInt => "a whole number from 0 to 2147483647",
            Self::Uri => "a URI as a string without white space",
            Self::Url => "a URL as a string without white space",
            Self::Uuid => "a UUID as urn:uuid:…, in lower case",
            Self::Xhtml => "XHTML in a <div>",
        }
    }

    /// Whether a JSON value has the form of this type.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Boolean => value.is_boolean(),
            Self::Decimal => value.is_number(),
            Self::Integer => whole(value, i64::from(i32::MIN)),
            Self::UnsignedInt => whole(value, 0),
            Self::PositiveInt => whole(value, 1),
            _ => value.as_str().is_some_and(|text| self.accepts_text(text)),
        }
    }

    fn accepts_text(self, text: &str) -> bool {
        match self {
            Self::Boolean
            | Self::Decimal
            | Self::Integer
            | Self::UnsignedInt
            | Self::PositiveInt => false,
            Self::Base64Binary => is_base64(text),
            Self::Canonical | Self::Uri | Self::Url => !text.is_empty() && !text.contains(is_space),
            Self::Code => is_code(text),
            Self::Date => {
                Moment::parse(text).is_some_and(|moment| moment.precision <= Precision::Day)
            }
            Self::DateTime => Moment::parse(text).is_some_and(|moment| {
                moment.precision <= Precision::Day
                    || (moment.precision >= Precision::Second && moment.zoned)
            }),
            Self::Instant => Moment::parse(text)
                .is_some_and(|moment| moment.precision >= Precision::Second && moment.zoned),
            Self::Time => is_time(text),
            Self::Id => is_id(text),
            Self::Markdown => !text.is_empty() && text.len() <= LONGEST_STRING,
            Self::String => is_string(text),
            Self::Oid => text.strip_prefix("urn:oid:").is_some_and(is_oid),
            Self::Uuid => text.strip_prefix("urn:uuid:").is_some_and(is_uuid),
            Self::Xhtml => text.trim_start().starts_with("<div"),
        }
    }
}

fn whole(value: &Value, least: i64) -> bool {
    value
        .as_i64()
        .is_some_and(|number| (least..=i64::from(i32::MAX)).contains(&number))
}

fn is_string(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST_STRING
        && text
            .bytes()
            .all(|byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
}

/// White space as the standard's patterns mean it: a no-break space is part of a word.
fn is_space(character: char) -> bool {
    character.is_ascii_whitespace()
}

/// Words separated by single white space.
fn is_code(text: &str) -> bool {
    text.split(is_space).all(|word| !word.is_empty())
}

/// Groups of four characters, the last one filled up with `=`, with white space anywhere. Attachments are long, so that a
/// table says what each byte is.
fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    let padding = bytes
        .iter()
        .position(|byte| *byte == b'=')
        .unwrap_or(bytes.len());
    let (body, padding) = bytes.split_at(padding);
    let digits: usize = body
        .iter()
        .map(|byte| usize::from(IS_BASE64_DIGIT[usize::from(*byte)]))
        .sum();
    let spaces = |part: &[u8]| {
        part.iter()
            .filter(|byte| byte.is_ascii_whitespace())
            .count()
    };
    let signs = padding.iter().filter(|byte| **byte == b'=').count();
    let nothing_else =
        digits + spaces(body) == body.len() && signs + spaces(padding) == padding.len();
    nothing_else && digits > 0 && (digits + signs).is_multiple_of(4) && signs <= 2
}

static IS_BASE64_DIGIT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let character = byte as u8;
        table[byte] = character.is_ascii_alphanumeric() || character == b'+' || character == b'/';
        byte += 1;
    }
    table
};

/// Numbers without leading zeros, separated by points, the first of them 0, 1 or 2.
fn is_oid(text: &str) -> bool {
    let number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    matches!(text.as_bytes().first(), Some(b'0'..=b'2'))
        && text.as_bytes().get(1) == Some(&b'.')
        && text.split('.').all(number)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(position, byte)| match position {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(primitive: Primitive, good: &[Value], bad: &[Value]) {
        for value in good {
            assert!(
                primitive.accepts(value),
                "{primitive:?} should accept {value}"
            );
        }
        for value in bad {
            assert!(
                !primitive.accepts(value),
                "{primitive:?} should refuse {value}"
            );
        }
    }

    #[test]
    fn numbers_have_their_ranges() {
        check(
            Primitive::Integer,
            &[json!(0), json!(-5), json!(2_147_483_647)],
            &[
                json!("1"),
                json!(1.5),
                json!(2_147_483_648_i64),
                json!(true),
            ],
        );
        check(Primitive::PositiveInt, &[json!(1)], &[json!(0), json!(-1)]);
        check(Primitive::UnsignedInt, &[json!(0)], &[json!(-1)]);
        check(
            Primitive::Decimal,
            &[json!(1.10), json!(-3)],
            &[json!("1.10")],
        );
        check(
            Primitive::Boolean,
            &[json!(true)],
            &[json!("true"), json!(1)],
        );
    }

    #[test]
    fn dates_have_their_precisions() {
        check(
            Primitive::Date,
            &[json!("2024"), json!("2024-02-29")],
            &[
                json!("2023-02-29"),
                json!("2024-01-01T10:00:00Z"),
                json!("01.02.2024"),
            ],
        );
        check(
            Primitive::DateTime,
            &[
                json!("2024"),
                json!("2024-01-01T10:00:00Z"),
                json!("2024-01-01T10:00:00.123+01:00"),
            ],
            &[json!("2024-01-01T10:00:00"), json!("2024-01-01T10:00Z")],
        );
        check(
            Primitive::Instant,
            &[json!("2024-01-01T10:00:00.5-05:00")],
            &[json!("2024-01-01"), json!("2024-01-01T10:00:00")],
        );
        check(
            Primitive::Time,
            &[json!("10:00:00"), json!("23:59:59.9")],
            &[json!("10:00"), json!("24:00:00"), json!("10:00:00Z")],
        );
    }

    #[test]
    fn texts_have_their_alphabets() {
        check(
            Primitive::Id,
            &[json!("a-1.B")],
            &[json!(""), json!("a_b"), json!("a".repeat(65))],
        );
        check(
            Primitive::Code,
            &[json!("a"), json!("a b")],
            &[json!(""), json!(" a"), json!("a "), json!("a  b")],
        );
        check(
            Primitive::Uri,
            &[json!("urn:x"), json!("http://a/b|1#c")],
            &[json!(""), json!("a b")],
        );
        check(
            Primitive::Oid,
            &[json!("urn:oid:1.2.840.0")],
            &[
                json!("1.2.3"),
                json!("urn:oid:3.1"),
                json!("urn:oid:1.02"),
                json!("urn:oid:1"),
            ],
        );
        check(
            Primitive::Uuid,
            &[json!("urn:uuid:c757873d-ec9a-4326-a141-556f43239520")],
            &[
                json!("c757873d-ec9a-4326-a141-556f43239520"),
                json!("urn:uuid:C757873D-ec9a-4326-a141-556f43239520"),
            ],
        );
        check(
            Primitive::Base64Binary,
            &[json!("QUJD"), json!("QUI=\n"), json!("QQ==")],
            &[json!(""), json!("QUJ"), json!("QU=C"), json!("Q===")],
        );
        check(
            Primitive::String,
            &[json!("a\nb"), json!(" ")],
            &[json!(""), json!("\u{0}"), json!(1)],
        );
    }
}
