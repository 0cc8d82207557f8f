//! What is inside a segment: fields, their repetitions, components and subcomponents.
//!
//! Each is a slice of the message with the means to divide it further. A part with nothing inside it (but perhaps delimiters at its end)
//! *is* a value; of any other part the value is the text as it was written, delimiters and escapes included.

use std::borrow::Cow;

use crate::{charset::Charset, delimiters::Delimiters, escape, value::Value};

/// How a message is divided and spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) delimiters: Delimiters,
    pub(crate) charset: Charset,
}

/// A slice of a message. A literal one (MSH-1, MSH-2) is neither divided nor decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part<'a> {
    written: &'a [u8],
    encoding: Encoding,
    literal: bool,
}

impl<'a> Part<'a> {
    fn split(self, separator: Option<u8>) -> impl Iterator<Item = Part<'a>> + use<'a> {
        let separator = separator.filter(|_| !self.literal);
        self.written
            .split(move |&byte| Some(byte) == separator)
            .map(move |written| Part { written, ..self })
    }

    fn decoded(self) -> Value<'a> {
        let Encoding {
            delimiters,
            charset,
        } = self.encoding;
        match self.written {
            b"\"\"" => Value::Null,
            _ if self.literal => self.as_written().into(),
            written => escape::decode(written, &delimiters, charset).into(),
        }
    }

    fn as_written(self) -> Cow<'a, str> {
        self.encoding.charset.decode(self.written)
    }

    fn value(self, inner: &[Option<u8>]) -> Value<'a> {
        let is_inner = |byte: &u8| !self.literal && inner.contains(&Some(*byte));
        // Delimiters with nothing behind them mean nothing: `Doe^^` is `Doe`.
        let end = self.written.iter().rposition(|byte| !is_inner(byte));
        let written = &self.written[..end.map_or(0, |last| last + 1)];
        if written.iter().any(is_inner) {
            self.as_written().into()
        } else {
            Part { written, ..self }.decoded()
        }
    }
}

/// A field, with all its repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a>(Part<'a>);

/// One repetition of a field. A field that does not repeat has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition<'a>(Part<'a>);

/// One component. A repetition without delimiters has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component<'a>(Part<'a>);

/// One subcomponent. A component without delimiters has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subcomponent<'a>(Part<'a>);

impl<'a> Field<'a> {
    pub(crate) fn new(written: &'a [u8], encoding: Encoding) -> Self {
        Self(Part {
            written,
            encoding,
            literal: false,
        })
    }

    pub(crate) fn literal(written: &'a [u8], encoding: Encoding) -> Self {
        Self(Part {
            written,
            encoding,
            literal: true,
        })
    }

    /// All repetitions: at least one.
    pub fn repetitions(self) -> impl Iterator<Item = Repetition<'a>> + use<'a> {
        self.0
            .split(self.0.encoding.delimiters.repetition())
            .map(Repetition)
    }

    /// The text of a field without repetitions and components; otherwise the field as written.
    pub fn value(self) -> Value<'a> {
        let delimiters = self.0.encoding.delimiters;
        self.0.value(&[
            delimiters.repetition(),
            Some(delimiters.component()),
            delimiters.subcomponent(),
        ])
    }

    /// That component of the first repetition, counted from 1.
    pub(crate) fn component(self, number: usize) -> Value<'a> {
        let first = self.repetitions().next();
        first
            .and_then(|repetition| repetition.components().nth(number.checked_sub(1)?))
            .map(Component::value)
            .unwrap_or_default()
    }
}

impl<'a> Repetition<'a> {
    /// All components: at least one.
    pub fn components(self) -> impl Iterator<Item = Component<'a>> + use<'a> {
        self.0
            .split(Some(self.0.encoding.delimiters.component()))
            .map(Component)
    }

    /// The text of a repetition without components; otherwise the repetition as written.
    pub fn value(self) -> Value<'a> {
        let delimiters = self.0.encoding.delimiters;
        self.0
            .value(&[Some(delimiters.component()), delimiters.subcomponent()])
    }
}

impl<'a> Component<'a> {
    /// All subcomponents: at least one.
    pub fn subcomponents(self) -> impl Iterator<Item = Subcomponent<'a>> + use<'a> {
        self.0
            .split(self.0.encoding.delimiters.subcomponent())
            .map(Subcomponent)
    }

    /// The text of a component without subcomponents; otherwise the component as written.
    pub fn value(self) -> Value<'a> {
        self.0.value(&[self.0.encoding.delimiters.subcomponent()])
    }
}

impl<'a> Subcomponent<'a> {
    /// The text of the subcomponent.
    pub fn value(self) -> Value<'a> {
        self.0.decoded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(written: &str) -> Field<'_> {
        Field::new(
            written.as_bytes(),
            Encoding {
                delimiters: Delimiters::default(),
                charset: Charset::Utf8,
            },
        )
    }

    #[test]
    fn a_part_with_nothing_inside_is_its_text_and_others_are_as_written() {
        assert_eq!(field(r"A\T\E").value(), Value::from("A&E"));
        assert_eq!(field(r"A\T\E^x").value(), Value::from(r"A\T\E^x"));
        assert_eq!(field("1~2").value(), Value::from("1~2"));
        assert_eq!(field("a&b").value(), Value::from("a&b"));
        let first = field("a&b^c~d").repetitions().next().unwrap();
        assert_eq!(first.value(), Value::from("a&b^c"));
        let first = first.components().next().unwrap();
        assert_eq!(first.value(), Value::from("a&b"));
        assert_eq!(
            first.subcomponents().nth(1).unwrap().value(),
            Value::from("b")
        );
    }

    #[test]
    fn delimiters_with_nothing_behind_them_are_not_parts() {
        assert_eq!(field("Doe^^&~").value(), Value::from("Doe"));
        assert_eq!(field("\"\"^").value(), Value::Null);
        assert_eq!(field("^&~").value(), Value::Absent);
        assert_eq!(field("Doe^J^").value(), Value::from("Doe^J^"));
        assert_eq!(field("^J").value(), Value::from("^J"));
    }

    #[test]
    fn absent_null_and_text_are_three_things() {
        let components: Vec<_> = field(r#"^""^x"#)
            .repetitions()
            .flat_map(Repetition::components)
            .map(Component::value)
            .collect();
        assert_eq!(components, [Value::Absent, Value::Null, Value::from("x")]);
        assert_eq!(field(r#""""#).value(), Value::Null);
        assert_eq!(field(r"\X2222\").value(), Value::from(r#""""#));
    }
}
