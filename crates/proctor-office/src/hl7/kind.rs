//! What kind of message one is: `ORU`, or more exactly `ORU^R01`.

use std::fmt;

use proctor_hl7::Message;

/// MSH-9: the type of a message, and the event if one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessageKind {
    pub(super) code: String,
    pub(super) event: Option<String>,
}

impl MessageKind {
    /// Reads `ORM`, `ORM^O01` or `ORM_O01`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let is_word =
            |word: &str| !word.is_empty() && word.chars().all(|char| char.is_ascii_alphanumeric());
        let mut words = text.trim().split(['^', '_']);
        let code = words.next().filter(|code| is_word(code))?;
        let event = words.next();
        let is_whole = words.next().is_none();
        (is_whole && event.is_none_or(is_word)).then(|| Self {
            code: code.to_ascii_uppercase(),
            event: event.map(str::to_ascii_uppercase),
        })
    }

    /// The kind that a message says it is.
    pub(super) fn of(message: &Message<'_>) -> Option<Self> {
        Some(Self {
            code: message.code().text()?.to_owned(),
            event: message.event().text().map(str::to_owned),
        })
    }

    /// Whether `other` is of this kind; one without an event covers all events.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.code == other.code && (self.event.is_none() || self.event == other.event)
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.event {
            Some(event) => write!(f, "{}^{event}", self.code),
            None => f.write_str(&self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_in_its_usual_spellings() {
        for text in ["ORM^O01", "orm_o01", " ORM^O01 "] {
            assert_eq!(MessageKind::read(text).unwrap().to_string(), "ORM^O01");
        }
        for text in ["", "^O01", "ORM^", "ORM^O01^ORM_O01", "O|M"] {
            assert_eq!(MessageKind::read(text), None, "{text}");
        }
        let orm = MessageKind::read("ORM").unwrap();
        assert!(orm.covers(&MessageKind::read("ORM^O01").unwrap()));
        assert!(!MessageKind::read("ORM^O02").unwrap().covers(&orm));
    }
}
