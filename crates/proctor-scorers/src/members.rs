//! Reading an object: every problem is collected, with its place, instead of stopping at the first.
//!
//! Clients send explicit nulls and members that nobody knows; both are as good as left out.

use std::cell::RefCell;

use serde_json::{Map, Value};

use crate::problem::Problem;

/// The members of an object, and where it stands.
#[derive(Clone)]
pub(crate) struct Members<'a> {
    map: &'a Map<String, Value>,
    path: String,
    problems: &'a RefCell<Vec<Problem>>,
}

impl<'a> Members<'a> {
    /// The members of `value`, which stands at `path`.
    pub(crate) fn of(
        value: &'a Value,
        path: &str,
        problems: &'a RefCell<Vec<Problem>>,
    ) -> Option<Self> {
        let Value::Object(map) = value else {
            problems.borrow_mut().push(Problem {
                path: path.to_owned(),
                message: "must be an object".to_owned(),
            });
            return None;
        };
        Some(Self {
            map,
            path: path.to_owned(),
            problems,
        })
    }

    /// Says what is wrong with a member.
    pub(crate) fn refuse(&self, name: &str, message: impl Into<String>) {
        self.problems.borrow_mut().push(Problem {
            path: self.place(name),
            message: message.into(),
        });
    }

    fn place(&self, name: &str) -> String {
        match (self.path.as_str(), name) {
            ("", name) => name.to_owned(),
            (path, "") => path.to_owned(),
            (path, name) => format!("{path}.{name}"),
        }
    }

    /// A member that may be left out; null is as good as that.
    pub(crate) fn optional(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A member that must be there.
    pub(crate) fn required(&self, name: &str) -> Option<&'a Value> {
        let value = self.optional(name);
        if value.is_none() {
            self.refuse(name, "is required and missing");
        }
        value
    }

    /// A text that may be left out.
    pub(crate) fn optional_text(&self, name: &str) -> Option<&'a str> {
        self.text_of(name, self.optional(name)?)
    }

    /// A text that must be there and say something.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        let text = self.text_of(name, self.required(name)?)?;
        if text.trim().is_empty() {
            self.refuse(name, "must not be empty");
            return None;
        }
        Some(text)
    }

    fn text_of(&self, name: &str, value: &'a Value) -> Option<&'a str> {
        let Value::String(text) = value else {
            self.refuse(name, "must be a text");
            return None;
        };
        if text.contains('\0') {
            self.refuse(name, "must not hold a null character");
            return None;
        }
        Some(text)
    }

    /// A number that must be there.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let number = self.required(name)?.as_f64();
        if number.is_none() {
            self.refuse(name, "must be a number");
        }
        number
    }

    /// The objects of a list; nothing if it is left out.
    pub(crate) fn objects(&self, name: &str) -> Vec<Members<'a>> {
        let Some(value) = self.optional(name) else {
            return Vec::new();
        };
        let Value::Array(items) = value else {
            self.refuse(name, "must be a list");
            return Vec::new();
        };
        let place = self.place(name);
        let members = |(index, item)| Members::of(item, &format!("{place}.{index}"), self.problems);
        items.iter().enumerate().filter_map(members).collect()
    }

    /// The object in a member that must be there.
    pub(crate) fn object(&self, name: &str) -> Option<Members<'a>> {
        Members::of(self.required(name)?, &self.place(name), self.problems)
    }
}
