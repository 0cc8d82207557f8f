//! Paths to elements, as assertions write them.
//!
//! ```text
//! SEG.element[.component]     NM1.9, STC.1.2
//! SEG[n].…                    EB[1].1         the n-th such segment of the transaction
//! SEG[code].…                 NM1[IL].9       the first whose element 1 is the code
//! SEG[k=code].…               HL[3=22].1      the first whose element k is the code
//! SEG.element[r].…            EB.3[2]         the r-th repetition of the element
//! ```
//!
//! Everything counts from 1. In brackets after a segment, **one digit is always a position**:
//! `EB[1].1` is the first EB, and `EB[6].1` the sixth, whatever its code. A number of two or three
//! digits that does not begin with 0 is a position if the transaction has that many such segments,
//! and a code if not: `DTP[291].3` and `NM1[41].9` are codes in every transaction one meets. All
//! else is a code (`NM1[03]`, `NM1[IL]`, `REF[1K]`). `SEG[1=code]` always means the code.
//!
//! An element without a component reads as the whole: components joined by `:` and repetitions by
//! `^`, whatever delimiters the interchange has.

use std::{fmt, str::FromStr};

use crate::segment::{Element, Segment};

/// Which of several segments of one name is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Selector {
    First,
    Position(usize),
    /// A number that may also be a code; the text is what was written.
    PositionOrCode(usize, String),
    Code(String),
    Element(usize, String),
}

/// A path to an element or a component of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    tag: String,
    selector: Selector,
    element: usize,
    repetition: Option<usize>,
    component: Option<usize>,
}

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The segment's name is not two or three capital letters and digits.
    #[error("{path:?}: a path begins with the name of a segment, such as NM1")]
    Segment {
        /// The whole path.
        path: String,
    },
    /// The brackets are empty, not closed, or followed by something else than a dot.
    #[error("{path:?}: brackets hold a position, a code or k=code, and a dot follows")]
    Brackets {
        /// The whole path.
        path: String,
    },
    /// An element, repetition or component is not a number from 1 to 999.
    #[error("{path:?}: {part:?} is not a number from 1 to 999")]
    Number {
        /// The whole path.
        path: String,
        /// The part that does not fit.
        part: String,
    },
    /// There is no element, or more than element and component.
    #[error("{path:?}: after the segment stand an element and perhaps a component: NM1.9, SVC.1.2")]
    Parts {
        /// The whole path.
        path: String,
    },
}

impl Path {
    /// The name of the segment it leads to.
    pub fn segment_tag(&self) -> &str {
        &self.tag
    }

    /// The segment it leads to.
    pub fn segment<'s>(&self, segments: &'s [Segment]) -> Option<&'s Segment> {
        let mut named = segments.iter().filter(|one| one.tag == self.tag);
        let coded = |number: usize, code: &str| {
            let holds = |one: &&Segment| one.element(number).is_some_and(|it| says(it, code));
            segments
                .iter()
                .filter(|one| one.tag == self.tag)
                .find(holds)
        };
        match &self.selector {
            Selector::First => named.next(),
            Selector::Position(position) => named.nth(position - 1),
            Selector::PositionOrCode(position, code) => {
                named.nth(position - 1).or_else(|| coded(1, code))
            }
            Selector::Code(code) => coded(1, code),
            Selector::Element(number, code) => coded(*number, code),
        }
    }

    /// The value it leads to; X12 does not tell absent from empty, and both are `None`.
    pub fn value(&self, segments: &[Segment]) -> Option<String> {
        let element = self.segment(segments)?.element(self.element)?;
        let value = match (self.repetition, self.component) {
            (None, None) => element.joined(),
            (repetition, component) => {
                let one = element.repetition(repetition.unwrap_or(1))?;
                match component {
                    Some(component) => one.component(component).to_owned(),
                    None => one.0.join(":"),
                }
            }
        };
        Some(value).filter(|value| !value.is_empty())
    }
}

/// Whether any repetition of an element is the code: as a whole or as its first component.
fn says(element: &Element, code: &str) -> bool {
    let mut repetitions = element.0.iter();
    repetitions.any(|one| one.component(1) == code || one.0.join(":") == code)
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let path = || text.to_owned();
        let end = text
            .find(|letter: char| !(letter.is_ascii_uppercase() || letter.is_ascii_digit()))
            .unwrap_or(text.len());
        let (tag, rest) = text.split_at(end);
        let begins_right = tag.starts_with(|letter: char| letter.is_ascii_uppercase());
        if !(2..=3).contains(&tag.len()) || !begins_right {
            return Err(PathError::Segment { path: path() });
        }
        let (selector, rest) = match rest.strip_prefix('[') {
            None => (Selector::First, rest),
            Some(inside) => {
                let (inside, rest) = inside
                    .split_once(']')
                    .ok_or_else(|| PathError::Brackets { path: path() })?;
                (selector(text, inside)?, rest)
            }
        };
        let Some(rest) = rest.strip_prefix('.') else {
            return Err(match (&selector, rest) {
                (_, "") => PathError::Parts { path: path() },
                _ => PathError::Brackets { path: path() },
            });
        };
        let (element, component) = match rest.split_once('.') {
            Some((element, component)) => (element, Some(component)),
            None => (rest, None),
        };
        if component.is_some_and(|component| component.contains('.')) {
            return Err(PathError::Parts { path: path() });
        }
        let (element, repetition) = match element.split_once('[') {
            None => (element, None),
            Some((element, repetition)) => {
                let repetition = repetition
                    .strip_suffix(']')
                    .ok_or_else(|| PathError::Brackets { path: path() })?;
                (element, Some(number(text, repetition)?))
            }
        };
        Ok(Self {
            tag: tag.to_owned(),
            selector,
            element: number(text, element)?,
            repetition,
            component: component.map(|part| number(text, part)).transpose()?,
        })
    }
}

fn selector(path: &str, inside: &str) -> Result<Selector, PathError> {
    let brackets = || PathError::Brackets {
        path: path.to_owned(),
    };
    if let Some((element, code)) = inside.split_once('=') {
        if code.is_empty() || code.contains('[') {
            return Err(brackets());
        }
        return Ok(Selector::Element(number(path, element)?, code.to_owned()));
    }
    if inside.is_empty() || inside.contains('[') {
        return Err(brackets());
    }
    let counts = inside.len() <= 3
        && inside.bytes().all(|byte| byte.is_ascii_digit())
        && !inside.starts_with('0');
    if !counts {
        return Ok(Selector::Code(inside.to_owned()));
    }
    let position = number(path, inside)?;
    Ok(match inside.len() {
        1 => Selector::Position(position),
        _ => Selector::PositionOrCode(position, inside.to_owned()),
    })
}

fn number(path: &str, part: &str) -> Result<usize, PathError> {
    let digits = part.bytes().all(|byte| byte.is_ascii_digit()) && part.len() <= 3;
    let number = digits.then(|| part.parse().ok()).flatten();
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| PathError::Number {
            path: path.to_owned(),
            part: part.to_owned(),
        })
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tag)?;
        match &self.selector {
            Selector::First => {}
            Selector::Position(position) => write!(f, "[{position}]")?,
            Selector::PositionOrCode(_, code) | Selector::Code(code) => write!(f, "[{code}]")?,
            Selector::Element(number, code) => write!(f, "[{number}={code}]")?,
        }
        write!(f, ".{}", self.element)?;
        if let Some(repetition) = self.repetition {
            write!(f, "[{repetition}]")?;
        }
        if let Some(component) = self.component {
            write!(f, ".{component}")?;
        }
        Ok(())
    }
}
