//! Where a value stands in a message.
//!
//! One grammar reads the notations in use, all of the shape *segment, field, component, subcomponent*, counted from 1:
//!
//! | written | means |
//! |---|---|
//! | `PID.5.1`, `PID-5.1`, `PID-5-1`, `PID.F5.C1` | first component of PID-5 |
//! | `PID-5[2].1`, `PID.F5.R2.C1` | the same in the second repetition |
//! | `OBX[2].5` | OBX-5 of the second OBX |
//! | `OBX[*].5`, `PID-3[*].1` | of every OBX; of every repetition |
//! | `/.PID-5(1)-1`, `/OBX(1)-5` | Terser, as in HAPI: **parentheses count from 0**, so this is the second repetition, the second OBX |
//!
//! Left out, an occurrence or a repetition is the first one. A path that stops at a field or component which has parts of its own gives
//! it as written (for a field with all its repetitions); of a field without parts it gives the text, and delimiters with nothing behind them are
//! no parts. (Terser's own reading would be the first component.)

pub(crate) mod parse;

use std::fmt;

use crate::{
    message::{Message, Segment},
    parts::{Component, Repetition},
    value::Value,
};

pub use parse::{Expected, PathError};

/// A place in a message, or with `*` several of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    segment: String,
    occurrence: Option<Index>,
    field: u16,
    repetition: Option<Index>,
    component: Option<u16>,
    subcomponent: Option<u16>,
}

/// Which of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Index {
    /// This one, counted from 1.
    Nth(u16),
    /// Every one.
    Any,
}

impl Path {
    /// The name of the segment.
    pub fn segment(&self) -> &str {
        &self.segment
    }

    /// Whether it names every segment or repetition of a kind instead of one.
    pub fn is_any(&self) -> bool {
        [self.occurrence, self.repetition].contains(&Some(Index::Any))
    }

    /// Everything that stands there. A path without `*` gives exactly one value, which may be absent; one with `*` gives a value for
    /// each segment and repetition that exists.
    pub fn values<'a>(&self, message: &Message<'a>) -> Vec<Value<'a>> {
        let segments = message.segments_named(&self.segment);
        let found: Vec<_> = match self.occurrence {
            Some(Index::Any) => segments.flat_map(|each| self.in_segment(each)).collect(),
            Some(Index::Nth(number)) => self.in_nth(segments, number),
            None => self.in_nth(segments, 1),
        };
        if found.is_empty() && !self.is_any() {
            vec![Value::Absent]
        } else {
            found
        }
    }

    /// The first value that stands there, if any.
    pub fn value<'a>(&self, message: &Message<'a>) -> Value<'a> {
        self.values(message).into_iter().next().unwrap_or_default()
    }

    fn in_nth<'a>(
        &self,
        mut segments: impl Iterator<Item = Segment<'a>>,
        number: u16,
    ) -> Vec<Value<'a>> {
        segments
            .nth(usize::from(number) - 1)
            .map(|segment| self.in_segment(segment))
            .unwrap_or_default()
    }

    fn in_segment<'a>(&self, segment: Segment<'a>) -> Vec<Value<'a>> {
        let Some(field) = segment.field(self.field.into()) else {
            return if self.repetition == Some(Index::Any) {
                vec![]
            } else {
                vec![Value::Absent]
            };
        };
        let mut repetitions = field.repetitions();
        let number = match (self.repetition, self.component) {
            (None, None) => return vec![field.value()],
            (Some(Index::Any), _) => {
                return repetitions.map(|each| self.in_repetition(each)).collect();
            }
            (Some(Index::Nth(number)), _) => number,
            (None, Some(_)) => 1,
        };
        let repetition = repetitions.nth(usize::from(number) - 1);
        vec![
            repetition
                .map(|each| self.in_repetition(each))
                .unwrap_or_default(),
        ]
    }

    fn in_repetition<'a>(&self, repetition: Repetition<'a>) -> Value<'a> {
        let Some(component) = self.component else {
            return repetition.value();
        };
        repetition
            .components()
            .nth(usize::from(component) - 1)
            .map(|component| self.in_component(component))
            .unwrap_or_default()
    }

    fn in_component<'a>(&self, component: Component<'a>) -> Value<'a> {
        let Some(subcomponent) = self.subcomponent else {
            return component.value();
        };
        component
            .subcomponents()
            .nth(usize::from(subcomponent) - 1)
            .map(|each| each.value())
            .unwrap_or_default()
    }
}

