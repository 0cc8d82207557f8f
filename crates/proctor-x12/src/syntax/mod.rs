//! Checks a transaction against the tables of its set, and finds the loop of each segment.
//!
//! The result is a [`SyntaxReport`] in the codes of the 999, which [`crate::acknowledgment`] writes
//! down. Whether the answer to a question is yes is not decided here.

mod elements;
mod hierarchy;
mod walk;

pub(crate) use elements::is_time;
pub use hierarchy::{HierarchyNode, Level, tree};

use crate::{schema, segment::Segment, transaction_set::TransactionSet};

/// What is wrong with a segment: IK304.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentFault {
    /// No segment has this name.
    Unrecognized,
    /// It has no place at this point of the transaction set.
    Unexpected,
    /// A segment that must be here is not.
    Missing,
    /// The loop it begins occurs too often.
    LoopTooOften,
    /// It occurs too often.
    TooOften,
    /// This transaction set has no such segment.
    NotInSet,
    /// Its place was earlier.
    OutOfSequence,
    /// Its elements are wrong.
    Elements,
}

impl SegmentFault {
    /// The code in IK304.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unrecognized => "1",
            Self::Unexpected => "2",
            Self::Missing => "3",
            Self::LoopTooOften => "4",
            Self::TooOften => "5",
            Self::NotInSet => "6",
            Self::OutOfSequence => "7",
            Self::Elements => "8",
        }
    }
}

/// What is wrong with an element: IK403.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementFault {
    /// It must be present.
    Missing,
    /// Another element asks for it.
    MissingConditional,
    /// The segment has no such element.
    TooMany,
    /// Too few characters.
    TooShort,
    /// Too many characters.
    TooLong,
    /// A character that its type does not allow.
    Character,
    /// A code that is not allowed here.
    Code,
    /// Not a date.
    Date,
    /// Not a time.
    Time,
    /// Another element excludes it.
    Excluded,
    /// Too many repetitions.
    TooManyRepetitions,
    /// Too many components.
    TooManyComponents,
}

impl ElementFault {
    /// The code in IK403.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Missing => "1",
            Self::MissingConditional => "2",
            Self::TooMany => "3",
            Self::TooShort => "4",
            Self::TooLong => "5",
            Self::Character => "6",
            Self::Code => "7",
            Self::Date => "8",
            Self::Time => "9",
            Self::Excluded => "10",
            Self::TooManyRepetitions => "12",
            Self::TooManyComponents => "13",
        }
    }
}

/// A fault of an element: IK4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementError {
    /// The element's number.
    pub element: usize,
    /// The component's number, in a composite.
    pub component: Option<usize>,
    /// The repetition's number, where the element repeats.
    pub repetition: Option<usize>,
    /// What is wrong.
    pub fault: ElementFault,
    /// What stands there.
    pub value: String,
}

/// A fault of a segment: IK3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentError {
    /// The segment's name.
    pub tag: String,
    /// Its place in the transaction; the ST segment is 1.
    pub position: usize,
    /// The loop it is in.
    pub loop_id: String,
    /// What is wrong.
    pub fault: SegmentFault,
    /// The details, for [`SegmentFault::Elements`].
    pub elements: Vec<ElementError>,
}

/// What a check of a transaction found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyntaxReport {
    /// The faults in the order of the segments.
    pub errors: Vec<SegmentError>,
    /// The loop of each segment, in step with the segments; empty where there is none.
    pub loops: Vec<String>,
}

impl SyntaxReport {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }
}

/// Checks the segments of one transaction, from ST to SE.
pub fn check(set: TransactionSet, segments: &[Segment]) -> SyntaxReport {
    let Some(table) = schema::table(set) else {
        return SyntaxReport {
            errors: Vec::new(),
            loops: vec![String::new(); segments.len()],
        };
    };
    let placed = walk::place(table, segments);
    let mut errors = placed.errors;
    let places = placed.places;
    let mut hierarchy = hierarchy::check(set, segments);
    for (index, segment) in segments.iter().enumerate() {
        let place = places.get(index).and_then(Option::as_ref);
        let mut found = elements::check(segment, place.map(|place| place.rule));
        // One fault per element is enough to find it.
        let of_tree = hierarchy.remove(&index).unwrap_or_default();
        let new = |one: &ElementError| !found.iter().any(|known| known.element == one.element);
        let of_tree: Vec<_> = of_tree.into_iter().filter(new).collect();
        found.extend(of_tree);
        if !found.is_empty() {
            errors.push(SegmentError {
                tag: segment.tag.clone(),
                position: index + 1,
                loop_id: place.map_or_else(String::new, |place| place.loop_id.to_owned()),
                fault: SegmentFault::Elements,
                elements: found,
            });
        }
    }
    errors.sort_by_key(|error| error.position);
    let loops = places
        .iter()
        .map(|place| place.as_ref().map_or("", |place| place.loop_id).to_owned());
    SyntaxReport {
        loops: loops.collect(),
        errors,
    }
}
