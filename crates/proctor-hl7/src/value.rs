//! What stands at the end of a path.

use std::borrow::Cow;

/// A value of a message. To a receiver the three mean different things: leave as it is, delete, replace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Value<'a> {
    /// Nothing stands there, or the place does not exist.
    #[default]
    Absent,
    /// `""`: explicitly nothing.
    Null,
    /// Text, with its escapes decoded; never empty.
    Text(Cow<'a, str>),
}

impl Value<'_> {
    /// The text, if there is some.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Absent | Self::Null => None,
            Self::Text(text) => Some(text),
        }
    }

    /// The same value, independent of the message that it was read from.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Absent => Value::Absent,
            Self::Null => Value::Null,
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        }
    }
}

impl<'a> From<Cow<'a, str>> for Value<'a> {
    /// Empty text is no text.
    fn from(text: Cow<'a, str>) -> Self {
        if text.is_empty() {
            Self::Absent
        } else {
            Self::Text(text)
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Cow::Borrowed(text).into()
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Cow::<str>::Owned(text).into()
    }
}
