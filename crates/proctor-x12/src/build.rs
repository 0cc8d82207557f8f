//! Writing interchanges: padding, counts and control numbers are right by construction.

use proctor_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    day::{self, Day},
    delimiters::Delimiters,
    interchange::Interchange,
    schema::{self, ElementKind},
    segment::Segment,
    transaction_set::TransactionSet,
};

const LAST_CONTROL_NUMBER: u32 = 999_999_999;

/// Where control numbers come from: two counters that the caller keeps, so that the same seed and
/// the same requests give the same interchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlNumbers {
    interchange: u32,
    group: u32,
}

impl ControlNumbers {
    /// Counters that begin where the seed says.
    pub const fn from_seed(seed: u64) -> Self {
        let mixed = mix(seed);
        Self {
            interchange: (mixed % 900_000_000) as u32,
            group: ((mixed >> 32) % 900_000) as u32,
        }
    }

    fn next_interchange(&mut self) -> u32 {
        self.interchange = self.interchange % LAST_CONTROL_NUMBER + 1;
        self.interchange
    }

    fn next_group(&mut self) -> u32 {
        self.group = self.group % LAST_CONTROL_NUMBER + 1;
        self.group
    }
}

/// Spreads neighbouring seeds far apart (the finaliser of SplitMix64).
const fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Who sends or receives an interchange: ISA05/06, ISA07/08.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// What kind of id it is; `ZZ` is one that both agreed on.
    pub qualifier: String,
    /// At most 15 characters.
    pub id: String,
}

impl Party {
    /// A party with an id that both agreed on.
    pub fn agreed(id: &str) -> Self {
        Self {
            qualifier: "ZZ".to_owned(),
            id: id.to_owned(),
        }
    }
}

/// What is written around transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// From whom.
    pub sender: Party,
    /// To whom.
    pub receiver: Party,
    /// GS02.
    pub group_sender: String,
    /// GS03.
    pub group_receiver: String,
    /// ISA15: production, not test.
    pub production: bool,
    /// ISA14: whether the receiver is asked for an acknowledgment.
    pub acknowledge: bool,
    /// When it is written.
    pub at: Timestamp,
}

impl Envelope {
    /// An envelope between two parties whose ids serve for the groups too.
    pub fn between(sender: Party, receiver: Party, at: Timestamp) -> Self {
        Self {
            group_sender: sender.id.clone(),
            group_receiver: receiver.id.clone(),
            sender,
            receiver,
            production: false,
            acknowledge: false,
            at,
        }
    }

    /// The envelope of the reply to an interchange, or to one of its groups: sender and receiver
    /// change places, and no acknowledgment is asked of an answer.
    pub fn reply_to(interchange: &Interchange, group: Option<&Segment>, at: Timestamp) -> Self {
        let header = interchange.header();
        let party = |qualifier: usize, id: usize| Party {
            qualifier: header.text(qualifier).to_owned(),
            id: header.text(id).trim_end().to_owned(),
        };
        let mut envelope = Self::between(party(7, 8), party(5, 6), at);
        envelope.production = header.text(15) == "P";
        if let Some(group) = group {
            envelope.group_sender = group.text(3).to_owned();
            envelope.group_receiver = group.text(2).to_owned();
        }
        envelope
    }

    /// An interchange of one group of transactions of one set; each body stands without ST and SE.
    /// Texts that are longer than their element are cut.
    pub fn write(
        &self,
        numbers: &mut ControlNumbers,
        set: TransactionSet,
        bodies: &[Vec<Segment>],
    ) -> String {
        let group = numbers.next_group();
        let (day, time) = (Day::of(self.at).to_x12(), day::minutes(self.at));
        let mut segments = vec![Segment::new(
            "GS",
            [
                set.functional_id(),
                &self.group_sender,
                &self.group_receiver,
                &day,
                &time,
                &group.to_string(),
                "X",
                set.version(),
            ],
        )];
        for (index, body) in bodies.iter().enumerate() {
            let number = format!("{:04}", index + 1);
            let count = (body.len() + 2).to_string();
            let header = [set.id(), &number, set.guide()];
            segments.push(Segment::new("ST", header));
            segments.extend(body.iter().cloned().map(fitted));
            segments.push(Segment::new("SE", [count, number]));
        }
        let count = bodies.len().to_string();
        segments.push(Segment::new("GE", [count, group.to_string()]));
        self.enclose(numbers, &segments, 1)
    }

    /// An interchange that holds nothing but interchange acknowledgments (TA1 segments).
    pub fn write_acknowledgment(&self, numbers: &mut ControlNumbers, ta1: Segment) -> String {
        self.enclose(numbers, &[ta1], 0)
    }

    fn enclose(&self, numbers: &mut ControlNumbers, inside: &[Segment], groups: usize) -> String {
        let delimiters = Delimiters::default();
        let number = format!("{:09}", numbers.next_interchange());
        let mut text = self.header(&number, delimiters);
        for segment in inside {
            segment.write(&mut text, delimiters);
        }
        Segment::new("IEA", [groups.to_string(), number]).write(&mut text, delimiters);
        text
    }

    fn header(&self, number: &str, delimiters: Delimiters) -> String {
        let day = Day::of(self.at).to_x12();
        let repetition = char::from(delimiters.repetition.unwrap_or(b'^')).to_string();
        let component = char::from(delimiters.component).to_string();
        let fields: [(&str, usize); 16] = [
            ("00", 2),
            ("", 10),
            ("00", 2),
            ("", 10),
            (&self.sender.qualifier, 2),
            (&self.sender.id, 15),
            (&self.receiver.qualifier, 2),
            (&self.receiver.id, 15),
            (&day[2..], 6),
            (&day::minutes(self.at), 4),
            (&repetition, 1),
            ("00501", 5),
            (number, 9),
            (if self.acknowledge { "1" } else { "0" }, 1),
            (if self.production { "P" } else { "T" }, 1),
            (&component, 1),
        ];
        let mut text = String::from("ISA");
        for (index, (value, width)) in fields.into_iter().enumerate() {
            text.push(char::from(delimiters.element));
            let exempt = matches!(index, 10 | 15);
            let printable = |letter: char| match u8::try_from(letter) {
                Ok(byte) if exempt || !delimiters.contains(byte) => letter.is_ascii_graphic(),
                _ => false,
            };
            let cleaned: String = value
                .chars()
                .map(|letter| if printable(letter) { letter } else { ' ' })
                .take(width)
                .collect();
            text.push_str(&format!("{cleaned:width$}"));
        }
        text.push(char::from(delimiters.segment));
        text
    }
}

/// The segment with texts cut to the length that the standard gives them.
fn fitted(mut segment: Segment) -> Segment {
    let Some(shape) = schema::dictionary().segment(&segment.tag) else {
        return segment;
    };
    for (element, allowed) in segment.elements.iter_mut().zip(&shape.elements) {
        for repetition in &mut element.0 {
            for (value, simple) in repetition.0.iter_mut().zip(&allowed.components) {
                let longest = value.char_indices().nth(simple.longest);
                if let (ElementKind::Text, Some((end, _))) = (simple.kind, longest) {
                    value.truncate(end);
                }
            }
        }
    }
    segment
}
