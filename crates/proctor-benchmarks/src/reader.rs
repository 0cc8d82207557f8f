//! Reads a tree field by field and notes everything that is wrong, not only the first of it.

use std::{cell::RefCell, collections::BTreeSet, ops::RangeInclusive};

use serde_json::Value;

use crate::{
    document::{Content, Member, Node, Span},
    problem::Problem,
};

/// What was noted so far.
#[derive(Default)]
pub(crate) struct Notes(RefCell<Vec<Problem>>);

impl Notes {
    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.0.into_inner()
    }
}

/// A node and the way to it.
#[derive(Clone)]
pub(crate) struct Cursor<'d> {
    node: &'d Node,
    path: String,
    notes: &'d Notes,
}

impl<'d> Cursor<'d> {
    pub(crate) fn root(node: &'d Node, notes: &'d Notes) -> Self {
        Self {
            node,
            path: String::new(),
            notes,
        }
    }

    pub(crate) fn refuse(&self, message: impl Into<String>) {
        note(self.notes, &self.path, self.node.span, message);
    }

    fn below(&self, name: &str, node: &'d Node) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Self {
            node,
            path,
            notes: self.notes,
        }
    }

    fn expected(&self, what: &str) {
        self.refuse(format!("must be {what}, and is {}", self.node.noun()));
    }

    /// Its members, each of which is to be asked for.
    pub(crate) fn object(&self) -> Option<Object<'d>> {
        let Content::Map(members) = &self.node.content else {
            self.expected("a map");
            return None;
        };
        Some(Object {
            cursor: self.clone(),
            members,
            asked: RefCell::default(),
        })
    }

    /// Its members, whatever they are called.
    pub(crate) fn entries(&self) -> Vec<(&'d str, Self)> {
        let Content::Map(members) = &self.node.content else {
            self.expected("a map");
            return Vec::new();
        };
        let members = members.iter();
        members
            .map(|member| (member.name.as_str(), self.below(&member.name, &member.node)))
            .collect()
    }

    /// The names of its members, if it has any.
    pub(crate) fn names(&self) -> Vec<&'d str> {
        match &self.node.content {
            Content::Map(members) => members.iter().map(|member| member.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Its elements.
    pub(crate) fn list(&self) -> Vec<Self> {
        let Content::List(nodes) = &self.node.content else {
            self.expected("a list");
            return Vec::new();
        };
        let nodes = nodes.iter().enumerate();
        nodes
            .map(|(place, node)| self.below(&place.to_string(), node))
            .collect()
    }

    /// Its text, with a number of characters within `length`.
    pub(crate) fn text(&self, length: RangeInclusive<usize>) -> Option<String> {
        let Content::Text(text) = &self.node.content else {
            match self.node.content {
                Content::Number(_) | Content::Bool(_) => {
                    self.expected("a text (in quotes where it looks like something else)");
                }
                _ => self.expected("a text"),
            }
            return None;
        };
        let count = text.chars().count();
        if count < *length.start() || text.trim().is_empty() && *length.start() > 0 {
            self.refuse("must not be empty");
        } else if count > *length.end() {
            self.refuse(format!("must have at most {} characters", length.end()));
        }
        Some(text.clone())
    }

    /// Its number, if that is whole and within `range`.
    pub(crate) fn whole(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let (first, last) = (*range.start(), *range.end());
        let number = match &self.node.content {
            Content::Number(number) => number
                .as_u64()
                .and_then(|number| u32::try_from(number).ok()),
            _ => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.refuse(format!("must be a whole number from {first} to {last}"));
        }
        number
    }

    /// Its number.
    pub(crate) fn number(&self) -> Option<f64> {
        match &self.node.content {
            Content::Number(number) => number.as_f64(),
            _ => {
                self.expected("a number");
                None
            }
        }
    }

    /// All of it.
    pub(crate) fn value(&self) -> Value {
        self.node.to_value()
    }

    /// All of it, if it is an object.
    pub(crate) fn map(&self) -> Option<serde_json::Map<String, Value>> {
        match self.node.to_value() {
            Value::Object(map) => Some(map),
            _ => {
                self.expected("a map");
                None
            }
        }
    }
}

/// The members of a map.
pub(crate) struct Object<'d> {
    cursor: Cursor<'d>,
    members: &'d [Member],
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'d> Object<'d> {
    /// The member with this name; null is as good as absent.
    pub(crate) fn optional(&self, name: &'static str) -> Option<Cursor<'d>> {
        self.asked.borrow_mut().insert(name);
        let member = self.members.iter().find(|member| member.name == name)?;
        let is_null = matches!(member.node.content, Content::Null);
        (!is_null).then(|| self.cursor.below(name, &member.node))
    }

    /// The member with this name, which must be there.
    pub(crate) fn required(&self, name: &'static str) -> Option<Cursor<'d>> {
        let found = self.optional(name);
        if found.is_none() {
            self.cursor.refuse(format!("'{name}' is required"));
        }
        found
    }

    pub(crate) fn refuse(&self, message: impl Into<String>) {
        self.cursor.refuse(message);
    }

    /// Refuses every member that nobody asked for.
    pub(crate) fn finish(self) {
        let asked = self.asked.into_inner();
        for member in self.members {
            if !asked.contains(member.name.as_str()) {
                let known: Vec<&str> = asked.iter().copied().collect();
                let message = format!(
                    "'{}' is unknown here; known are {}",
                    member.name,
                    known.join(", ")
                );
                note(
                    self.cursor.notes,
                    &self.cursor.path,
                    member.name_span,
                    message,
                );
            }
        }
    }
}

fn note(notes: &Notes, path: &str, span: Span, message: impl Into<String>) {
    notes.0.borrow_mut().push(Problem {
        span: Some(span),
        ..Problem::error(path, message)
    });
}
