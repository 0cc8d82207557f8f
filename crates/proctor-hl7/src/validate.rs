//! What a receiver objects to in a message that can be read.

use crate::{
    message::{Message, Segment},
    message_error::{ErrorCode, MessageError, Place},
    parts::{Component, Field, Repetition},
    path::parse::is_segment_name,
    structure::{Behind, Rule, STRUCTURES, Structure, rules},
    time::{is_number, is_time},
    value::Value,
    version::Version,
};

/// The most problems that are told of one message; more help nobody.
const MOST_PROBLEMS: usize = 100;

/// Everything that is wrong with a message, header first, then the order of segments, then their fields; at most 100 problems.
pub fn validate(message: &Message<'_>) -> Vec<MessageError> {
    let mut found = Findings::default();
    let structure = found.structure(message);
    let version = found.header(message);
    let segments: Vec<Segment<'_>> = message.segments().collect();
    let names: Vec<&str> = segments.iter().map(Segment::name).collect();
    found.names(&names);
    if let Some(structure) = structure {
        found.required_segments(structure, &names);
        found.order(structure, &names, version);
    }
    found.fields(&segments, &names, version);
    found.problems
}

#[derive(Default)]
struct Findings {
    problems: Vec<MessageError>,
}

impl Findings {
    fn add(&mut self, code: ErrorCode, place: impl Into<Option<Place>>, text: String) {
        if !self.is_full() {
            self.problems.push(MessageError {
                code,
                place: place.into(),
                text,
            });
        }
    }

    /// Whether nothing more would be told: what was sent cannot make judging it costly.
    fn is_full(&self) -> bool {
        self.problems.len() >= MOST_PROBLEMS
    }

    fn missing(&mut self, place: Place) {
        let text = format!("{place} must have a value");
        self.add(ErrorCode::RequiredFieldMissing, place, text);
    }

    /// MSH-11 and MSH-12, and the version that the rest is to be judged by.
    fn header(&mut self, message: &Message<'_>) -> Version {
        let place = |field: usize| Place::segment("MSH", 1).field(field);
        match message.of_header(11, 1).text() {
            None => self.missing(place(11)),
            Some("P" | "T" | "D") => {}
            Some(other) => {
                let text = format!("{} is not P, T or D", quoted(other));
                self.add(ErrorCode::UnsupportedProcessingId, place(11), text);
            }
        }
        let Value::Text(written) = message.of_header(12, 1) else {
            self.missing(place(12));
            return Version::V2_5;
        };
        Version::parse(&written).unwrap_or_else(|| {
            let text = format!("{} is not a version from 2.1 to 2.8", quoted(&written));
            self.add(ErrorCode::UnsupportedVersion, place(12), text);
            Version::V2_5
        })
    }