impl fmt::Display for Path {
    /// The notation `OBX[2].5[1].1.2`, which reads as the same path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segment)?;
        if let Some(occurrence) = self.occurrence {
            write!(f, "[{occurrence}]")?;
        }
        write!(f, ".{}", self.field)?;
        if let Some(repetition) = self.repetition {
            write!(f, "[{repetition}]")?;
        }
        for part in [self.component, self.subcomponent].into_iter().flatten() {
            write!(f, ".{part}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nth(number) => write!(f, "{number}"),
            Self::Any => f.write_str("*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &[u8] = b"MSH|^~\\&|LAB||||||ORU^R01|1|P|2.5\r\
        PID|1||123^^^HOSP&1.2.3&ISO^MR~456^^^SSA^SS||Doe^Jane\\T\\Joan~Roe^J|\"\"|19800101\r\
        OBX|1|NM|K^Potassium||6.8|mmol/L\r\
        OBX|2|ST|NA||\r\
        OBX|3";

    fn value(path: &str) -> Value<'static> {
        let message = Message::parse(RESULTS).unwrap();
        path.parse::<Path>().unwrap().value(&message)
    }

    fn values(path: &str) -> Vec<Value<'static>> {
        let message = Message::parse(RESULTS).unwrap();
        path.parse::<Path>().unwrap().values(&message)
    }

    #[test]
    fn every_notation_finds_the_same_value() {
        for path in [
            "PID.5[2].1",
            "PID-5[2].1",
            "PID-5[2]-1",
            "PID.F5.R2.C1",
            "PID-F5-R2-C1-S1",
            "PID[1].5[2].1.1",
            "PID-5(1)-1",
            "/PID-5(1)-1",
            "/.PID-5(1)-1",
            "/.PID(0)-5(1)-1-1",
        ] {
            assert_eq!(value(path), Value::from("Roe"), "{path}");
        }
    }

    #[test]
    fn the_header_is_counted_as_the_standard_counts_it() {
        assert_eq!(value("MSH.1"), Value::from("|"));
        assert_eq!(value("MSH.2"), Value::from("^~\\&"));
        assert_eq!(value("MSH.2.1"), Value::from("^~\\&"));
        assert_eq!(value("MSH.9.2"), Value::from("R01"));
    }

    #[test]
    fn a_field_with_parts_is_given_as_written_and_one_without_as_text() {
        assert_eq!(value("MSH.9"), Value::from("ORU^R01"));
        assert_eq!(value("PID.7"), Value::from("19800101"));
        assert_eq!(value("PID.5"), Value::from(r"Doe^Jane\T\Joan~Roe^J"));
        assert_eq!(value("PID.5[2]"), Value::from("Roe^J"));
        assert_eq!(value("PID.5.2"), Value::from("Jane&Joan"));
        assert_eq!(value("PID.3.4"), Value::from("HOSP&1.2.3&ISO"));
        assert_eq!(value("PID.3.4.2"), Value::from("1.2.3"));
    }

    #[test]
    fn null_is_not_absent() {
        assert_eq!(value("PID.6"), Value::Null);
        assert_eq!(value("PID.6.1.1"), Value::Null);
        assert_eq!(value("PID.6.2"), Value::Absent);
        assert_eq!(value("PID.99"), Value::Absent);
        assert_eq!(value("ZZZ.1"), Value::Absent);
        assert_eq!(value("PID[2].5"), Value::Absent);
    }

    #[test]
    fn a_star_gives_a_value_for_each_that_exists() {
        assert_eq!(
            values("OBX[*].5"),
            [Value::from("6.8"), Value::Absent, Value::Absent]
        );
        assert_eq!(
            values("PID-3[*].1"),
            [Value::from("123"), Value::from("456")]
        );
        assert_eq!(values("ZZZ[*].1"), []);
        assert_eq!(values("ZZZ.1"), [Value::Absent]);
        assert_eq!(values("OBX[3].5[*]"), []);
        assert_eq!(values("OBX[9].5[9]"), [Value::Absent]);
    }
}
