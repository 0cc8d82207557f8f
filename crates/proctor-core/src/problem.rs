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

/// What a deserializer says of a value of the wrong kind, without the names that Rust has for kinds.
pub fn in_plain_words(message: &str) -> String {
    const EXPECTED: &str = ", expected ";
    let Some((found, kind)) = message.rsplit_once(EXPECTED) else {
        return message.to_owned();
    };
    let kind = match kind {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" | "u128" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" | "i128" => "a whole number",
        "f32" | "f64" => "a number",
        "a nonzero u32" | "a nonzero u64" | "a nonzero usize" => "a whole number of at least 1",
        named if named.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{found}{EXPECTED}{kind}")
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
    fn kinds_are_told_without_the_names_that_rust_has_for_them() {
        for (said, plain) in [
            (
                "invalid value: integer `-1`, expected u32",
                "invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
            ),
            (
                "invalid type: string \"a, expected u8\", expected struct MountBody",
                "invalid type: string \"a, expected u8\", expected an object",
            ),
            ("missing field `a`", "missing field `a`"),
            (
                "invalid type: map, expected a string",
                "invalid type: map, expected a string",
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
