//! Reading a path.

use std::{fmt, str::FromStr};

use thiserror::Error;

use super::{Index, Path};

/// Text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path:?} is not an HL7 path: at character {position} it should have {expected}")]
pub struct PathError {
    /// The text.
    pub path: String,
    /// The character at which reading stopped, counted from 1.
    pub position: usize,
    /// What could have stood there.
    pub expected: Expected,
}

/// What could have stood where a path stops making sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A segment's name.
    SegmentName,
    /// `.` or `-` and a field.
    Field,
    /// The number of a part, from 1.
    Number,
    /// An index in brackets: from 1, or `*`.
    BracketIndex,
    /// An index in parentheses: from 0.
    ParenthesisIndex,
    /// A part that may follow here.
    Part,
    /// Nothing more.
    End,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SegmentName => {
                "the name of a segment: three capital letters or digits, like PID \
                 (groups are not known here)"
            }
            Self::Field => "\".\" or \"-\" and the number of a field, as in PID.5",
            Self::Number => "a number from 1 to 65535",
            Self::BracketIndex => "an index from 1, or *, and \"]\"",
            Self::ParenthesisIndex => "an index from 0 and \")\"",
            Self::Part => {
                "the next of field, repetition, component and subcomponent, or nothing more"
            }
            Self::End => "its end",
        })
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut reader = Reader { rest: text };
        reader.path().map_err(|expected| PathError {
            path: text.to_owned(),
            position: text[..text.len() - reader.rest.len()].chars().count() + 1,
            expected,
        })
    }
}

/// A path being read. On failure `rest` starts where it went wrong.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn path(&mut self) -> Result<Path, Expected> {
        // Terser: from the root of the message, and search for the segment.
        let _ = self.take('/');
        let _ = self.take('.');
        let segment = self.segment_name()?;
        let occurrence = self.index()?;
        let before = self.rest;
        if !matches!(self.separator(), Some(None | Some('F'))) {
            self.rest = before;
            return Err(Expected::Field);
        }
        let mut path = Path {
            segment,
            occurrence,
            field: self.number()?,
            repetition: self.index()?,
            component: None,
            subcomponent: None,
        };
        loop {
            let before = self.rest;
            let Some(letter) = self.separator() else {
                break;
            };
            self.part(letter, &mut path).inspect_err(|expected| {
                if *expected == Expected::Part {
                    self.rest = before;
                }
            })?;
        }
        if self.rest.is_empty() {
            Ok(path)
        } else {
            Err(Expected::End)
        }
    }

    fn part(&mut self, letter: Option<char>, path: &mut Path) -> Result<(), Expected> {
        match (letter, path.component, path.subcomponent) {
            (Some('R'), None, None) if path.repetition.is_none() => {
                path.repetition = Some(Index::Nth(self.number()?));
            }
            (None | Some('C'), None, None) => path.component = Some(self.number()?),
            (None | Some('S'), Some(_), None) => path.subcomponent = Some(self.number()?),
            _ => return Err(Expected::Part),
        }
        Ok(())
    }

    fn segment_name(&mut self) -> Result<String, Expected> {
        let name = self
            .rest
            .get(..3)
            .filter(|name| is_segment_name(name))
            .ok_or(Expected::SegmentName)?;
        let after = &self.rest[3..];
        if after.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '/')) {
            return Err(Expected::SegmentName);
        }
        self.rest = after;
        Ok(name.to_owned())
    }

    /// `[2]`, `[*]` or Terser's `(1)`.
    fn index(&mut self) -> Result<Option<Index>, Expected> {
        if self.take('[') {
            let index = if self.take('*') {
                Index::Any
            } else {
                Index::Nth(self.number().map_err(|_| Expected::BracketIndex)?)
            };
            self.close(']', Expected::BracketIndex)?;
            Ok(Some(index))
        } else if self.take('(') {
            let number = self.digits().and_then(|from_zero| from_zero.checked_add(1));
            let index = Index::Nth(number.ok_or(Expected::ParenthesisIndex)?);
            self.close(')', Expected::ParenthesisIndex)?;
            Ok(Some(index))
        } else {
            Ok(None)
        }
    }

    /// `.` or `-`, and the letter behind it, if there is one.
    fn separator(&mut self) -> Option<Option<char>> {
        if !self.take('.') && !self.take('-') {
            return None;
        }
        let letter = self.rest.chars().next();
        let letter = letter.filter(|next| matches!(next, 'F' | 'R' | 'C' | 'S'));
        Some(letter.filter(|&letter| self.take(letter)))
    }

    fn number(&mut self) -> Result<u16, Expected> {
        let before = self.rest;
        self.digits().filter(|&number| number > 0).ok_or_else(|| {
            self.rest = before;
            Expected::Number
        })
    }

    fn digits(&mut self) -> Option<u16> {
        let end = self
            .rest
            .find(|next: char| !next.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let number = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(number)
    }

    fn close(&mut self, closing: char, expected: Expected) -> Result<(), Expected> {
        if self.take(closing) {
            Ok(())
        } else {
            Err(expected)
        }
    }

    fn take(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// Whether this can be the name of a segment.
pub(crate) fn is_segment_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() == 3
        && bytes[0].is_ascii_uppercase()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_mistake_is_named() {
        let said: Vec<String> = [
            "",
            "PI",
            "pid.5",
            "PIDX.5",
            "/PATIENT_RESULT/.PID-5",
            "/PID/.OBX-5",
            "PID",
            "PID5",
            "PID.",
            "PID.x",
            "PID.0",
            "PID.5.0",
            "PID.70000",
            "PID.C5",
            "PID[0].5",
            "PID[x].5",
            "PID[1.5",
            "PID(-1).5",
            "PID(65535).5",
            "PID.5[2].R2",
            "PID.5.1.2.3",
            "PID.5.S1",
            "PID.5.1 ",
            "PID.5[é]",
        ]
        .iter()
        .map(|text| text.parse::<Path>().unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    fn index() -> impl Strategy<Value = Option<Index>> {
        proptest::option::of(prop_oneof![
            (1..=u16::MAX).prop_map(Index::Nth),
            Just(Index::Any)
        ])
    }

    prop_compose! {
        fn path()(
            segment in "[A-Z][A-Z0-9]{2}",
            occurrence in index(),
            field in 1..=u16::MAX,
            repetition in index(),
            parts in proptest::option::of((1..=u16::MAX, proptest::option::of(1..=u16::MAX))),
        ) -> Path {
            let component = parts.map(|(component, _)| component);
            let subcomponent = parts.and_then(|(_, subcomponent)| subcomponent);
            Path { segment, occurrence, field, repetition, component, subcomponent }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(path in path()) {
            prop_assert_eq!(path.to_string().parse::<Path>(), Ok(path));
        }

        #[test]
        fn any_text_is_a_path_or_an_error_within_it(text in "[/.]{0,2}[A-Z]{2,4}[\\[\\](){}*.FRCS0-9-é]{0,12}") {
            match text.parse::<Path>() {
                Ok(path) => prop_assert_eq!(path.to_string().parse::<Path>(), Ok(path)),
                Err(error) => prop_assert!(error.position <= text.chars().count() + 1),
            }
        }
    }
}
