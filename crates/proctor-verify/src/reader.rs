//! Reading an assertion: every problem is collected, with its place, instead of stopping at the first.
//!
//! A reader also keeps [`Notes`] of what authors are told about later: which templates are used, and
//! which values are expected. So a check gets its part of the authoring help by being read.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Map, Value};

use crate::{
    problem::Problem,
    template::{Reference, Template},
};

/// What was noticed while an assertion was read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    problems: RefCell<Vec<Problem>>,
    doubts: RefCell<Vec<Problem>>,
    references: RefCell<Vec<(String, Reference)>>,
    expected: RefCell<Vec<(String, String)>>,
}

impl Notes {
    /// Why the assertion cannot be read.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.problems.borrow().clone()
    }

    /// Why the assertion, though it can be read, can never hold.
    pub(crate) fn doubts(&self) -> Vec<Problem> {
        self.doubts.borrow().clone()
    }

    /// The templates in use, each with its place.
    pub(crate) fn references(&self) -> Vec<(String, Reference)> {
        self.references.borrow().clone()
    }

    /// The texts and numbers that are expected, each with its place.
    pub(crate) fn expected(&self) -> Vec<(String, String)> {
        self.expected.borrow().clone()
    }
}

/// A value inside an assertion, and where it stands.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    path: String,
    notes: &'a Notes,
}

impl<'a> Node<'a> {
    /// The assertion itself.
    pub(crate) fn root(value: &'a Value, notes: &'a Notes) -> Self {
        Self {
            value,
            path: String::new(),
            notes,
        }
    }

    /// The value as it was written.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// Says that the assertion cannot be read.
    pub(crate) fn refuse(&self, message: impl Into<String>) {
        self.notes.problems.borrow_mut().push(self.problem(message));
    }

    /// Says that the assertion can never hold.
    pub(crate) fn doubt(&self, message: impl Into<String>) {
        self.notes.doubts.borrow_mut().push(self.problem(message));
    }

    fn problem(&self, message: impl Into<String>) -> Problem {
        Problem {
            path: self.path.clone(),
            message: message.into(),
        }
    }

    /// Remembers a value that the author expects.
    pub(crate) fn note_expected(&self, text: &str) {
        let mut expected = self.notes.expected.borrow_mut();
        expected.push((self.path.clone(), text.to_owned()));
    }

    /// An object.
    pub(crate) fn object(&self) -> Option<Object<'a>> {
        let Value::Object(map) = self.value else {
            self.refuse("must be an object");
            return None;
        };
        Some(Object {
            map,
            node: self.clone(),
            known: RefCell::default(),
        })
    }

    /// A list.
    pub(crate) fn list(&self) -> Option<Vec<Node<'a>>> {
        let Value::Array(items) = self.value else {
            self.refuse("must be a list");
            return None;
        };
        let items = items.iter().enumerate();
        Some(
            items
                .map(|(place, item)| self.below(&place.to_string(), item))
                .collect(),
        )
    }

    /// A text.
    pub(crate) fn text(&self) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            self.refuse("must be a text");
        }
        text
    }

    /// A truth value.
    pub(crate) fn flag(&self) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            self.refuse("must be true or false");
        }
        flag
    }

    /// A number of things.
    pub(crate) fn amount(&self) -> Option<usize> {
        let amount = self
            .value
            .as_u64()
            .and_then(|amount| usize::try_from(amount).ok());
        if amount.is_none() {
            self.refuse("must be a whole number that is not negative");
        }
        amount
    }

    /// A text that may hold templates.
    pub(crate) fn template(&self) -> Option<Template> {
        match Template::parse(self.text()?) {
            Ok(template) => {
                let mut references = self.notes.references.borrow_mut();
                let found = template.references();
                references.extend(found.map(|one| (self.path.clone(), one.clone())));
                Some(template)
            }
            Err(message) => {
                self.refuse(message);
                None
            }
        }
    }

    /// One of several words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.refuse(format!("'{text}' is none of {}", known.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    /// What `parse` makes of the text, or its refusal.
    pub(crate) fn parsed<T, E: ToString>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        parse(self.text()?)
            .map_err(|error| self.refuse(error.to_string()))
            .ok()
    }

    fn below(&self, name: &str, value: &'a Value) -> Self {
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        };
        Self {
            value,
            path,
            notes: self.notes,
        }
    }
}

/// An object inside an assertion. Members that nobody asked for are refused by [`Object::finish`].
pub(crate) struct Object<'a> {
    map: &'a Map<String, Value>,
    node: Node<'a>,
    known: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Object<'a> {
    /// Where the object stands.
    pub(crate) fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// A member, also if it is null.
    pub(crate) fn member(&self, name: &'static str) -> Option<Node<'a>> {
        self.known.borrow_mut().insert(name);
        self.map.get(name).map(|value| self.node.below(name, value))
    }

    /// A member that may be left out; null is as good as that.
    pub(crate) fn optional(&self, name: &'static str) -> Option<Node<'a>> {
        self.member(name).filter(|node| !node.value.is_null())
    }

    /// A member that must be there.
    pub(crate) fn required(&self, name: &'static str) -> Option<Node<'a>> {
        let found = self.optional(name);
        if found.is_none() {
            self.node
                .below(name, &Value::Null)
                .refuse("is required and missing");
        }
        found
    }

    /// Every member, whatever its name.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> + use<'a, '_> {
        let members = self.map.iter();
        members.map(|(name, value)| (name.as_str(), self.node.below(name, value)))
    }

    /// Refuses what nobody asked for.
    pub(crate) fn finish(&self) {
        let known = self.known.borrow();
        for (name, node) in self.members() {
            if !known.contains(name) {
                let names: Vec<&str> = known.iter().copied().collect();
                node.refuse(format!("is not known here; {} are", names.join(", ")));
            }
        }
    }
}

/// What a member says when it is there and right: `Some(None)` when it was left out, `None` when it
/// was refused.
pub(crate) fn left_out_or<'a, T>(
    node: Option<Node<'a>>,
    read: impl FnOnce(&Node<'a>) -> Option<T>,
) -> Option<Option<T>> {
    match node {
        None => Some(None),
        Some(node) => read(&node).map(Some),
    }
}
