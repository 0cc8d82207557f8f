//! Documents of authors: read once, kept as they were written.
//!
//! A frozen definition is named by the digest of its text, so a part of it that is a type must be written back exactly as it
//! was read: with members that nobody knows, with numbers as somebody wrote them, and also if it cannot be read at all.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What can be read from a document and written as one.
pub trait Readable: Sized {
    /// What is wrong with a document that cannot be read.
    type Error;

    /// What the document says. Members that it does not know are passed over.
    fn read(document: &Value) -> Result<Self, Self::Error>;

    /// The document that says this.
    fn write(&self) -> Value;
}

/// What a document says or why it cannot be read, and how it was written.
pub struct Document<T: Readable> {
    /// Boxed: what devboxes are asked for is large, and most tasks have none.
    read: Result<Box<T>, T::Error>,
    /// The document itself, if it is not what [`Readable::write`] makes of it.
    written: Option<Value>,
}

impl<T: Readable> Document<T> {
    /// Reads a document.
    pub fn of(document: Value) -> Self {
        let read = T::read(&document).map(Box::new);
        let is_same = read.as_ref().is_ok_and(|value| value.write() == document);
        Self {
            read,
            written: (!is_same).then_some(document),
        }
    }

    /// What it says, or why it cannot be read.
    pub fn get(&self) -> Result<&T, &T::Error> {
        self.read.as_deref()
    }

    /// The document as it was written.
    pub fn to_value(&self) -> Value {
        match (&self.written, &self.read) {
            (Some(written), _) => written.clone(),
            (None, Ok(value)) => value.write(),
            // What cannot be read is always kept.
            (None, Err(_)) => Value::Null,
        }
    }
}

impl<T: Readable> From<T> for Document<T> {
    fn from(value: T) -> Self {
        Self {
            read: Ok(Box::new(value)),
            written: None,
        }
    }
}

// Derives would ask for the same of `T` alone and not of its error.
impl<T: Readable + Clone> Clone for Document<T>
where
    T::Error: Clone,
{
    fn clone(&self) -> Self {
        Self {
            read: self.read.clone(),
            written: self.written.clone(),
        }
    }
}

impl<T: Readable> PartialEq for Document<T> {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl<T: Readable> std::fmt::Debug for Document<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Document").field(&self.to_value()).finish()
    }
}

impl<T: Readable> Serialize for Document<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de, T: Readable> Deserialize<'de> for Document<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::canonical::{self, tests::any_json};

    #[derive(Debug, PartialEq)]
    struct Size(u64);

    impl Readable for Size {
        type Error = String;

        fn read(document: &Value) -> Result<Self, String> {
            let size = document.get("size").and_then(Value::as_f64);
            size.map(|size| Self(size as u64))
                .ok_or_else(|| "no size".to_owned())
        }

        fn write(&self) -> Value {
            json!({"size": self.0})
        }
    }

    #[test]
    fn what_is_written_otherwise_or_cannot_be_read_is_kept() {
        for (text, size) in [
            (r#"{"size":2}"#, Ok(&Size(2))),
            (r#"{"size":2.0}"#, Ok(&Size(2))),
            (r#"{"colour":"red","size":2}"#, Ok(&Size(2))),
            (r#""large""#, Err(&"no size".to_owned())),
            ("null", Err(&"no size".to_owned())),
        ] {
            let document: Document<Size> = serde_json::from_str(text).unwrap();
            assert_eq!(document.get(), size, "{text}");
            assert_eq!(serde_json::to_string(&document).unwrap(), text);
        }
        let document = Document::from(Size(3));
        assert_eq!(document.to_value(), json!({"size": 3}));
    }

    proptest! {
        #[test]
        fn every_document_is_written_as_it_was_read(value in any_json()) {
            let document = Document::<Size>::of(value.clone());
            prop_assert_eq!(canonical::to_bytes(&document.to_value()), canonical::to_bytes(&value));
        }
    }
}
