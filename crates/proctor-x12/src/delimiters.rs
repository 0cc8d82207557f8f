//! The four characters an interchange is written with, and the one place they come from: the
//! fixed positions of its ISA segment.

use crate::error::ReadError;

/// The length of an ISA segment with its terminator.
pub const ISA_LENGTH: usize = 106;

/// Where the element separators of an ISA segment stand.
const SEPARATORS: [usize; 16] = [
    3, 6, 17, 20, 31, 34, 50, 53, 69, 76, 81, 83, 89, 99, 101, 103,
];
const REPETITION_AT: usize = 82;
const COMPONENT_AT: usize = 104;
const TERMINATOR_AT: usize = 105;

/// The delimiters of one interchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delimiters {
    /// Between the elements of a segment.
    pub element: u8,
    /// Between the repetitions of an element (ISA11). Versions before 00402 have none: there ISA11
    /// is a letter.
    pub repetition: Option<u8>,
    /// Between the components of a composite element (ISA16).
    pub component: u8,
    /// After each segment.
    pub segment: u8,
}

impl Default for Delimiters {
    fn default() -> Self {
        Self {
            element: b'*',
            repetition: Some(b'^'),
            component: b':',
            segment: b'~',
        }
    }
}

impl Delimiters {
    /// Reads the delimiters from an ISA segment that begins at `offset` of the input.
    pub fn of_header(input: &[u8], offset: usize) -> Result<Self, ReadError> {
        let header = input.get(offset..).unwrap_or_default();
        if !header.starts_with(b"ISA") {
            return Err(ReadError::NotAnInterchange { offset });
        }
        let Some(header) = header.get(..ISA_LENGTH) else {
            return Err(ReadError::HeaderTooShort {
                offset,
                length: header.len(),
            });
        };
        let element = header[SEPARATORS[0]];
        for (index, at) in SEPARATORS.into_iter().enumerate() {
            if header[at] != element {
                return Err(ReadError::HeaderMisaligned {
                    offset: offset + at,
                    element: index,
                });
            }
        }
        let repetition = header[REPETITION_AT];
        let delimiters = Self {
            element,
            repetition: (!repetition.is_ascii_alphanumeric()).then_some(repetition),
            component: header[COMPONENT_AT],
            segment: header[TERMINATOR_AT],
        };
        delimiters.distinct(offset)
    }

    /// Whether `byte` is one of the delimiters.
    pub fn contains(&self, byte: u8) -> bool {
        byte == self.element
            || byte == self.component
            || byte == self.segment
            || self.repetition == Some(byte)
    }

    fn distinct(self, offset: usize) -> Result<Self, ReadError> {
        let mut seen = Vec::with_capacity(4);
        let places = [
            (Some(self.element), SEPARATORS[0]),
            (self.repetition, REPETITION_AT),
            (Some(self.component), COMPONENT_AT),
            (Some(self.segment), TERMINATOR_AT),
        ];
        for (byte, at) in places {
            let Some(byte) = byte else { continue };
            if byte.is_ascii_alphanumeric() || byte == b' ' || seen.contains(&byte) {
                return Err(ReadError::Delimiter {
                    offset: offset + at,
                    byte,
                });
            }
            seen.push(byte);
        }
        Ok(self)
    }
}
