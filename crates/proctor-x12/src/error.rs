//! Why bytes are not an interchange.

/// What stops the reading of an input before there is an interchange that could be acknowledged.
/// Every offset counts bytes from the start of the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is nothing but white space.
    #[error("the input holds no interchange")]
    Empty,
    /// An interchange was expected to begin here.
    #[error("byte {offset}: an interchange begins with ISA")]
    NotAnInterchange {
        /// Where.
        offset: usize,
    },
    /// The input ends inside the ISA segment.
    #[error("byte {offset}: the ISA segment has 106 bytes, the input ends after {length}")]
    HeaderTooShort {
        /// Where the ISA segment begins.
        offset: usize,
        /// How many bytes of it there are.
        length: usize,
    },
    /// An element of the ISA segment does not have its fixed length.
    #[error("byte {offset}: the ISA segment has no element separator after ISA{element:02}")]
    HeaderMisaligned {
        /// Where the separator was expected.
        offset: usize,
        /// The element that should end there; 0 is the segment's name.
        element: usize,
    },
    /// Two delimiters are the same, or one is a letter, a digit or a space.
    #[error("byte {offset}: {:?} cannot serve as this delimiter", char::from(*byte))]
    Delimiter {
        /// Where the delimiter is declared.
        offset: usize,
        /// The byte that stands there.
        byte: u8,
    },
}
