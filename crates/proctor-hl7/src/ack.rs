//! What a receiver answers.
//!
//! In original mode (MSH-15 and MSH-16 are empty) a message gets one application acknowledgement: AA, AE or AR. In enhanced mode the sender
//! says which it wants: first an accept acknowledgement (CA, CE, CR: received and kept, judged by the header alone), then, if it was accepted,
//! the application's.

use proctor_core::time::Timestamp;

use crate::{
    charset::Charset,
    delimiters::Delimiters,
    draft::{ComponentDraft, FieldDraft, MessageDraft, RepetitionDraft, SegmentDraft},
    message::Message,
    message_error::{ErrorCode, MessageError, Place},
    parse_error::ParseError,
    time::hl7_time,
    validate::{is_handled, validate},
    value::Value,
    version::Version,
};

/// A code of table 0008.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AckCode {
    /// AA: done.
    ApplicationAccept,
    /// AE: something in the message is wrong.
    ApplicationError,
    /// AR: refused for what it is, or not readable.
    ApplicationReject,
    /// CA: received and kept.
    CommitAccept,
    /// CE: not kept.
    CommitError,
    /// CR: not kept for what it is.
    CommitReject,
}

impl AckCode {
    /// The two letters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApplicationAccept => "AA",
            Self::ApplicationError => "AE",
            Self::ApplicationReject => "AR",
            Self::CommitAccept => "CA",
            Self::CommitError => "CE",
            Self::CommitReject => "CR",
        }
    }
}

/// An acknowledgement as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What it says.
    pub code: AckCode,
    /// The message.
    pub message: Vec<u8>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// AA, AE or AR.
    pub code: AckCode,
    /// The application acknowledgement with that code, for transports that always answer with it, whatever the sender wanted.
    pub message: Vec<u8>,
    /// What is wrong with the message.
    pub problems: Vec<MessageError>,
    /// What the sender is owed, in this order: one reply in original mode, up to two in enhanced mode.
    pub replies: Vec<Reply>,
}

/// Judges a message and acknowledges it, at this time and under this control id (MSH-10); an accept acknowledgement has the id with a `C` behind
/// it. None: the message is an acknowledgement itself, and those are never acknowledged.
pub fn acknowledge(raw: &[u8], now: Timestamp, control_id: &str) -> Option<Acknowledgement> {
    acknowledge_with(raw, now, control_id, vec![])
}

/// Like [`acknowledge`], with problems that only the application can know of (an unknown patient, say) behind those of the message.
pub fn acknowledge_with(
    raw: &[u8],
    now: Timestamp,
    control_id: &str,
    of_the_application: Vec<MessageError>,
) -> Option<Acknowledgement> {
    let message = match Message::parse(raw) {
        Ok(message) => message,
        Err(error) => return refusal(raw, error, now, control_id),
    };
    if is_acknowledgement(&message) {
        return None;
    }
    let mut problems = validate(&message);
    problems.extend(of_the_application);
    let frame = Frame::answering(&message, now);
    let code = Verdict::on(&problems).of_the_application();
    let application = Reply {
        code,
        message: frame.write(control_id, code, &problems),
    };
    let wanted = (message.of_header(15, 1), message.of_header(16, 1));
    let replies = match wanted {
        (Value::Absent | Value::Null, Value::Absent | Value::Null) => vec![application.clone()],
        (for_accept, for_application) => {
            let accept = accept(&frame, control_id, &problems);
            let accepted = accept.code == AckCode::CommitAccept;
            let accept = is_wanted(&for_accept, accepted).then_some(accept);
            let application = (accepted && is_wanted(&for_application, problems.is_empty()))
                .then(|| application.clone());
            accept.into_iter().chain(application).collect()
        }
    };
    Some(Acknowledgement {
        code,
        message: application.message,
        problems,
        replies,
    })
}

