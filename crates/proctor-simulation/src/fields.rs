//! The fields of a JSON body, read so that everything wrong with them is said at once.
//!
//! Fields that nobody asks for are left alone: they stay in the event of the request.

use std::ops::RangeInclusive;

use proctor_core::reader::{Node, Notes, Wording};
use serde_json::{Map, Value};

use crate::exchange::{Request, Response};

/// The fields of one body, and what was found wrong with them so far.
pub struct Fields {
    body: Value,
    notes: Notes<'static>,
}

impl Fields {
    /// The fields of a request's body, which may have at most `limit` bytes.
    pub fn of(request: &Request, limit: usize) -> Result<Self, Box<Response>> {
        if request.body.len() > limit {
            return Err(Box::new(Response::too_large(format!(
                "the body has {} bytes; at most {limit} are read",
                request.body.len()
            ))));
        }
        Ok(Self {
            body: Value::Object(request.json()?),
            notes: Notes::worded(Wording::Request),
        })
    }

    /// A field that is there; null counts as missing.
    fn field(&self, name: &str) -> Option<Node<'_>> {
        let value = self.body.get(name).filter(|value| !value.is_null())?;
        Some(Node::at(name, value, &self.notes))
    }

    /// A text that must be there and must not be blank, with at most `limit` characters.
    pub fn text(&self, name: &str, limit: usize) -> String {
        let Some(field) = self.field(name) else {
            self.wrong(name, "is required");
            return String::new();
        };
        text_within(&field, limit).unwrap_or_default()
    }

    /// A text that may be missing; where it is there, it is not blank.
    pub fn optional_text(&self, name: &str, limit: usize) -> Option<String> {
        text_within(&self.field(name)?, limit)
    }

    /// A whole number that may be missing, within bounds.
    pub fn optional_number(&self, name: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
        self.field(name)?.whole(bounds)
    }

    /// A field as it came; null counts as missing.
    pub fn value(&self, name: &str) -> Option<Value> {
        self.field(name).map(|field| field.value().clone())
    }

    /// Says that a field is wrong.
    pub fn wrong(&self, name: &str, message: impl Into<String>) {
        Node::at(name, &Value::Null, &self.notes).refuse(message);
    }

    /// Whether anything was wrong so far.
    pub fn has_problems(&self) -> bool {
        !self.notes.is_clean()
    }

    /// All fields, or the refusal that names everything that is wrong.
    pub fn finish(self) -> Result<Map<String, Value>, Box<Response>> {
        let fields = match self.body {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        self.notes
            .finish(Some(fields))
            .map_err(|problems| Box::new(Response::invalid(&problems.into_vec())))
    }
}

fn text_within(field: &Node<'_>, limit: usize) -> Option<String> {
    let text = field.filled_text()?;
    if text.chars().count() > limit {
        field.refuse(format!("must have at most {limit} characters"));
        return None;
    }
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};
    use proctor_core::time::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_wrong_is_said_at_once() {
        let request = Request::new(Method::POST, "x", Timestamp::from_millis(0)).with_json(
            &json!({"blank": " ", "long": "äöü", "number": 5, "fine": "yes", "nothing": null, "half": 1.5}),
        );
        let fields = Fields::of(&request, 1000).unwrap();
        assert_eq!(fields.text("fine", 3), "yes");
        fields.text("blank", 3);
        fields.text("long", 2);
        fields.text("number", 2);
        fields.text("missing", 2);
        fields.text("nothing", 2);
        assert_eq!(fields.optional_text("absent", 2), None);
        assert_eq!(fields.optional_number("half", 1..=9), None);
        let refusal = fields.finish().unwrap_err();
        assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
        let told: Value = serde_json::from_slice(&refusal.body).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap());
    }

    #[test]
    fn a_large_body_is_refused_before_it_is_read() {
        let request =
            Request::new(Method::POST, "x", Timestamp::from_millis(0)).with_body("{".repeat(11));
        let refusal = Fields::of(&request, 10).err().unwrap();
        assert_eq!(refusal.status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
