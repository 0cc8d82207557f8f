//! What is wrong with something that somebody wrote: where, and what would be right.
//!
//! There is one type for it, whoever finds it: the reader of documents ([`crate::reader`]), the checks of a request's fields, the linter of
//! assertions. How a problem is shown (a line of a report, a field of an answer) is up to whoever shows it.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where, from the top of what was read: `tasks.0.name`; empty for all of it.
    pub path: String,
    /// Where in the text, if it came from one.
    pub span: Option<Span>,
    /// What is wrong there, and what would be right.
    pub message: String,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a look.
    Warning,
    /// It must be put right first.
    Error,
}

impl Severity {
    /// The word that people read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A part of a text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub offset: usize,
    /// How long it is.
    pub length: usize,
}

impl Problem {
    /// Something that must be put right.
    pub fn error(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.into(),
            span: None,
            message: message.into(),
        }
    }

    /// Something worth a look.
    pub fn warning(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(path, message)
        }
    }

    /// The same problem as seen from further up, where what was read stands at `path`.
    #[must_use]
    pub fn below(self, path: &str) -> Self {
        Self {
            path: join(path, &self.path),
            ..self
        }
    }
}

/// What a deserializer says of a value, in the words of this house: without the names that Rust and its libraries have for kinds of values, and
/// without the position in a text that nobody sees.
pub fn in_plain_words(message: &str) -> String {
    let message = without_position(message);
    if let Some(name) = quoted_after(message, "missing field ") {
        return format!("'{name}' is required");
    }
    if let Some(name) = quoted_after(message, "duplicate field ") {
        return format!("'{name}' is there twice");
    }
    if let Some(unknown) = message.strip_suffix(", there are no fields")
        && let Some(name) = quoted_after(unknown, "unknown field ")
    {
        return format!("'{name}' is not known here");
    }
    let Some((found, wanted)) = message.rsplit_once(", expected ") else {
        return match message {
            "invalid number" | "number out of range" => {
                "is not a number that can be here".to_owned()
            }
            // All that is said of a list or a number in the place of a word from a closed list.
            "expected value" => "is not a value that can be here".to_owned(),
            other => other.to_owned(),
        };
    };
    let unknown = quoted_after(found, "unknown variant ");
    if let Some(name) = unknown.or_else(|| quoted_after(found, "unknown field ")) {
        return format!("'{name}' is none of {}", listed(wanted));
    }
    let wanted = plain_kind(wanted);
    let found = found
        .strip_prefix("invalid type: ")
        .or_else(|| found.strip_prefix("invalid value: "));
    match found {
        Some(found) => format!("must be {wanted}, not {}", plain_value(found)),
        None => format!("must be {wanted}"),
    }
}

/// The message without where in a text it came from.
fn without_position(message: &str) -> &str {
    let Some((said, position)) = message.rsplit_once(" at line ") else {
        return message;
    };
    let is_position = position
        .chars()
        .all(|letter| letter.is_ascii_digit() || " column".contains(letter));
    if is_position { said } else { message }
}

/// The name in backquotes after `prefix`, when that is all there is.
fn quoted_after<'m>(message: &'m str, prefix: &str) -> Option<&'m str> {
    let rest = message.strip_prefix(prefix)?;
    rest.strip_prefix('`')?.strip_suffix('`')
}

/// The names in what a deserializer wanted, `one of `a`, `b``, without the marks around them.
fn listed(wanted: &str) -> String {
    let names = wanted.strip_prefix("one of ").unwrap_or(wanted);
    names.replace('`', "").replace(" or ", ", ")
}

/// A kind of value.
fn plain_kind(kind: &str) -> &str {
    match kind {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" | "u128" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" | "i128" => "a whole number",
        "f32" | "f64" | "a JSON number" => "a number",
        "a nonzero u32" | "a nonzero u64" | "a nonzero usize" => "a whole number of at least 1",
        "a string" | "a borrowed string" | "a character" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "string or map" => "a text or an object",
        "unit" => "null",
        named if named.starts_with("struct ") || named.contains("tagged enum ") => "an object",
        named if named.starts_with("tuple ") || named.starts_with("a tuple ") => "a list",
        named if named.starts_with("an array of length ") => "a list",
        other => other,
    }
}