/// The accept acknowledgement: of all problems only those that show in the header.
fn accept(frame: &Frame, control_id: &str, problems: &[MessageError]) -> Reply {
    let of_the_header: Vec<MessageError> = problems
        .iter()
        .filter(|problem| problem.code.rejects() || is_of_the_header(problem))
        .cloned()
        .collect();
    let code = Verdict::on(&of_the_header).of_the_commit();
    Reply {
        code,
        message: frame.write(&format!("{control_id}C"), code, &of_the_header),
    }
}

/// The answer to bytes that are no message, with as much of a header as they have.
fn refusal(
    raw: &[u8],
    error: ParseError,
    now: Timestamp,
    control_id: &str,
) -> Option<Acknowledgement> {
    let header = Message::salvage(raw);
    if header.as_ref().is_some_and(is_acknowledgement) {
        return None;
    }
    let (kind, place) = match error {
        ParseError::Empty | ParseError::NoHeader { .. } => {
            (ErrorCode::SegmentSequence, Place::segment("MSH", 1))
        }
        ParseError::Delimiters { .. } => (ErrorCode::DataType, Place::segment("MSH", 1).field(2)),
        ParseError::TooLarge { .. } | ParseError::TooManySegments { .. } => {
            (ErrorCode::Internal, Place::segment("MSH", 1))
        }
    };
    let problems = vec![MessageError {
        code: kind,
        place: Some(place),
        text: error.to_string(),
    }];
    let frame = match header {
        Some(header) => Frame::answering(&header, now),
        None => Frame::answering_nobody(now),
    };
    let code = AckCode::ApplicationReject;
    let message = frame.write(control_id, code, &problems);
    Some(Acknowledgement {
        code,
        message: message.clone(),
        problems,
        replies: vec![Reply { code, message }],
    })
}

/// ACK itself, and any message that answers another one (with an MSA) unless it is one that is handled.
fn is_acknowledgement(message: &Message<'_>) -> bool {
    match message.code().text() {
        Some("ACK") => true,
        Some(code) if is_handled(code) => false,
        _ => message.segments_named("MSA").next().is_some(),
    }
}

/// What problems come to.
enum Verdict {
    Accept,
    Error,
    Reject,
}

impl Verdict {
    fn on(problems: &[MessageError]) -> Self {
        if problems.is_empty() {
            Self::Accept
        } else if problems.iter().any(|problem| problem.code.rejects()) {
            Self::Reject
        } else {
            Self::Error
        }
    }

    fn of_the_application(self) -> AckCode {
        match self {
            Self::Accept => AckCode::ApplicationAccept,
            Self::Error => AckCode::ApplicationError,
            Self::Reject => AckCode::ApplicationReject,
        }
    }

    fn of_the_commit(self) -> AckCode {
        match self {
            Self::Accept => AckCode::CommitAccept,
            Self::Error => AckCode::CommitError,
            Self::Reject => AckCode::CommitReject,
        }
    }
}

fn is_of_the_header(problem: &MessageError) -> bool {
    let place = problem.place.as_ref();
    place.is_some_and(|place| place.segment == "MSH" && place.occurrence == 1)
}

/// What MSH-15 or MSH-16 asks for. In enhanced mode nothing is asked for by saying nothing; a word that is not in the table gets an answer.
fn is_wanted(condition: &Value<'_>, success: bool) -> bool {
    match condition.text() {
        None | Some("NE") => false,
        Some("ER") => !success,
        Some("SU") => success,
        Some(_) => true,
    }
}

/// Everything of an acknowledgement but its verdict and its id.
struct Frame {
    delimiters: Delimiters,
    charset: Charset,
    header: SegmentDraft,
    acknowledged: FieldDraft,
    version: Version,
}

