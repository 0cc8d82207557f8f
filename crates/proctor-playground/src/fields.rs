//! The fields of a JSON body, read so that everything wrong with them is said at once.
//!
//! Fields that nobody asks for are left alone: they stay in the event of the request.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::exchange::{Request, Response};

/// The fields of one body, and what was found wrong with them so far.
pub(crate) struct Fields {
    map: Map<String, Value>,
    problems: Vec<(String, String)>,
}

impl Fields {
    /// The fields of a request's body, which may have at most `limit` bytes.
    pub(crate) fn of(request: &Request, limit: usize) -> Result<Self, Box<Response>> {
        if request.body.len() > limit {
            return Err(Box::new(Response::too_large(format!(
                "the body has {} bytes; at most {limit} are read",
                request.body.len()
            ))));
        }
        Ok(Self {
            map: request.json()?,
            problems: Vec::new(),
        })
    }

    /// A text that must be there and must not be blank, with at most `limit` characters.
    pub(crate) fn text(&mut self, name: &str, limit: usize) -> String {
        match self.optional_text(name, limit) {
            Some(text) => text,
            None => {
                if !self.map.contains_key(name) || self.map[name].is_null() {
                    self.wrong(name, "is required");
                }
                String::new()
            }
        }
    }

    /// A text that may be missing; where it is there, it is not blank.
    pub(crate) fn optional_text(&mut self, name: &str, limit: usize) -> Option<String> {
        match self.map.get(name)? {
            Value::Null => None,
            Value::String(text) if text.trim().is_empty() => {
                self.wrong(name, "must not be empty");
                None
            }
            Value::String(text) if text.chars().count() > limit => {
                self.wrong(name, format!("must have at most {limit} characters"));
                None
            }
            Value::String(text) => Some(text.clone()),
            _ => {
                self.wrong(name, "must be a text");
                None
            }
        }
    }

    /// A whole number that may be missing, within bounds.
    pub(crate) fn optional_number(
        &mut self,
        name: &str,
        bounds: RangeInclusive<u64>,
    ) -> Option<u64> {
        let value = self.map.get(name).filter(|value| !value.is_null())?;
        let number = value.as_u64().filter(|number| bounds.contains(number));
        if number.is_none() {
            let (least, most) = bounds.into_inner();
            self.wrong(
                name,
                format!("must be a whole number from {least} to {most}"),
            );
        }
        number
    }

    /// A field as it came; null counts as missing.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        self.map.get(name).filter(|value| !value.is_null()).cloned()
    }

    /// Says that a field is wrong.
    pub(crate) fn wrong(&mut self, name: &str, message: impl Into<String>) {
        self.problems.push((name.to_owned(), message.into()));
    }

    /// Whether anything was wrong so far.
    pub(crate) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// All fields, or the refusal that names everything that is wrong.
    pub(crate) fn finish(self) -> Result<Map<String, Value>, Box<Response>> {
        if self.problems.is_empty() {
            Ok(self.map)
        } else {
            Err(Box::new(Response::invalid(&self.problems)))
        }
    }
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
        let mut fields = Fields::of(&request, 1000).unwrap();
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