    /// MSH-9, and what a message of that kind looks like.
    fn structure(&mut self, message: &Message<'_>) -> Option<&'static Structure> {
        let place = |component: usize| Place::segment("MSH", 1).field(9).component(component);
        let Value::Text(code) = message.code() else {
            self.missing(place(1));
            return None;
        };
        if !is_handled(&code) {
            let text = format!("messages of the type {} are not handled", quoted(&code));
            self.add(ErrorCode::UnsupportedMessageType, place(1), text);
            return None;
        }
        let Value::Text(event) = message.event() else {
            self.missing(place(2));
            return None;
        };
        let structure = STRUCTURES
            .iter()
            .find(|each| each.code == code && each.events.contains(&event.as_ref()));
        if structure.is_none() {
            let text = format!("the event {} of {code} is not handled", quoted(&event));
            self.add(ErrorCode::UnsupportedEvent, place(2), text);
        }
        structure
    }

    fn names(&mut self, names: &[&str]) {
        for (position, name) in names.iter().enumerate() {
            if self.is_full() {
                return;
            }
            if !is_segment_name(name) {
                let text = format!("line {} does not start with a segment name", position + 1);
                self.add(ErrorCode::SegmentSequence, None, text);
            } else if position > 0 && *name == "MSH" {
                let text = "a message has one MSH".to_owned();
                self.add(ErrorCode::SegmentSequence, place_of(names, position), text);
            }
        }
    }

    fn required_segments(&mut self, structure: &Structure, names: &[&str]) {
        let mut previous: Option<(usize, &str)> = None;
        for &required in structure.required {
            let Some(position) = names.iter().position(|name| *name == required) else {
                let text = format!("{required} is missing");
                self.add(
                    ErrorCode::SegmentSequence,
                    Place::segment(required, 1),
                    text,
                );
                continue;
            };
            match previous {
                Some((before, earlier)) if position < before => {
                    let text = format!("{required} stands before {earlier}");
                    self.add(
                        ErrorCode::SegmentSequence,
                        Place::segment(required, 1),
                        text,
                    );
                }
                _ => previous = Some((position, required)),
            }
        }
    }

    fn order(&mut self, structure: &Structure, names: &[&str], version: Version) {
        for &Behind {
            segment,
            after,
            until,
        } in structure.behind
        {
            if until.is_some_and(|until| version >= until) {
                continue;
            }
            let first = names
                .iter()
                .position(|name| [segment, after].contains(name));
            if first.is_some_and(|first| names[first] == segment) {
                let text = format!("{segment} needs {after} before it");
                self.add(ErrorCode::SegmentSequence, Place::segment(segment, 1), text);
            }
        }
        let Some((owner, owned)) = structure.each else {
            return;
        };
        // That the first one is missing altogether was said already.
        if !names.contains(&owned) {
            return;
        }
        let (mut owners, mut complete) = (0, true);
        for name in names.iter().copied().chain([owner]) {
            if name == owner {
                if !complete {
                    let text = format!("{owner} has no {owned} behind it");
                    self.add(
                        ErrorCode::SegmentSequence,
                        Place::segment(owner, owners),
                        text,
                    );
                }
                owners += 1;
                complete = false;
            } else if name == owned {
                complete = true;
            }
        }
    }

    fn fields(&mut self, segments: &[Segment<'_>], names: &[&str], version: Version) {
        let mut seen = std::collections::BTreeMap::new();
        for (segment, name) in segments.iter().zip(names) {
            let occurrence: &mut usize = seen.entry(*name).or_default();
            *occurrence += 1;
            let rules = rules(name);
            if rules.is_empty() {
                continue;
            }
            if self.is_full() {
                return;
            }
            let place = Place::segment(name, *occurrence);
            for rule in rules {
                self.rule(rule, *segment, &place, version);
            }
        }
    }

    fn rule(&mut self, rule: &Rule, segment: Segment<'_>, place: &Place, version: Version) {
        let at = |number: usize| place.clone().field(number);
        let valued = |number: usize| segment.field(number).is_some_and(has_value);
        let text = |number: usize| {
            let field = segment.field(number);
            field.map(|field| field.component(1)).unwrap_or_default()
        };
        let must_have = |found: &mut Self, number: usize| {
            if !valued(number) {
                found.missing(at(number));
            }
        };
        match *rule {
            Rule::Required(number) => must_have(self, number),
            Rule::RequiredSince(since, number) if version >= since => must_have(self, number),
            Rule::RequiredUnless(except, number) if version != except => must_have(self, number),
            Rule::RequiredSince(..) | Rule::RequiredUnless(..) => {}
            Rule::OneOf(one, other) => {
                if !valued(one) && !valued(other) {
                    let text = format!("{} or {} must have a value", at(one), at(other));
                    self.add(ErrorCode::RequiredFieldMissing, at(one), text);
                }
            }
            Rule::RequiredWith(cause, number) => {
                if valued(cause) {
                    must_have(self, number);
                }
            }
            Rule::Time(number) => self.typed(at(number), &text(number), "a point in time", is_time),
            Rule::Number(number) => self.typed(at(number), &text(number), "a number", is_number),
            Rule::Code(number, table) => {
                if let Value::Text(code) = text(number)
                    && !table.codes.contains(&code.as_ref())
                {
                    let text = format!("{} is not in table {}", quoted(&code), table.number);
                    self.add(ErrorCode::TableValue, at(number), text);
                }
            }
            Rule::ObservationValue => {
                let (wanted, is_right): (_, fn(&str) -> bool) = match text(2).text() {
                    Some("NM") => ("a number", is_number),
                    Some("DT" | "TS" | "DTM") => ("a point in time", is_time),
                    _ => return,
                };
                for repetition in segment.field(5).into_iter().flat_map(Field::repetitions) {
                    if self.is_full() {
                        return;
                    }
                    let first = repetition.components().next().map(Component::value);
                    self.typed(at(5), &first.unwrap_or_default(), wanted, is_right);
                }
            }
        }
    }

    fn typed(&mut self, place: Place, value: &Value<'_>, wanted: &str, is_right: fn(&str) -> bool) {
        if let Value::Text(text) = value
            && !is_right(text)
        {
            let text = format!("{} is not {wanted}", quoted(text));
            self.add(ErrorCode::DataType, place, text);
        }
    }
}

/// Whether messages with this code in MSH-9.1 are handled.
pub(crate) fn is_handled(code: &str) -> bool {
    STRUCTURES.iter().any(|structure| structure.code == code)
}

fn place_of(names: &[&str], position: usize) -> Place {
    let name = names[position];
    let occurrence = names[..=position].iter().filter(|each| **each == name);
    Place::segment(name, occurrence.count())
}

/// A value in a sentence. A long one is cut, so that an answer cannot become as large as the message.
fn quoted(value: &str) -> String {
    const LONGEST: usize = 40;
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

fn has_value(field: Field<'_>) -> bool {
    field
        .repetitions()
        .flat_map(Repetition::components)
        .flat_map(Component::subcomponents)
        .any(|each| each.value().text().is_some())
}
