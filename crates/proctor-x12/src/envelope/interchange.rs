//! The interchange: ISA, IEA, and what may stand between.

use crate::{day::Day, interchange::Interchange, segment::Segment, syntax::is_time};

/// What is wrong with an interchange: TA105.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterchangeNote {
    /// Nothing.
    NoError,
    /// The control numbers of ISA and IEA differ.
    ControlNumbersDiffer,
    /// A version of the envelope that is not supported.
    VersionNotSupported,
    /// ISA05.
    SenderQualifier,
    /// ISA06.
    SenderId,
    /// ISA07.
    ReceiverQualifier,
    /// ISA08.
    ReceiverId,
    /// ISA01.
    AuthorizationQualifier,
    /// ISA03.
    SecurityQualifier,
    /// ISA09.
    Date,
    /// ISA10.
    Time,
    /// ISA11 is no separator.
    Standard,
    /// ISA12.
    Version,
    /// ISA13.
    ControlNumber,
    /// ISA14.
    AcknowledgmentRequested,
    /// ISA15.
    TestIndicator,
    /// IEA01.
    GroupCount,
    /// Segments outside of any group.
    ControlStructure,
    /// No IEA.
    PrematureEnd,
    /// A GS segment that cannot be read, or no group at all.
    Content,
}

impl InterchangeNote {
    /// The code in TA105.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoError => "000",
            Self::ControlNumbersDiffer => "001",
            Self::VersionNotSupported => "003",
            Self::SenderQualifier => "005",
            Self::SenderId => "006",
            Self::ReceiverQualifier => "007",
            Self::ReceiverId => "008",
            Self::AuthorizationQualifier => "010",
            Self::SecurityQualifier => "012",
            Self::Date => "014",
            Self::Time => "015",
            Self::Standard => "016",
            Self::Version => "017",
            Self::ControlNumber => "018",
            Self::AcknowledgmentRequested => "019",
            Self::TestIndicator => "020",
            Self::GroupCount => "021",
            Self::ControlStructure => "022",
            Self::PrematureEnd => "023",
            Self::Content => "024",
        }
    }
}

const ID_QUALIFIERS: [&str; 9] = ["01", "14", "20", "27", "28", "29", "30", "33", "ZZ"];

/// The first thing that is wrong with an interchange: a TA1 has room for one.
pub fn check_interchange(interchange: &Interchange) -> InterchangeNote {
    header_note(interchange)
        .or_else(|| structure_note(interchange))
        .unwrap_or(InterchangeNote::NoError)
}

fn header_note(interchange: &Interchange) -> Option<InterchangeNote> {
    let header = interchange.header();
    let blank = |number: usize| header.text(number).trim().is_empty();
    let digits = |number: usize| {
        let text = header.text(number);
        text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let qualifier = |number: usize| ID_QUALIFIERS.contains(&header.text(number));
    let date = format!("20{}", header.text(9));
    let version = header.text(12);
    let checks = [
        (
            !matches!(header.text(1), "00" | "03"),
            InterchangeNote::AuthorizationQualifier,
        ),
        (
            !matches!(header.text(3), "00" | "01"),
            InterchangeNote::SecurityQualifier,
        ),
        (!qualifier(5), InterchangeNote::SenderQualifier),
        (blank(6), InterchangeNote::SenderId),
        (!qualifier(7), InterchangeNote::ReceiverQualifier),
        (blank(8), InterchangeNote::ReceiverId),
        (Day::from_x12(&date).is_none(), InterchangeNote::Date),
        (!is_time(header.text(10)), InterchangeNote::Time),
        (!digits(12), InterchangeNote::Version),
        (version != "00501", InterchangeNote::VersionNotSupported),
        (
            interchange.delimiters.repetition.is_none(),
            InterchangeNote::Standard,
        ),
        (!digits(13), InterchangeNote::ControlNumber),
        (
            !matches!(header.text(14), "0" | "1"),
            InterchangeNote::AcknowledgmentRequested,
        ),
        (
            !matches!(header.text(15), "P" | "T"),
            InterchangeNote::TestIndicator,
        ),
    ];
    first(checks)
}

fn structure_note(interchange: &Interchange) -> Option<InterchangeNote> {
    let Some(trailer) = interchange.trailer() else {
        return Some(InterchangeNote::PrematureEnd);
    };
    let count = trailer.text(1).parse();
    let has_ta1 = interchange.segments.iter().any(|one| one.tag == "TA1");
    let mut groups = interchange.groups.iter();
    first([
        (
            trailer.text(2) != interchange.header().text(13),
            InterchangeNote::ControlNumbersDiffer,
        ),
        (
            count != Ok(interchange.groups.len()),
            InterchangeNote::GroupCount,
        ),
        (
            !interchange.stray.is_empty(),
            InterchangeNote::ControlStructure,
        ),
        (
            interchange.groups.is_empty() && !has_ta1,
            InterchangeNote::Content,
        ),
        (
            !groups.all(|group| is_readable(interchange.group_header(group))),
            InterchangeNote::Content,
        ),
    ])
}

fn is_readable(group: &Segment) -> bool {
    let present = [1, 2, 3, 6, 8]
        .iter()
        .all(|number| !group.text(*number).is_empty());
    present
        && Day::from_x12(group.text(4)).is_some()
        && is_time(group.text(5))
        && group.text(7) == "X"
}

fn first<const N: usize>(checks: [(bool, InterchangeNote); N]) -> Option<InterchangeNote> {
    checks
        .into_iter()
        .find_map(|(wrong, note)| wrong.then_some(note))
}
