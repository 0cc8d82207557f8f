//! The names of boxes, executions, layers and bases.
//!
//! A name becomes a file name, a cgroup and a host name, so it is checked once, here, and can then be trusted.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The longest name that is accepted: what a host name may have.
pub const LONGEST: usize = 63;

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} {text:?} must be 1 to {LONGEST} letters, digits, '-' or '_', the first a letter or digit"
)]
pub struct InvalidName {
    what: &'static str,
    text: String,
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=LONGEST).contains(&bytes.len())
        && bytes[0].is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name `text`, if it can be one.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidName> {
                let text = text.into();
                if is_name(&text) { Ok(Self(text)) } else { Err(InvalidName { what: $what, text }) }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    )*};
}

names! {
    /// The name of a box, chosen by whoever creates it.
    BoxId = "box id";
    /// The name of an execution within its box, chosen by whoever starts it.
    ExecId = "execution id";
    /// The name of a layer, chosen by whoever takes the snapshot.
    LayerId = "layer id";
    /// The name under which a root file system is registered.
    BaseName = "base name";
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_that_would_leave_its_directory_is_refused() {
        for text in [
            "",
            ".",
            "..",
            "a/b",
            "/",
            "-rf",
            "a b",
            "a\0",
            "é",
            &"a".repeat(64),
        ] {
            assert!(BoxId::new(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_one_plain_path_component(text in ".{0,70}") {
            if let Ok(name) = BoxId::new(text.clone()) {
                let path = std::path::Path::new(name.as_str());
                prop_assert_eq!(path.components().count(), 1);
                prop_assert!(path.file_name().is_some());
                prop_assert_eq!(name.as_str(), text);
            }
        }
    }
}