impl Frame {
    fn answering(message: &Message<'_>, now: Timestamp) -> Self {
        let theirs = message.header();
        let field = |number: usize| theirs.field(number).map(FieldDraft::from);
        let mut header = SegmentDraft::new("MSH").with(7, hl7_time(now));
        for (own, theirs) in [(3, 5), (4, 6), (5, 3), (6, 4), (11, 11), (12, 12), (18, 18)] {
            // An empty MSH-18 would only make the line longer.
            if let Some(value) = field(theirs).filter(|value| *value != FieldDraft::default()) {
                header = header.with(own, value);
            }
        }
        let version = message.of_header(12, 1);
        let version = version.text().and_then(Version::parse);
        if version.is_none() {
            header = header.with(12, DEFAULT_VERSION);
        }
        Self {
            delimiters: *message.delimiters(),
            charset: message.charset(),
            header: header.with(9, kind(message.event())),
            acknowledged: field(10).unwrap_or_default(),
            version: version.unwrap_or(Version::V2_5),
        }
    }

    fn answering_nobody(now: Timestamp) -> Self {
        let header = SegmentDraft::new("MSH")
            .with(7, hl7_time(now))
            .with(9, kind(Value::Absent))
            .with(11, "P")
            .with(12, DEFAULT_VERSION);
        Self {
            delimiters: Delimiters::default(),
            charset: Charset::Utf8,
            header,
            acknowledged: FieldDraft::default(),
            version: Version::V2_5,
        }
    }

    fn write(&self, control_id: &str, code: AckCode, problems: &[MessageError]) -> Vec<u8> {
        let mut msa = SegmentDraft::new("MSA")
            .with(1, code.as_str())
            .with(2, self.acknowledged.clone());
        // The text of MSA-3 was withdrawn in 2.7.
        if let Some(first) = problems.first()
            && self.version < Version::V2_7
        {
            msa = msa.with(3, first.text.as_str());
        }
        let draft = MessageDraft::new(self.delimiters)
            .in_charset(self.charset)
            .with(self.header.clone().with(10, control_id))
            .with(msa);
        let draft = if self.version >= Version::V2_5 {
            problems
                .iter()
                .map(error_segment)
                .fold(draft, MessageDraft::with)
        } else if problems.is_empty() {
            draft
        } else {
            let errors = FieldDraft::repeated(problems.iter().map(error_before_2_5));
            draft.with(SegmentDraft::new("ERR").with(1, errors))
        };
        draft.serialise()
    }
}

/// The version of an answer to a message that does not say its own, or one that nobody knows.
const DEFAULT_VERSION: &str = "2.5";

/// MSH-9 of an answer to that event.
fn kind(event: Value<'_>) -> FieldDraft {
    let event = match event {
        Value::Absent | Value::Null => Value::Absent,
        text @ Value::Text(_) => text,
    };
    FieldDraft::of(["ACK".into(), event, "ACK".into()])
}

/// ERR since 2.5: where, what, how bad, and a sentence.
fn error_segment(problem: &MessageError) -> SegmentDraft {
    let mut segment = SegmentDraft::new("ERR");
    if let Some(place) = &problem.place {
        let mut location = vec![place.segment.clone(), place.occurrence.to_string()];
        if let Some(field) = place.field {
            location.push(field.to_string());
        }
        if let Some(component) = place.component {
            location.extend(["1".to_owned(), component.to_string()]);
        }
        segment = segment.with(2, FieldDraft::of(location));
    }
    let code = problem.code.number().to_string();
    segment
        .with(
            3,
            FieldDraft::of([code.as_str(), problem.code.name(), "HL70357"]),
        )
        .with(4, "E")
        .with(8, problem.text.as_str())
}

/// One repetition of ERR-1 before 2.5.
fn error_before_2_5(problem: &MessageError) -> RepetitionDraft {
    let code = problem.code.number().to_string();
    let error = ComponentDraft::of([code, problem.code.name().to_owned(), "HL70357".to_owned()]);
    let place = problem.place.as_ref();
    let number = |number: Option<usize>| {
        ComponentDraft::from(number.map(|number| number.to_string()).unwrap_or_default())
    };
    RepetitionDraft::of([
        ComponentDraft::from(
            place
                .map(|place| place.segment.as_str())
                .unwrap_or_default(),
        ),
        number(place.map(|place| place.occurrence)),
        number(place.and_then(|place| place.field)),
        error,
    ])
}
