//! What a receiver objects to in a message.

use std::fmt;

/// Something wrong with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageError {
    /// Its kind.
    pub code: ErrorCode,
    /// Where it is, if it is at a place.
    pub place: Option<Place>,
    /// What a person should know.
    pub text: String,
}

/// The kinds of error, as numbered by table 0357.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// 100: a segment is missing or out of order.
    SegmentSequence,
    /// 101: a required field has no value.
    RequiredFieldMissing,
    /// 102: a value is not of its field's type.
    DataType,
    /// 103: a value is not in its field's table.
    TableValue,
    /// 200: no such message is handled.
    UnsupportedMessageType,
    /// 201: no such event is handled.
    UnsupportedEvent,
    /// 202: neither production, training nor debugging.
    UnsupportedProcessingId,
    /// 203: not a known version.
    UnsupportedVersion,
    /// 204: what the message refers to is not known.
    UnknownKey,
    /// 205: what the message adds exists already.
    DuplicateKey,
    /// 206: what the message changes is being changed.
    Locked,
    /// 207: the receiver failed.
    Internal,
}

impl ErrorCode {
    /// Its number in table 0357.
    pub fn number(self) -> u16 {
        match self {
            Self::SegmentSequence => 100,
            Self::RequiredFieldMissing => 101,
            Self::DataType => 102,
            Self::TableValue => 103,
            Self::UnsupportedMessageType => 200,
            Self::UnsupportedEvent => 201,
            Self::UnsupportedProcessingId => 202,
            Self::UnsupportedVersion => 203,
            Self::UnknownKey => 204,
            Self::DuplicateKey => 205,
            Self::Locked => 206,
            Self::Internal => 207,
        }
    }

    /// Its name in table 0357.
    pub fn name(self) -> &'static str {
        match self {
            Self::SegmentSequence => "Segment sequence error",
            Self::RequiredFieldMissing => "Required field missing",
            Self::DataType => "Data type error",
            Self::TableValue => "Table value not found",
            Self::UnsupportedMessageType => "Unsupported message type",
            Self::UnsupportedEvent => "Unsupported event code",
            Self::UnsupportedProcessingId => "Unsupported processing id",
            Self::UnsupportedVersion => "Unsupported version id",
            Self::UnknownKey => "Unknown key identifier",
            Self::DuplicateKey => "Duplicate key identifier",
            Self::Locked => "Application record locked",
            Self::Internal => "Application internal error",
        }
    }

    /// Whether the message is refused unseen, whatever else stands in it; otherwise its content is at fault.
    pub fn rejects(self) -> bool {
        match self {
            Self::UnsupportedMessageType
            | Self::UnsupportedEvent
            | Self::UnsupportedProcessingId
            | Self::UnsupportedVersion
            | Self::Locked
            | Self::Internal => true,
            Self::SegmentSequence
            | Self::RequiredFieldMissing
            | Self::DataType
            | Self::TableValue
            | Self::UnknownKey
            | Self::DuplicateKey => false,
        }
    }
}

/// A place in a message, as error segments name it; all numbers from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The segment's name.
    pub segment: String,
    /// Which of the segments of that name.
    pub occurrence: usize,
    /// The field; none if the whole segment is meant.
    pub field: Option<usize>,
    /// The component; none if the whole field is meant.
    pub component: Option<usize>,
}

impl Place {
    /// A whole segment.
    pub fn segment(name: &str, occurrence: usize) -> Self {
        Self {
            segment: name.to_owned(),
            occurrence,
            field: None,
            component: None,
        }
    }

    /// A field of that segment.
    #[must_use]
    pub fn field(mut self, number: usize) -> Self {
        self.field = Some(number);
        self
    }

    /// A component of that field.
    #[must_use]
    pub fn component(mut self, number: usize) -> Self {
        self.component = Some(number);
        self
    }
}

impl fmt::Display for Place {
    /// In the notation of [`crate::Path`]; a segment that occurs first goes without its number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segment)?;
        if self.occurrence > 1 {
            write!(f, "[{}]", self.occurrence)?;
        }
        for part in [self.field, self.component].into_iter().flatten() {
            write!(f, ".{part}")?;
        }
        Ok(())
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code.number(), self.code.name())?;
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        write!(f, ": {}", self.text)
    }
}