/// A value that was found.
fn plain_value(found: &str) -> String {
    let in_backquotes = |kind: &str| quoted_after(found, kind);
    if let Some(number) = in_backquotes("integer ").or_else(|| in_backquotes("floating point ")) {
        return format!("the number {number}");
    }
    if let Some(flag) = in_backquotes("boolean ") {
        return flag.to_owned();
    }
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    let kind = match found {
        "number" => "a number",
        "sequence" => "a list",
        "map" => "an object",
        "unit value" | "Option value" => "null",
        other => other,
    };
    kind.to_owned()
}

/// The path of `name` inside what stands at `path`; either may be empty.
pub fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Several problems in one sentence.
pub fn in_words(problems: &[Problem]) -> String {
    let said: Vec<String> = problems.iter().map(Problem::to_string).collect();
    said.join("; ")
}

/// Everything that is wrong, at least one thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", in_words(.0))]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Nothing, if nothing is wrong; otherwise all of it.
    pub fn none_of(found: Vec<Problem>) -> Result<(), Self> {
        if found.is_empty() {
            Ok(())
        } else {
            Err(Self(found))
        }
    }

    /// Everything that is wrong, where something is.
    pub fn of(found: Vec<Problem>) -> Self {
        Self(found)
    }

    /// The problems, in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// The problems, in the order in which they were found.
    pub fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_deserializer_says_is_told_without_the_names_that_rust_has_for_it() {
        for (said, plain) in [
            (
                "invalid value: integer `-1`, expected u32",
                "must be a whole number from 0 to 4294967295, not the number -1",
            ),
            (
                "invalid type: string \"a, expected u8\", expected struct MountBody",
                "must be an object, not the text \"a, expected u8\"",
            ),
            (
                "invalid type: map, expected a string at line 3 column 12",
                "must be a text, not an object",
            ),
            (
                "invalid type: sequence, expected a map",
                "must be an object, not a list",
            ),
            (
                "invalid type: floating point `1.5`, expected u64",
                "must be a whole number that is not negative, not the number 1.5",
            ),
            (
                "invalid type: boolean `true`, expected a sequence",
                "must be a list, not true",
            ),
            (
                "invalid type: null, expected a boolean",
                "must be true or false, not null",
            ),
            (
                "invalid length 3, expected a tuple of size 2",
                "must be a list",
            ),
            (
                "invalid type: number, expected string or map",
                "must be a text or an object, not a number",
            ),
            ("invalid number", "is not a number that can be here"),
            ("missing field `a`", "'a' is required"),
            ("duplicate field `a`", "'a' is there twice"),
            (
                "unknown variant `x`, expected `a` or `b`",
                "'x' is none of a, b",
            ),
            (
                "unknown field `x`, expected one of `a`, `b`, `c`",
                "'x' is none of a, b, c",
            ),
            (
                "unknown field `x`, there are no fields",
                "'x' is not known here",
            ),
            ("the weight must be positive", "the weight must be positive"),
            (
                "nobody was there at line 5 of the play",
                "nobody was there at line 5 of the play",
            ),
        ] {
            assert_eq!(in_plain_words(said), plain);
        }
    }

    #[test]
    fn problems_are_one_sentence_each_with_its_place() {
        let problems = vec![
            Problem::error("", "must be an object"),
            Problem::warning("0.name", "is long").below("tasks"),
            Problem::error("", "must be a list").below("tasks.1"),
        ];
        let problems = Problems::none_of(problems).unwrap_err();
        assert_eq!(
            problems.to_string(),
            "must be an object; tasks.0.name: is long; tasks.1: must be a list"
        );
        assert_eq!(Problems::none_of(Vec::new()), Ok(()));
    }
}
