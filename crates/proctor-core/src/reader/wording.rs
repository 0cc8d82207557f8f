//! What problems are called, by whom they are for.

use serde_json::Value;

/// For whom problems are worded, and where a member that is missing or unknown is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    /// For authors of JSON documents: "is required and missing", at the member itself.
    #[default]
    Document,
    /// For programs that send a body: "is required", at the member itself.
    Request,
    /// For people who write a file by hand: "'name' is required", at the map that lacks it, and what they wrote instead.
    File,
}

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Object,
    List,
    Text,
    Flag,
    Number,
}

/// Which of two places a problem with a member is reported at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Member,
    Object,
}

impl Wording {
    /// A value of another type than the one that is wanted.
    pub(super) fn wrong_type(self, wanted: Wanted, found: &Value) -> String {
        let wanted = match (self, wanted) {
            (Self::File, Wanted::Object) => "a map",
            (Self::Document | Self::Request, Wanted::Object) => "an object",
            (Self::File, Wanted::Text) if found.is_number() || found.is_boolean() => {
                "a text (in quotes where it looks like something else)"
            }
            (_, Wanted::Text) => "a text",
            (_, Wanted::List) => "a list",
            (_, Wanted::Flag) => "true or false",
            (_, Wanted::Number) => "a number",
        };
        match self {
            Self::Document | Self::Request => format!("must be {wanted}"),
            Self::File => format!("must be {wanted}, and is {}", noun(found)),
        }
    }

    /// A member that must be there and is not.
    pub(super) fn missing(self, name: &str) -> (At, String) {
        match self {
            Self::Document => (At::Member, "is required and missing".to_owned()),
            Self::Request => (At::Member, "is required".to_owned()),
            Self::File => (At::Object, format!("'{name}' is required")),
        }
    }

    /// A member that nobody asked for.
    pub(super) fn unknown(self, name: &str, known: &[&str]) -> (At, String) {
        let known = known.join(", ");
        match self {
            Self::Document | Self::Request => {
                (At::Member, format!("is not known here; {known} are"))
            }
            Self::File => (
                At::Object,
                format!("'{name}' is unknown here; known are {known}"),
            ),
        }
    }
}

/// What a value is, for people who write YAML.
fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
