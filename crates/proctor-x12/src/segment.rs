//! Segments, their elements, repetitions and components: as read, and as built.

use std::ops::Range;

use crate::delimiters::Delimiters;

/// One repetition of an element: its components, one unless it is a composite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repetition(pub Vec<String>);

impl Repetition {
    /// The text of a component, counted from 1; absent and empty are the same in X12.
    pub fn component(&self, number: usize) -> &str {
        number
            .checked_sub(1)
            .and_then(|index| self.0.get(index))
            .map_or("", String::as_str)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }
}

/// One element of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Element(pub Vec<Repetition>);

impl Element {
    /// An element without a value.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A composite element.
    pub fn composite<T: Into<String>>(components: impl IntoIterator<Item = T>) -> Self {
        Self(vec![Repetition(
            components.into_iter().map(Into::into).collect(),
        )])
    }

    /// A simple element that repeats.
    pub fn repeated<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self(
            values
                .into_iter()
                .map(|value| Repetition(vec![value.into()]))
                .collect(),
        )
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Repetition::is_empty)
    }

    /// A repetition, counted from 1.
    pub fn repetition(&self, number: usize) -> Option<&Repetition> {
        self.0.get(number.checked_sub(1)?)
    }

    /// The first component of the first repetition: all there is to a simple element.
    pub fn text(&self) -> &str {
        self.0.first().map_or("", |first| first.component(1))
    }

    /// The whole element as text, whatever the interchange's delimiters: components joined by `:`,
    /// repetitions by `^`.
    pub fn joined(&self) -> String {
        let repetitions: Vec<_> = self.0.iter().map(|one| one.0.join(":")).collect();
        repetitions.join("^")
    }
}

impl From<&str> for Element {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Element {
    fn from(text: String) -> Self {
        if text.is_empty() {
            Self::empty()
        } else {
            Self(vec![Repetition(vec![text])])
        }
    }
}

/// One segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its name: `NM1`.
    pub tag: String,
    /// Its elements; the first is number 1.
    pub elements: Vec<Element>,
    /// The bytes of the input it was read from, without its terminator; empty when it was built.
    pub span: Range<usize>,
}

impl Segment {
    /// A segment that is built, not read.
    pub fn new<T: Into<Element>>(tag: &str, elements: impl IntoIterator<Item = T>) -> Self {
        Self {
            tag: tag.to_owned(),
            elements: elements.into_iter().map(Into::into).collect(),
            span: 0..0,
        }
    }

    /// Reads the segment at `span` of `input`. An ISA segment is not split below its elements:
    /// two of them *are* the delimiters.
    pub(crate) fn read(input: &[u8], span: Range<usize>, delimiters: Delimiters) -> Self {
        let bytes = input.get(span.clone()).unwrap_or_default();
        let mut parts = bytes.split(|byte| *byte == delimiters.element);
        let tag = text(parts.next().unwrap_or_default());
        let plain = tag == "ISA";
        let elements = parts
            .map(|part| match part {
                [] => Element::empty(),
                _ if plain => Element(vec![Repetition(vec![text(part)])]),
                _ => read_element(part, delimiters),
            })
            .collect();
        Self {
            tag,
            elements,
            span,
        }
    }

    /// An element, counted from 1; one beyond the last is empty.
    pub fn element(&self, number: usize) -> Option<&Element> {
        self.elements.get(number.checked_sub(1)?)
    }

    /// The text of a simple element, counted from 1; empty when absent.
    pub fn text(&self, number: usize) -> &str {
        self.element(number).map_or("", Element::text)
    }

    /// The text of a component of an element's first repetition, both counted from 1.
    pub fn component(&self, element: usize, component: usize) -> &str {
        self.element(element)
            .and_then(|element| element.repetition(1))
            .map_or("", |first| first.component(component))
    }

    /// Appends the segment and its terminator. What X12 cannot carry becomes a space: it has no
    /// escapes, so a delimiter inside a value, a control character or a letter beyond ASCII would
    /// otherwise break the interchange. Trailing empty elements and components are left out.
    pub(crate) fn write(&self, to: &mut String, delimiters: Delimiters) {
        to.push_str(&self.tag);
        let used = trimmed(&self.elements, Element::is_empty);
        for element in used {
            to.push(char::from(delimiters.element));
            for (index, repetition) in element.0.iter().enumerate() {
                if index > 0 {
                    to.push(char::from(delimiters.repetition.unwrap_or(b'^')));
                }
                for (index, value) in trimmed(&repetition.0, String::is_empty).iter().enumerate() {
                    if index > 0 {
                        to.push(char::from(delimiters.component));
                    }
                    to.extend(value.chars().map(|letter| carried(letter, delimiters)));
                }
            }
        }
        to.push(char::from(delimiters.segment));
    }
}

fn trimmed<T>(all: &[T], is_empty: impl Fn(&T) -> bool) -> &[T] {
    let used = all
        .iter()
        .rposition(|one| !is_empty(one))
        .map_or(0, |last| last + 1);
    &all[..used]
}

fn carried(letter: char, delimiters: Delimiters) -> char {
    match u8::try_from(letter) {
        Ok(byte) if (b' '..=b'~').contains(&byte) && !delimiters.contains(byte) => letter,
        _ => ' ',
    }
}

fn read_element(bytes: &[u8], delimiters: Delimiters) -> Element {
    let repetitions = match delimiters.repetition {
        Some(separator) => bytes.split(|byte| *byte == separator).collect(),
        None => vec![bytes],
    };
    Element(
        repetitions
            .into_iter()
            .map(|repetition| {
                let components = repetition.split(|byte| *byte == delimiters.component);
                Repetition(components.map(text).collect())
            })
            .collect(),
    )
}

/// Bytes that are no UTF-8 show as replacement characters, which no element may hold; the span
/// still leads to the bytes themselves.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
