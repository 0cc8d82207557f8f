//! A message being put together, and how it is written.
//!
//! A draft is made of values; the writer adds delimiters and escapes. Read back, a draft gives the same draft. A message that was read can
//! become a draft too, but then its escapes are decoded: for the exact bytes there is [`Message::raw`].

use crate::{
    charset::Charset,
    delimiters::Delimiters,
    escape,
    message::{Message, Segment},
    parts::{Component, Field, Repetition},
    value::Value,
};

/// A message to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageDraft {
    delimiters: Delimiters,
    charset: Charset,
    segments: Vec<SegmentDraft>,
}

/// A segment to be written. MSH-1 and MSH-2 are the writer's own: what is put there is not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentDraft {
    name: String,
    fields: Vec<FieldDraft>,
}

/// A field to be written: one or more repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDraft(Vec<RepetitionDraft>);

/// A repetition to be written: one or more components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepetitionDraft(Vec<ComponentDraft>);

/// A component to be written: one or more subcomponents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentDraft(Vec<Value<'static>>);

impl MessageDraft {
    /// A message without segments. Delimiters that are missing are filled in.
    pub fn new(delimiters: Delimiters) -> Self {
        Self {
            delimiters: delimiters.completed(),
            charset: Charset::Utf8,
            segments: vec![],
        }
    }

    /// This message in that character set. If it lacks a character that the message has, UTF-8 is written after all.
    #[must_use]
    pub fn in_charset(mut self, charset: Charset) -> Self {
        self.charset = charset;
        self
    }

    /// This message with one more segment at its end; the first must be MSH.
    #[must_use]
    pub fn with(mut self, segment: SegmentDraft) -> Self {
        self.segments.push(segment);
        self
    }

    /// The message in bytes, each segment ended by CR.
    pub fn serialise(&self) -> Vec<u8> {
        let mut text = String::new();
        for segment in &self.segments {
            segment.write(&mut text, &self.delimiters);
            text.push('\r');
        }
        self.charset
            .encode(&text)
            .unwrap_or_else(|| text.into_bytes())
    }
}

impl SegmentDraft {
    /// A segment without fields. The name is three capital letters or digits.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            fields: vec![],
        }
    }

    /// This segment with that field, counted from 1 as the standard does (MSH-9 is 9).
    #[must_use]
    pub fn with(mut self, number: usize, field: impl Into<FieldDraft>) -> Self {
        if let Some(position) = number.checked_sub(1) {
            if self.fields.len() <= position {
                self.fields.resize_with(number, FieldDraft::default);
            }
            self.fields[position] = field.into();
        }
        self
    }

    fn write(&self, text: &mut String, delimiters: &Delimiters) {
        text.push_str(&self.name);
        let mut fields = self.fields.as_slice();
        if self.name == "MSH" {
            text.push(char::from(delimiters.field()));
            text.extend(delimiters.encoding().map(char::from));
            fields = fields.get(2..).unwrap_or_default();
        }
        for field in fields {
            text.push(char::from(delimiters.field()));
            field.write(text, delimiters);
        }
    }
}

impl FieldDraft {
    /// A field of these components.
    pub fn of<C: Into<ComponentDraft>>(components: impl IntoIterator<Item = C>) -> Self {
        RepetitionDraft::of(components).into()
    }

    /// A field that repeats.
    pub fn repeated<R: Into<RepetitionDraft>>(repetitions: impl IntoIterator<Item = R>) -> Self {
        Self(at_least_one(repetitions))
    }

    fn write(&self, text: &mut String, delimiters: &Delimiters) {
        joined(
            text,
            &self.0,
            delimiters.repetition(),
            |text, repetition| {
                let separator = Some(delimiters.component());
                joined(text, &repetition.0, separator, |text, component| {
                    let separator = delimiters.subcomponent();
                    joined(text, &component.0, separator, |text, value| match value {
                        Value::Absent => {}
                        Value::Null => text.push_str("\"\""),
                        Value::Text(plain) => text.push_str(&escape::encode(plain, delimiters)),
                    });
                });
            },
        );
    }
}

impl RepetitionDraft {
    /// A repetition of these components.
    pub fn of<C: Into<ComponentDraft>>(components: impl IntoIterator<Item = C>) -> Self {
        Self(at_least_one(components))
    }
}

impl ComponentDraft {
    /// A component of these subcomponents.
    pub fn of<V: Into<Value<'static>>>(subcomponents: impl IntoIterator<Item = V>) -> Self {
        Self(at_least_one(subcomponents))
    }
}

fn at_least_one<P: Default, I: Into<P>>(parts: impl IntoIterator<Item = I>) -> Vec<P> {
    let mut parts: Vec<P> = parts.into_iter().map(Into::into).collect();
    if parts.is_empty() {
        parts.push(P::default());
    }
    parts
}

fn joined<P>(
    text: &mut String,
    parts: &[P],
    separator: Option<u8>,
    write: impl Fn(&mut String, &P),
) {
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            text.extend(separator.map(char::from));
        }
        write(text, part);
    }
}

impl Default for FieldDraft {
    fn default() -> Self {
        RepetitionDraft::default().into()
    }
}

impl Default for RepetitionDraft {
    fn default() -> Self {
        Self(vec![ComponentDraft::default()])
    }
}

impl Default for ComponentDraft {
    fn default() -> Self {
        Self(vec![Value::Absent])
    }
}

