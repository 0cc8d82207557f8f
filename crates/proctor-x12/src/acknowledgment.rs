//! The two acknowledgments: TA1 for an interchange, 999 for a group.

use crate::{
    envelope::{GroupReport, InterchangeNote, TransactionReport},
    interchange::{Group, Interchange},
    segment::{Element, Segment},
    syntax::{ElementError, ElementFault, SegmentError},
};

/// The longest copy of a wrong value that a 999 may hold.
const LONGEST_COPY: usize = 99;
/// IK303 has four characters: of `2100C` the level is told apart by the position.
const LONGEST_LOOP_ID: usize = 4;
/// IK5 and AK9 have room for five codes.
const MOST_CODES: usize = 5;

/// The TA1 segment that answers an interchange.
pub fn ta1(interchange: &Interchange, note: InterchangeNote) -> Segment {
    let header = interchange.header();
    let verdict = match note {
        InterchangeNote::NoError => "A",
        _ => "R",
    };
    let elements = [
        header.text(13),
        header.text(9),
        header.text(10),
        verdict,
        note.code(),
    ];
    Segment::new("TA1", elements)
}

/// The body of the 999 that answers a group, without ST and SE.
pub fn body_999(interchange: &Interchange, group: &Group, report: &GroupReport) -> Vec<Segment> {
    let header = interchange.group_header(group);
    let mut body = vec![Segment::new(
        "AK1",
        [header.text(1), header.text(6), header.text(8)],
    )];
    for (index, transaction) in group.transactions.iter().enumerate() {
        let first = &interchange.segments_of(transaction)[0];
        let Some(found) = report.transactions.get(index) else {
            continue;
        };
        body.push(Segment::new(
            "AK2",
            [first.text(1), first.text(2), first.text(3)],
        ));
        for error in &found.syntax.errors {
            segment_note(error, &mut body);
        }
        body.push(set_verdict(found));
    }
    body.push(group_verdict(interchange, group, report));
    body
}

fn segment_note(error: &SegmentError, body: &mut Vec<Segment>) {
    let loop_id: String = error.loop_id.chars().take(LONGEST_LOOP_ID).collect();
    body.push(Segment::new(
        "IK3",
        [
            error.tag.as_str(),
            &error.position.to_string(),
            &loop_id,
            error.fault.code(),
        ],
    ));
    body.extend(error.elements.iter().map(element_note));
}

fn element_note(error: &ElementError) -> Segment {
    let number = |number: Option<usize>| number.map_or_else(String::new, |it| it.to_string());
    let place = Element::composite([
        error.element.to_string(),
        number(error.component),
        number(error.repetition),
    ]);
    // A value that broke the rules of characters is not repeated.
    let copy: String = match error.fault {
        ElementFault::Character => String::new(),
        _ => error.value.chars().take(LONGEST_COPY).collect(),
    };
    Segment::new(
        "IK4",
        [
            place,
            Element::empty(),
            error.fault.code().into(),
            copy.into(),
        ],
    )
}

fn set_verdict(found: &TransactionReport) -> Segment {
    let verdict = if found.faults.is_empty() { "A" } else { "R" };
    let codes = found.faults.iter().map(|fault| fault.code());
    Segment::new(
        "IK5",
        std::iter::once(verdict).chain(codes.take(MOST_CODES)),
    )
}

fn group_verdict(interchange: &Interchange, group: &Group, report: &GroupReport) -> Segment {
    let received = group.transactions.len();
    let accepted = report.accepted();
    let verdict = match accepted {
        _ if !report.faults.is_empty() => "R",
        0 => "R",
        _ if accepted < received => "P",
        _ => "A",
    };
    let announced = group
        .trailer
        .map(|index| interchange.segments[index].text(1))
        .filter(|count| count.parse::<u32>().is_ok())
        .map_or_else(|| received.to_string(), str::to_owned);
    let counts = [
        verdict.to_owned(),
        announced,
        received.to_string(),
        accepted.to_string(),
    ];
    let codes = report.faults.iter().map(|fault| fault.code().to_owned());
    Segment::new("AK9", counts.into_iter().chain(codes.take(MOST_CODES)))
}
