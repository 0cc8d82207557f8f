//! The characters that a message is divided by: MSH-1 and MSH-2.

use thiserror::Error;

/// The delimiters of one message. All are ASCII punctuation, so a byte of them is never part of another character,
/// neither in UTF-8 nor in Latin-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delimiters {
    field: u8,
    component: u8,
    repetition: Option<u8>,
    escape: Option<u8>,
    subcomponent: Option<u8>,
    truncation: Option<u8>,
}

/// Why the start of a header does not say how its message is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadDelimiters {
    /// The message ends before MSH-2 does.
    #[error("the header ends before it names its delimiters")]
    Missing,
    /// More than the five characters that a delimiter is known for.
    #[error("MSH-2 has {0} characters; it has one to five, usually ^~\\&")]
    Length(usize),
    /// A letter, a digit, a space, a control character, a quotation mark, or not ASCII.
    #[error("the byte {0:#04x} cannot be a delimiter")]
    Unusable(u8),
    /// One character with two meanings.
    #[error("the delimiter {} stands for two things", char::from(*.0))]
    Repeated(u8),
}

impl Default for Delimiters {
    /// The recommended ones: `|^~\&`.
    fn default() -> Self {
        Self {
            field: b'|',
            component: b'^',
            repetition: Some(b'~'),
            escape: Some(b'\\'),
            subcomponent: Some(b'&'),
            truncation: None,
        }
    }
}

impl Delimiters {
    /// Reads MSH-1 and MSH-2. A sender may leave out, from the end, those that it never uses.
    pub fn new(field: u8, encoding: &[u8]) -> Result<Self, BadDelimiters> {
        let (&component, others) = encoding.split_first().ok_or(BadDelimiters::Missing)?;
        if encoding.len() > 5 {
            return Err(BadDelimiters::Length(encoding.len()));
        }
        let mut seen = vec![];
        for &byte in [field].iter().chain(encoding) {
            if !byte.is_ascii_punctuation() || byte == b'"' {
                return Err(BadDelimiters::Unusable(byte));
            }
            if seen.contains(&byte) {
                return Err(BadDelimiters::Repeated(byte));
            }
            seen.push(byte);
        }
        let other = |position: usize| others.get(position).copied();
        Ok(Self {
            field,
            component,
            repetition: other(0),
            escape: other(1),
            subcomponent: other(2),
            truncation: other(3),
        })
    }

    /// These with every missing one (but truncation) filled in: the usual character, or another that is free.
    #[must_use]
    pub fn completed(self) -> Self {
        let mut completed = self;
        let fill = |known: Delimiters, slot: Option<u8>, usual: u8| {
            slot.or_else(|| {
                [usual, b'~', b'\\', b'&', b'^', b'!', b'%']
                    .into_iter()
                    .find(|&byte| !known.contains(byte))
            })
        };
        completed.repetition = fill(completed, completed.repetition, b'~');
        completed.escape = fill(completed, completed.escape, b'\\');
        completed.subcomponent = fill(completed, completed.subcomponent, b'&');
        completed
    }

    /// Whether this byte divides or escapes.
    pub fn contains(&self, byte: u8) -> bool {
        self.field == byte || self.encoding().any(|known| known == byte)
    }

    /// MSH-1: what stands between fields.
    pub fn field(&self) -> u8 {
        self.field
    }

    /// What stands between components.
    pub fn component(&self) -> u8 {
        self.component
    }

    /// What stands between repetitions of a field, if the sender has a character for it.
    pub fn repetition(&self) -> Option<u8> {
        self.repetition
    }

    /// What encloses an escape, if the sender has a character for it.
    pub fn escape(&self) -> Option<u8> {
        self.escape
    }

    /// What stands between subcomponents, if the sender has a character for it.
    pub fn subcomponent(&self) -> Option<u8> {
        self.subcomponent
    }

    /// What marks a truncated value (since version 2.7), if the sender has a character for it.
    pub fn truncation(&self) -> Option<u8> {
        self.truncation
    }

    /// The characters of MSH-2, in their order.
    pub fn encoding(&self) -> impl Iterator<Item = u8> + use<> {
        [
            Some(self.component),
            self.repetition,
            self.escape,
            self.subcomponent,
            self.truncation,
        ]
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ones_are_the_default() {
        assert_eq!(Delimiters::new(b'|', b"^~\\&"), Ok(Delimiters::default()));
    }

    #[test]
    fn what_a_sender_never_uses_may_be_missing() {
        let short = Delimiters::new(b'|', b"^").unwrap();
        assert_eq!((short.repetition(), short.escape()), (None, None));
        assert_eq!(short.completed(), Delimiters::default());
    }

    #[test]
    fn a_missing_one_is_filled_with_what_is_free() {
        let odd = Delimiters::new(b'~', b"&").unwrap().completed();
        assert_eq!(odd.encoding().collect::<Vec<_>>(), b"&\\^!");
        assert_eq!(Delimiters::new(odd.field(), b"&\\^!"), Ok(odd));
    }

    #[test]
    fn what_cannot_divide_is_refused() {
        assert_eq!(Delimiters::new(b'|', b""), Err(BadDelimiters::Missing));
        assert_eq!(
            Delimiters::new(b'|', b"^~\\&#!"),
            Err(BadDelimiters::Length(6))
        );
        assert_eq!(
            Delimiters::new(b'A', b"^~\\&"),
            Err(BadDelimiters::Unusable(b'A'))
        );
        assert_eq!(
            Delimiters::new(b'|', b"^~\\\""),
            Err(BadDelimiters::Unusable(b'"'))
        );
        assert_eq!(
            Delimiters::new(b'|', b"^~\\^"),
            Err(BadDelimiters::Repeated(b'^'))
        );
    }
}
