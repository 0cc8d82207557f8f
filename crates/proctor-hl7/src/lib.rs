//! What is known about HL7 v2, independent of any server.
//!
//! * [`Message`]: a message read without copying it; its bytes stay what they were, as evidence.
//! * [`Path`]: where a value stands in a message (`PID-5[2].1`), in all the usual notations.
//! * [`MessageDraft`]: a message put together and written with the right escapes.
//! * [`validate`]: what a receiver objects to, with the codes of table 0357.
//! * [`acknowledge`]: what a receiver answers, in original and enhanced mode.
//! * [`mllp`]: the frames that carry messages over a stream.
//!
//! Nothing here does I/O, reads a clock, or fails on what somebody sent: every input has an answer.

mod ack;
mod charset;
mod delimiters;
mod draft;
mod escape;
mod message;
mod message_error;
pub mod mllp;
mod parse_error;
mod parts;
mod path;
mod structure;
mod time;
mod validate;
mod value;
mod version;

pub use ack::{AckCode, Acknowledgement, Reply, acknowledge, acknowledge_with};
pub use charset::Charset;
pub use delimiters::{BadDelimiters, Delimiters};
pub use draft::{ComponentDraft, FieldDraft, MessageDraft, RepetitionDraft, SegmentDraft};
pub use message::{DEFAULT_LIMIT, Message, SEGMENT_LIMIT, Segment};
pub use message_error::{ErrorCode, MessageError, Place};
pub use parse_error::ParseError;
pub use parts::{Component, Field, Repetition, Subcomponent};
pub use path::{Expected, Index, Path, PathError};
pub use time::hl7_time;
pub use validate::validate;
pub use value::Value;
pub use version::Version;