impl From<Value<'_>> for ComponentDraft {
    fn from(value: Value<'_>) -> Self {
        Self(vec![match value.into_owned() {
            Value::Text(text) => text.into(),
            other => other,
        }])
    }
}

impl From<&str> for ComponentDraft {
    fn from(text: &str) -> Self {
        Value::from(text).into()
    }
}

impl From<String> for ComponentDraft {
    fn from(text: String) -> Self {
        Value::from(text).into()
    }
}

impl<T: Into<ComponentDraft>> From<T> for RepetitionDraft {
    fn from(component: T) -> Self {
        Self(vec![component.into()])
    }
}

impl<T: Into<RepetitionDraft>> From<T> for FieldDraft {
    fn from(repetition: T) -> Self {
        Self(vec![repetition.into()])
    }
}

impl From<Component<'_>> for ComponentDraft {
    fn from(component: Component<'_>) -> Self {
        let values = component.subcomponents();
        Self(values.map(|each| each.value().into_owned()).collect())
    }
}

impl From<Repetition<'_>> for RepetitionDraft {
    fn from(repetition: Repetition<'_>) -> Self {
        Self::of(repetition.components())
    }
}

impl From<Field<'_>> for FieldDraft {
    fn from(field: Field<'_>) -> Self {
        Self::repeated(field.repetitions())
    }
}

impl From<Segment<'_>> for SegmentDraft {
    fn from(segment: Segment<'_>) -> Self {
        let name = segment.name().to_owned();
        let of_the_writer = if name == "MSH" { 2 } else { 0 };
        let fields = segment
            .fields()
            .enumerate()
            .map(|(position, field)| {
                if position < of_the_writer {
                    FieldDraft::default()
                } else {
                    field.into()
                }
            })
            .collect();
        Self { name, fields }
    }
}

impl From<&Message<'_>> for MessageDraft {
    fn from(message: &Message<'_>) -> Self {
        Self {
            delimiters: message.delimiters().completed(),
            charset: message.charset(),
            segments: message.segments().map(Into::into).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn values_are_written_with_delimiters_and_escapes() {
        let draft = MessageDraft::new(Delimiters::default())
            .with(SegmentDraft::new("MSH").with(9, FieldDraft::of(["ORU", "R01"])))
            .with(
                SegmentDraft::new("PID")
                    .with(1, "1")
                    .with(
                        3,
                        FieldDraft::repeated([
                            RepetitionDraft::of([
                                ComponentDraft::from("7"),
                                ComponentDraft::of(["H", "1.2"]),
                            ]),
                            RepetitionDraft::from("8"),
                        ]),
                    )
                    .with(5, "A&E\n\\")
                    .with(6, Value::Null),
            );
        let written = String::from_utf8(draft.serialise()).unwrap();
        assert_eq!(
            written,
            "MSH|^~\\&|||||||ORU^R01\rPID|1||7^H&1.2~8||A\\T\\E\\.br\\\\E\\|\"\"\r"
        );
    }

    #[test]
    fn latin_1_is_written_if_it_has_all_characters() {
        let draft = |name: &str| {
            MessageDraft::new(Delimiters::default())
                .in_charset(Charset::Latin1)
                .with(SegmentDraft::new("PID").with(1, name))
                .serialise()
        };
        assert_eq!(draft("Zoë"), b"PID|Zo\xeb\r");
        assert_eq!(draft("Łu"), "PID|Łu\r".as_bytes());
    }

    fn value() -> impl Strategy<Value = Value<'static>> {
        prop_oneof![
            Just(Value::Absent),
            Just(Value::Null),
            r#"[a-zA-Z0-9|^~\\&#.\r\n\t" é🩺]{0,8}"#.prop_map(Value::from),
        ]
    }

    fn field() -> impl Strategy<Value = FieldDraft> {
        vec(vec(vec(value(), 1..3), 1..4), 1..3).prop_map(|field| {
            FieldDraft::repeated(
                field
                    .into_iter()
                    .map(|parts| RepetitionDraft::of(parts.into_iter().map(ComponentDraft::of))),
            )
        })
    }

    prop_compose! {
        fn draft()(
            delimiters in prop_oneof![
                Just(Delimiters::default()),
                Just(Delimiters::new(b'#', b"|~^\\&").unwrap()),
                Just(Delimiters::new(b'|', b"^").unwrap()),
            ],
            header in vec(field(), 0..4),
            segments in vec(("[A-LN-Z][A-Z0-9]{2}", vec(field(), 0..6)), 0..6),
        ) -> MessageDraft {
            let mut fields = vec![FieldDraft::default(); 2];
            fields.extend(header);
            let header = SegmentDraft { name: "MSH".into(), fields };
            segments.into_iter().fold(MessageDraft::new(delimiters).with(header), |draft, (name, fields)| {
                draft.with(SegmentDraft { name, fields })
            })
        }
    }

    proptest! {
        #[test]
        fn a_draft_is_read_as_it_was_written(draft in draft()) {
            let bytes = draft.serialise();
            let message = Message::parse(&bytes).unwrap();
            prop_assert_eq!(&MessageDraft::from(&message), &draft);
            prop_assert_eq!(MessageDraft::from(&message).serialise(), bytes.clone());
            prop_assert_eq!(message.serialise(), bytes);
        }
    }
}
