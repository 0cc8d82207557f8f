//! Why bytes are not a message.

use thiserror::Error;

use crate::delimiters::BadDelimiters;

/// Why bytes are not a message, and where this shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParseError {
    /// There is nothing but white space.
    #[error("the message is empty")]
    Empty,
    /// The first segment is not MSH.
    #[error("a message starts with MSH; something else stands at byte {position}")]
    NoHeader {
        /// Where the header should be.
        position: usize,
    },
    /// MSH does not say how the message is divided.
    #[error("{reason} (byte {position})")]
    Delimiters {
        /// What is wrong with MSH-1 or MSH-2.
        reason: BadDelimiters,
        /// Where MSH-1 stands.
        position: usize,
    },
    /// There are more bytes than may be read.
    #[error("the message has {length} bytes; at most {limit} are read")]
    TooLarge {
        /// How many there are.
        length: usize,
        /// How many may be.
        limit: usize,
    },
    /// There are more segments than may be read.
    #[error("the message has more than {limit} segments; the next one starts at byte {position}")]
    TooManySegments {
        /// How many may be.
        limit: usize,
        /// Where the first one too many starts.
        position: usize,
    },
}

impl ParseError {
    /// The byte at which reading stopped.
    pub fn position(&self) -> usize {
        match *self {
            Self::Empty => 0,
            Self::TooLarge { limit, .. } => limit,
            Self::NoHeader { position }
            | Self::Delimiters { position, .. }
            | Self::TooManySegments { position, .. } => position,
        }
    }
}
