//! Reading: bytes become interchanges of groups of transactions. Structure that is broken is kept
//! as it is, for [`crate::envelope`] to judge; nothing is refused here that can be acknowledged.

use std::ops::Range;

use crate::{delimiters::Delimiters, error::ReadError, segment::Segment};

/// An input and the interchanges it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The bytes as they came: the evidence that every span points into.
    pub raw: Vec<u8>,
    /// At least one.
    pub interchanges: Vec<Interchange>,
}

/// From an ISA segment to its IEA segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interchange {
    /// What it is written with.
    pub delimiters: Delimiters,
    /// All its segments, the envelope's too.
    pub segments: Vec<Segment>,
    /// Its functional groups, in order.
    pub groups: Vec<Group>,
    /// Whether the last segment is an IEA.
    pub closed: bool,
    /// Segments that belong to no group, other than ISA, TA1 and IEA; indexes into `segments`.
    pub stray: Vec<usize>,
    /// The bytes of the input that it covers.
    pub span: Range<usize>,
}

/// From a GS segment to its GE segment; all positions are indexes into the interchange's segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Where its GS segment is.
    pub header: usize,
    /// Where its GE segment is.
    pub trailer: Option<usize>,
    /// Its transactions, in order.
    pub transactions: Vec<Transaction>,
    /// Segments between transactions.
    pub stray: Vec<usize>,
}

/// From an ST segment to its SE segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Its segments, from ST to SE, or to what stands before the next ST, GE, GS or IEA.
    pub range: Range<usize>,
    /// Whether the last one is an SE.
    pub closed: bool,
}

impl Document {
    /// Reads every interchange of an input. White space may stand around interchanges, and line
    /// breaks after segment terminators.
    pub fn read(raw: impl Into<Vec<u8>>) -> Result<Self, ReadError> {
        let raw = raw.into();
        let mut interchanges = Vec::new();
        let mut offset = skip_white(&raw, 0);
        while offset < raw.len() {
            let interchange = Interchange::read(&raw, offset)?;
            offset = skip_white(&raw, interchange.span.end);
            interchanges.push(interchange);
        }
        if interchanges.is_empty() {
            return Err(ReadError::Empty);
        }
        Ok(Self { raw, interchanges })
    }

    /// The bytes a segment was read from.
    pub fn evidence(&self, segment: &Segment) -> &[u8] {
        self.raw.get(segment.span.clone()).unwrap_or_default()
    }

    /// Every transaction of every interchange, as its segments from ST to SE.
    pub fn transactions(&self) -> impl Iterator<Item = &[Segment]> {
        self.interchanges.iter().flat_map(|interchange| {
            let transactions = interchange.groups.iter().flat_map(|one| &one.transactions);
            transactions.map(|one| interchange.segments_of(one))
        })
    }
}

impl Interchange {
    fn read(raw: &[u8], offset: usize) -> Result<Self, ReadError> {
        let delimiters = Delimiters::of_header(raw, offset)?;
        let mut segments = Vec::new();
        let mut at = offset;
        let mut closed = false;
        while at < raw.len() && !closed {
            let rest = &raw[at..];
            if !segments.is_empty() && begins_interchange(rest, delimiters) {
                break;
            }
            let length = rest
                .iter()
                .position(|byte| *byte == delimiters.segment)
                .unwrap_or(rest.len());
            let segment = Segment::read(raw, at..at + length, delimiters);
            closed = segment.tag == "IEA";
            segments.push(segment);
            at = skip_white(raw, raw.len().min(at + length + 1));
        }
        let mut interchange = Self {
            delimiters,
            segments,
            groups: Vec::new(),
            closed,
            stray: Vec::new(),
            span: offset..at,
        };
        interchange.find_groups();
        Ok(interchange)
    }

    fn find_groups(&mut self) {
        let mut open: Option<Group> = None;
        let mut inside: Option<usize> = None;
        let end = self.segments.len();
        for (index, segment) in self.segments.iter().enumerate() {
            let tag = segment.tag.as_str();
            if let (Some(start), Some(group)) = (inside, open.as_mut())
                && matches!(tag, "SE" | "ST" | "GE" | "GS" | "IEA")
            {
                let closed = tag == "SE";
                let range = start..index + usize::from(closed);
                group.transactions.push(Transaction { range, closed });
                inside = None;
                if closed {
                    continue;
                }
            }
            match (tag, open.as_mut()) {
                ("ISA", _) if index == 0 => {}
                ("TA1", None) => {}
                ("IEA", _) => {}
                ("GS", _) => {
                    self.groups.extend(open.take());
                    open = Some(Group {
                        header: index,
                        trailer: None,
                        transactions: Vec::new(),
                        stray: Vec::new(),
                    });
                }
                ("GE", Some(group)) => {
                    group.trailer = Some(index);
                    self.groups.extend(open.take());
                }
                ("ST", Some(_)) => inside = Some(index),
                (_, Some(group)) if inside.is_none() => group.stray.push(index),
                (_, Some(_)) => {}
                (_, None) => self.stray.push(index),
            }
        }
        if let Some(mut group) = open {
            if let Some(start) = inside {
                let range = start..end;
                group.transactions.push(Transaction {
                    range,
                    closed: false,
                });
            }
            self.groups.push(group);
        }
    }

    /// The ISA segment.
    pub fn header(&self) -> &Segment {
        &self.segments[0]
    }

    /// The IEA segment.
    pub fn trailer(&self) -> Option<&Segment> {
        self.closed.then(|| self.segments.last()).flatten()
    }

    /// The GS segment of a group.
    pub fn group_header(&self, group: &Group) -> &Segment {
        &self.segments[group.header]
    }

    /// The segments of a transaction, from ST to SE.
    pub fn segments_of(&self, transaction: &Transaction) -> &[Segment] {
        &self.segments[transaction.range.clone()]
    }
}

/// A well-formed ISA where a segment should begin starts the next interchange.
fn begins_interchange(rest: &[u8], delimiters: Delimiters) -> bool {
    rest.starts_with(b"ISA")
        && (rest.get(3) == Some(&delimiters.element) || Delimiters::of_header(rest, 0).is_ok())
}

fn skip_white(raw: &[u8], from: usize) -> usize {
    let white = |byte: &&u8| matches!(**byte, b'\r' | b'\n' | b' ' | b'\t');
    from + raw[from..].iter().take_while(white).count()
}
